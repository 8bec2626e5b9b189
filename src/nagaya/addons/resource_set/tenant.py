"""Bringing objects to a tenant: made if they are not there, changed if that is wanted, never deleted.

One object that cannot be brought does not keep the next from being tried: they often do not depend on each other, and
what did will be tried again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.client import Client
from nagaya.kube.errors import AlreadyExists, ApiError, NotFound
from nagaya.kube.patches import Merge, difference
from nagaya.kube.served_kinds import ServedKinds
from nagaya.kube.transport import NoAnswer

_KEPT: Final = ("apiVersion", "kind", "metadata", "status")
"""What is not compared as a whole: the tenant's own parts of an object."""


class NotBrought(Exception):
    """An object that the tenant did not take; the message says which and why."""


class Tenant:
    """One tenant, for as long as one errand lasts."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kinds = ServedKinds(client)

    async def bring(self, objects: Iterable[Untyped], *, update: bool) -> list[NotBrought]:
        """Create objects, in order; with `update` change those that are there. Returns what could not be brought."""
        problems: list[NotBrought] = []
        for each in objects:
            try:
                await self._bring(each, update)
            except (ApiError, NoAnswer, ValueError, LookupError) as error:
                where = f"{each.metadata.namespace}/" if each.metadata.namespace else ""
                problems.append(NotBrought(f"{each.kind} {where}{each.metadata.name}: {error}"))
        return problems

    async def _bring(self, obj: Untyped, update: bool) -> None:
        kind = await self._kinds.of(obj.api_version, obj.kind)
        if update:
            try:
                present = await self._client.get(kind, obj.metadata.namespace, obj.metadata.name)
            except NotFound:
                present = None
            if present is not None:
                await self._change(kind, present, obj)
                return
        try:
            await self._client.create(kind, obj)
        except AlreadyExists:
            if update:
                raise

    async def _change(self, kind: Kind[Untyped], present: Untyped, wanted: Untyped) -> None:
        content = change_of(present.raw, wanted.raw)
        if content is not None:
            metadata = present.metadata
            patch = Merge(content, metadata.resource_version)
            await self._client.patch(kind, metadata.namespace, metadata.name, patch)


def change_of(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """The merge patch that makes an object what its manifest says, None if it is that.

    Fields that the manifest does not have go. Not so in the metadata, where other controllers of the tenant keep
    finalizers, owners and notes: there the manifest's labels and annotations are added.
    """
    change = difference(_content(present), _content(wanted)) or {}
    before, after = present.get("metadata") or {}, wanted.get("metadata") or {}
    metadata: dict[str, Any] = {}
    for name in ("labels", "annotations"):
        known = before.get(name) or {}
        if added := {key: value for key, value in (after.get(name) or {}).items() if known.get(key) != value}:
            metadata[name] = added
    if metadata:
        change["metadata"] = metadata
    return change or None


def _content(obj: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in obj.items() if name not in _KEPT}
