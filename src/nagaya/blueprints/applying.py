"""Bringing drafted objects into a management API: all of them are tried before the first is made.

What always holds: an object that exists is never changed by a draft, so that creating the same twice is harmless and
creating another thing under the same name is refused; and what one refusal would leave half made is not begun.

What is made is applied in kubectl's name: from then on it is the user's, who changes the manifests and applies them
with kubectl. A manager of our own would stand in the way there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from nagaya.api.catalog import PARTS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.blueprints.manifest import Manifest
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, Conflict, NotFound
from nagaya.kube.patches import KUBECTL, Apply

_BUILT_IN: Final = (
    Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False),
    Kind("", "v1", "Secret", "secrets", Untyped),
)


class Refused(Exception):
    """The management API would not take an object. The message is a sentence with what it said."""


@dataclass(frozen=True, slots=True)
class Step:
    """One object, and whether it is there."""

    kind: Kind[Untyped]
    manifest: Manifest
    exists: bool = False
    difference: str = ""
    """What is not as drafted, in an object that exists."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Where it is."""
        return str(self.manifest["metadata"].get("namespace", ""))


@cache
def _kinds() -> Mapping[tuple[str, str], Kind[Untyped]]:
    own = [
        Kind(each.kind.group, each.kind.version, each.kind.kind, each.kind.plural, Untyped, each.kind.namespaced)
        for part in PARTS.values()
        for each in part
    ]
    return {(each.api_version, each.kind): each for each in (*_BUILT_IN, *own)}


def kind_of(manifest: Mapping[str, Any]) -> Kind[Untyped]:
    """The kind of a drafted object."""
    return _kinds()[manifest["apiVersion"], manifest["kind"]]


async def examine(client: Client, manifests: Sequence[Manifest]) -> list[Step]:
    """Try all objects without changing anything. Raises Refused for the first that the API would not take."""
    return [await _examined(client, each) for each in manifests]


async def _examined(client: Client, manifest: Manifest) -> Step:
    kind, metadata = kind_of(manifest), manifest["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    try:
        found = await client.get(kind, namespace, name)
    except NotFound:
        found = None
    try:
        tried = await client.patch(kind, namespace, name, Apply(manifest, KUBECTL), dry_run=True)
    except Conflict as error:
        return Step(kind, manifest, exists=True, difference=str(error.message or error))
    except NotFound as error:
        if namespace and f'"{namespace}"' in str(error.message):
            remedy = f"Make it: `kubectl create namespace {namespace}`."
            raise Refused(f"Namespace {namespace} does not exist. {remedy}") from error
        remedy = "Start `nagaya up`, or install them: `nagaya crds | kubectl apply --server-side -f -`."
        raise Refused(f"The management API does not know {kind.kind}s. {remedy}") from error
    except ApiError as error:
        raise Refused(f"{kind.kind} {name} would be refused: {str(error.message or error).rstrip('.')}.") from error
    if found is None:
        return Step(kind, manifest)
    return Step(kind, manifest, exists=True, difference=_difference(found.raw, tried.raw))


async def create(client: Client, steps: Sequence[Step]) -> None:
    """Make what is not there. Raises ApiError and NoAnswer; whoever repeats it goes on where it ended."""
    for step in steps:
        if not step.exists:
            await client.patch(step.kind, step.namespace, step.name, Apply(step.manifest, KUBECTL))


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Which fields of a specification would become others."""
    return ", ".join(_changed(before.get("spec"), after.get("spec"), "spec"))


def _changed(before: object, after: object, path: str) -> list[str]:
    if before == after:
        return []
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = dict.fromkeys([*before, *after])
        return [found for name in names for found in _changed(before.get(name), after.get(name), f"{path}.{name}")]
    return [path]
