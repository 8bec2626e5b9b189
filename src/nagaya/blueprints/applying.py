"""Creates the objects of a draft in a management API: all of them, or none.

- An object that exists is never changed. Creating the same cluster twice is harmless, and a different object of the
  same name is refused.
- All objects are tried with a dry run before the first is created. If a later call fails all the same, or is
  interrupted, the objects that this run created are deleted again.
- The Cluster comes last. Controllers do nothing for its other objects until it exists, so a roll-back finds no machine
  that has to be removed.

Objects are applied with kubectl's field manager: from then on they belong to the user, who changes the manifests and
applies them with kubectl. A field manager of our own would cause conflicts there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec

from nagaya.api.catalog import PARTS
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.blueprints.manifest import Manifest
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, Conflict, NotFound
from nagaya.kube.patches import KUBECTL, Apply
from nagaya.kube.transport import NoAnswer

_BUILT_IN: Final = (
    Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False),
    Kind("", "v1", "Secret", "secrets", Untyped),
)


class Refused(Exception):
    """The management API does not take an object. The message is a sentence with its answer."""


class NotCreated(Refused):
    """A call failed after the dry run, or the command was interrupted. The message also says what is left."""


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
        """The name of the object."""
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty for cluster-scoped kinds."""
        return str(self.manifest["metadata"].get("namespace", ""))

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.name}"


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
    """Create what does not exist, and the Cluster last. Raises NotCreated after a roll-back."""
    missing = sorted((step for step in steps if not step.exists), key=lambda step: step.kind.kind == CLUSTERS.kind)
    for number, step in enumerate(missing, 1):
        applying = asyncio.ensure_future(
            client.patch(step.kind, step.namespace, step.name, Apply(step.manifest, KUBECTL))
        )
        try:
            await asyncio.shield(applying)
        except (ApiError, NoAnswer) as error:
            remedy = await _roll_back(client, missing[:number]) or "Nothing was created."
            why = str(getattr(error, "message", "") or error).rstrip(".")
            raise NotCreated(f"{step} was not created: {why}. {remedy}") from error
        except asyncio.CancelledError:
            # A call that was sent may take effect later. Its end shows whether there is an object to delete.
            await asyncio.wait([applying])
            if remedy := await _roll_back(client, missing[:number]):
                raise NotCreated(f"The command was interrupted. {remedy}") from None
            raise


async def _roll_back(client: Client, steps: Sequence[Step]) -> str:
    """Delete the objects that this run created, the newest first. Returns what the user has to do if that fails."""
    left: list[str] = []
    for step in reversed(steps):
        try:
            answer = await client.raw("GET", step.kind.path(step.namespace, step.name))  # with managedFields
            metadata = msgspec.json.decode(answer.body)["metadata"]
            if _created_by_apply(metadata):
                await client.delete(step.kind, step.namespace, step.name, uid=metadata["uid"])
        except NotFound:
            continue
        except (ApiError, NoAnswer):
            left.append(str(step))
    return f"Not everything could be deleted again. Delete what exists of this: {', '.join(left)}." if left else ""


def _created_by_apply(metadata: Mapping[str, Any]) -> bool:
    """Whether an apply created the object: then nobody else did since the dry run. Also right if a reply was lost."""
    entries = metadata.get("managedFields") or ()
    applied = [entry.get("time") for entry in entries if (entry["manager"], entry["operation"]) == (KUBECTL, "Apply")]
    return applied == [metadata["creationTimestamp"]]


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
