"""A kind that the server does not serve: the one that was probably meant, and how to come to it.

Older versions of Cluster API are not served, but can be turned into today's. Everything else is most often misspelt.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from nagaya.insight.picture.discovery import ACCEPT, Groups
from nagaya.insight.picture.search import ALIKE
from nagaya.kube.client import Client
from nagaya.kube.decoding import read_document
from nagaya.kube.errors import ApiError
from nagaya.kube.transport import AnswerUnusable

_CONVERTIBLE: Final = ("v1beta1",)
_FIRST: Final = ("cluster.k8s.io", "v1alpha1")
_ELSE: Final = "Correct apiVersion and kind, or install what brings the kind (`nagaya crds`)."

Served = dict[str, dict[str, frozenset[str]]]
"""The kinds of each version of each group, the best version first."""


async def remedy(client: Client, api_version: str, kind: str, source: str) -> str:
    """What to do about a manifest of `source`. Raises what the client does when nobody answers."""
    try:
        answer = await client.raw("GET", "/apis", accept=ACCEPT)
        groups = read_document(Groups, "/apis", answer.body).items
    except (ApiError, AnswerUnusable):
        return _ELSE
    served = {
        group.metadata.name: {
            version.version: frozenset(each.response_kind.kind for each in version.resources)
            for version in group.versions
        }
        for group in groups
    }
    return meant(served, api_version, kind, source)


def meant(served: Served, api_version: str, kind: str, source: str) -> str:
    """The same, of what is served. Pure."""
    group, _, version = api_version.rpartition("/")
    versions = served.get(group, {})
    others = [f"{group}/{each}" for each, kinds in versions.items() if kind in kinds]
    if (group, version) == _FIRST or (others and version in _CONVERTIBLE):
        named = source if source.endswith((".yaml", ".yml", ".json")) else "FILE"
        return f"Turn it into a version that is: `nagaya convert -f {named}`."
    if others:
        return f"It is served as {' and '.join(others)}: write that, with the fields that it has there."
    if near := _near(kind, versions.get(version, ())):
        return f"Did you mean {near}?"
    if near := _near(group, served):
        best = next((each for each, kinds in served[near].items() if kind in kinds), "")
        if best:
            return f"Did you mean {near}/{version if kind in served[near].get(version, ()) else best}?"
    return _ELSE


def _near(name: str, there: Iterable[str]) -> str:
    return next(iter(get_close_matches(name, sorted(there), n=1, cutoff=ALIKE)), "")
