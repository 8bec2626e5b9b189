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
from http import HTTPStatus
from typing import Any, Final

import msgspec

from nagaya.api.catalog import PARTS
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.blueprints.manifest import Manifest
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, Conflict, NotFound
from nagaya.kube.patches import APPLY, KUBECTL, Apply
from nagaya.kube.transport import NoAnswer

_BUILT_IN: Final = (
    Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False),
    Kind("", "v1", "Secret", "secrets", Untyped),
)
_UNKNOWN: Final = "unknown"
"""In place of a uid: the call has failed, and may have created the object all the same."""


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
    created: list[tuple[Step, str]] = []
    for step in missing:
        applying = asyncio.ensure_future(_apply(client, step))
        try:
            created.append((step, await asyncio.shield(applying)))
        except (ApiError, NoAnswer, asyncio.CancelledError) as error:
            await asyncio.wait([applying])  # a call that was sent may take effect later
            remedy = await _roll_back(client, [*created, (step, _uid(applying))])
            interrupted = isinstance(error, asyncio.CancelledError)
            if interrupted and not remedy:
                raise
            why = str(getattr(error, "message", "") or error).rstrip(".")
            what = "The command was interrupted" if interrupted else f"{step} was not created: {why}"
            raise NotCreated(f"{what}. {remedy or 'Nothing was created.'}") from error


def _uid(applying: asyncio.Future[str]) -> str:
    """The uid of the object that a call has created, as far as the end of the call shows it."""
    error = applying.exception()
    if error is None:
        return applying.result()
    return "" if isinstance(error, ApiError) and error.code < HTTPStatus.INTERNAL_SERVER_ERROR else _UNKNOWN


async def _apply(client: Client, step: Step) -> str:
    """Create an object. Returns its uid; nothing if another user has created it since the dry run."""
    query = {"fieldManager": KUBECTL, "force": "false"}
    path = step.kind.path(step.namespace, step.name)
    answer = await client.raw("PATCH", path, query=query, content=step.manifest, content_type=APPLY)
    return msgspec.json.decode(answer.body)["metadata"]["uid"] if answer.status == HTTPStatus.CREATED else ""


async def _roll_back(client: Client, created: Sequence[tuple[Step, str]]) -> str:
    """Delete the objects that this run created, the newest first. Returns what the user has to do if that fails."""
    left: list[str] = []
    for step, uid in reversed(created):
        try:
            if uid == _UNKNOWN:
                answer = await client.raw("GET", step.kind.path(step.namespace, step.name))  # with managedFields
                metadata = msgspec.json.decode(answer.body)["metadata"]
                uid = metadata["uid"] if _created_by_apply(metadata) else ""
            if uid:
                await client.delete(step.kind, step.namespace, step.name, uid=uid)
        except NotFound:
            continue
        except (ApiError, NoAnswer):
            left.append(str(step))
    return f"Not everything could be deleted again. Delete what exists of this: {', '.join(left)}." if left else ""


def _created_by_apply(metadata: Mapping[str, Any]) -> bool:
    """Whether an apply created the object, and not another write of another user since the dry run."""
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
