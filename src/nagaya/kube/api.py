"""What controllers write through: patches only, nothing at all when nothing changes, and seen by the cache at once.

Each answer goes into the cache before the call returns, so the next read of the same controller, and its next
reconcile, start from what it wrote. What always holds: a deletion names the uid of the object that was meant; a list
that others write to is replaced only in the state it was read in; no error is swallowed except that an object which
shall go, or whose status shall be told, is gone already; and a status that says less than it could is told soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Mapping
from typing import Any, Final, TypeVar

import msgspec

from nagaya.api.kind import Kind, Object
from nagaya.api.meta import OwnerReference
from nagaya.api.model import Model
from nagaya.api.untyped import Untyped
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.store import version
from nagaya.kube.client import Client, Propagation
from nagaya.kube.details import DETAILS_WAIT, Details
from nagaya.kube.errors import Conflict, Invalid, NotFound
from nagaya.kube.key import Key
from nagaya.kube.owner_change import owner_change
from nagaya.kube.patches import Apply, Merge
from nagaya.kube.status_change import News, is_news, leftovers, status_change

T = TypeVar("T", bound=Object)
_NOTHING: Final[Mapping[str, str | None]] = {}
_ANOTHER_OBJECT: Final = ("the UID in the precondition", "Precondition failed: UID in precondition")
"""How a server says that the object of this name is not the one that was meant, before and during a write."""


class Api:
    """The API as one controller writes to it, under a field manager of its own."""

    def __init__(self, client: Client, cache: Cache, manager_name: str) -> None:
        self._client = client
        self._cache = cache
        self.manager_name = manager_name
        self._details = Details()

    async def create(self, kind: Kind[T], obj: T | Mapping[str, Any]) -> T:
        """Make an object. Raises AlreadyExists and whatever the server objects to."""
        return await self._write(kind, self._client.create(kind, obj))

    async def delete(
        self, kind: Kind[T], obj: T, *, propagation: Propagation | None = None, grace_period: int | None = None
    ) -> T | None:
        """Delete this very object, not another of the same name. Returns it if it lingers; None if it is gone."""
        metadata = obj.metadata
        try:
            left = await self._client.delete(
                kind,
                metadata.namespace,
                metadata.name,
                uid=metadata.uid,
                propagation=propagation,
                grace_period=grace_period,
            )
        except NotFound:
            left = None
        except Conflict as error:
            if not any(sentence in error.message for sentence in _ANOTHER_OBJECT):
                raise
            left = None
        if left is None:
            self._cache.deleted(kind, obj)
            return None
        return self._wrote(kind, left)

    async def metadata(
        self,
        kind: Kind[T],
        obj: T,
        *,
        labels: Mapping[str, str | None] = _NOTHING,
        annotations: Mapping[str, str | None] = _NOTHING,
        finalizers: tuple[str, ...] | None = None,
        owners: tuple[OwnerReference, ...] | None = None,
    ) -> T:
        """Change metadata by one patch, if anything differs. None removes a label or an annotation.

        Finalizers and owners are lists, which are replaced whole: that raises Conflict if the object has changed since
        it was read. If it is the owners alone, other changes of the object do no harm.
        """
        obj = self._newest(kind, obj)
        before = obj.metadata
        changed: dict[str, dict[str, str | None]] = {}
        for name, wanted, present in (
            ("labels", labels, before.labels),
            ("annotations", annotations, before.annotations),
        ):
            if different := {each: value for each, value in wanted.items() if present.get(each) != value}:
                changed[name] = different
        content: dict[str, Any] = {**changed}
        if finalizers is not None and finalizers != before.finalizers:
            content["finalizers"] = [*finalizers]
        if owners is not None and owners != before.owner_references:
            if "finalizers" not in content:
                try:
                    patch = owner_change(before, owners, changed)
                    return await self._write(kind, self._client.patch(kind, before.namespace, before.name, patch))
                except Invalid as error:
                    if error.causes:
                        raise
                    # The owners are others by now, or cannot be compared: it has to be the object as it was read.
            content["ownerReferences"] = msgspec.to_builtins(owners)
        if not content:
            return obj
        locked = "finalizers" in content or "ownerReferences" in content
        answer = await self._merge(kind, obj, {"metadata": content}, locked=locked)
        if finalizers == () and answer.metadata.deleting and not answer.metadata.deletion_grace_period_seconds:
            # Nothing holds it any more: this write was its last.
            self._cache.deleted(kind, answer)
        return answer

    async def merge(
        self, kind: Kind[T], obj: T, content: Mapping[str, Any], *, locked: bool = False, subresource: str = ""
    ) -> T:
        """Send a merge patch; with `locked` only if the object has not changed since it was read."""
        return await self._merge(kind, obj, content, locked=locked, subresource=subresource)

    async def apply(
        self,
        kind: Kind[T],
        content: Mapping[str, Any],
        *,
        force: bool = True,
        subresource: str = "",
    ) -> T:
        """Server-side apply of an object given by its content, with its namespace and name."""
        metadata = content["metadata"]
        patch = Apply(content, self.manager_name, force)
        namespace = metadata.get("namespace", "")
        return await self._write(
            kind, self._client.patch(kind, namespace, metadata["name"], patch, subresource=subresource)
        )

    async def status(
        self,
        kind: Kind[T],
        obj: T,
        status: Model | Mapping[str, Any],
        *,
        conditions: Collection[str] = (),
        fields: Collection[str] = (),
    ) -> T:
        """Tell the status fields and the types of conditions that are this controller's; nothing if they are told.

        `fields` are the JSON names of fields of the status, with dots for what is inside others; one of them that is
        not in `status` shall be absent. The rest of `status` is not sent. If the object is gone, nothing happens.
        """
        obj = self._newest(kind, obj)
        if _says(obj, status):
            self._details.told(obj.metadata.uid)
            return obj
        wanted = _content(status)
        change = status_change(_status_of(obj), wanted, conditions, fields)
        return await self._tell(kind, obj, wanted, change, conditions, fields)

    async def news(
        self,
        kind: Kind[T],
        obj: T,
        status: Model | Mapping[str, Any],
        news: News,
        *,
        conditions: Collection[str] = (),
        fields: Collection[str] = (),
        wait: float = DETAILS_WAIT,
    ) -> float | None:
        """Tell a status as `status` does, if it holds news. Details are told with them, or when they have waited.

        Returns after how many seconds the same has to be told again, for `Result.tell_after`; None if all is told.
        There are no details of an object that goes: everything is news to whoever waits for its end.
        """
        obj = self._newest(kind, obj)
        if _says(obj, status):
            self._details.told(obj.metadata.uid)
            return None
        present, wanted = _status_of(obj), _content(status)
        change = status_change(present, wanted, conditions, fields)
        if change is not None and not obj.metadata.deleting and not is_news(present, change, news):
            left = self._details.wait(obj.metadata.uid, wait)
            if left is not None:
                return left
        await self._tell(kind, obj, wanted, change, conditions, fields)
        return None

    async def _tell(
        self,
        kind: Kind[T],
        obj: T,
        wanted: Mapping[str, Any],
        change: Mapping[str, Any] | None,
        conditions: Collection[str],
        fields: Collection[str],
    ) -> T:
        metadata = obj.metadata
        if change is None:
            self._details.told(metadata.uid)
            return obj
        patch = Apply({"metadata": {"uid": metadata.uid}, "status": change}, self.manager_name, force=True)
        try:
            sent = self._client.patch(kind, metadata.namespace, metadata.name, patch, subresource="status")
            answer = await self._write(kind, sent)
        except NotFound:
            return obj
        except Invalid:
            # Of a condition that somebody else has claimed too, applying without it takes our words out and leaves
            # the rest, which is no condition any more: it has to be removed whole.
            rest = leftovers(_status_of(obj), wanted, conditions, fields)
            if rest is None:
                raise
            cleared = await self._merge(kind, obj, {"status": rest}, locked=True, subresource="status")
            left = status_change(_status_of(cleared), wanted, conditions, fields)
            return await self._tell(kind, cleared, wanted, left, conditions, fields)
        self._details.told(metadata.uid)
        # Applying removes only what nobody else claims as well.
        rest = leftovers(_status_of(answer), wanted, conditions, fields)
        if rest is None:
            return answer
        try:
            return await self._merge(kind, answer, {"status": rest}, locked=True, subresource="status")
        except NotFound:
            return answer

    async def _merge(
        self, kind: Kind[T], obj: T, content: Mapping[str, Any], *, locked: bool, subresource: str = ""
    ) -> T:
        metadata = obj.metadata
        patch = Merge(content, metadata.resource_version if locked else None)
        return await self._write(
            kind, self._client.patch(kind, metadata.namespace, metadata.name, patch, subresource=subresource)
        )

    def _newest(self, kind: Kind[T], obj: T) -> T:
        """The object as the cache has it, if that is newer."""
        if not self._cache.has(kind):
            return obj
        held = self._cache.get(kind, Key.of(obj))
        if held is None or held.metadata.uid != obj.metadata.uid:
            return obj
        return held if version(held) > version(obj) else obj

    async def _write(self, kind: Kind[T], sent: Awaitable[T]) -> T:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        answer = await sent
        self._details.took(loop.time() - begun)
        return self._wrote(kind, answer)

    def _wrote(self, kind: Kind[T], obj: T) -> T:
        self._cache.wrote(kind, obj)
        return obj


def _says(obj: Object, status: Model | Mapping[str, Any]) -> bool:
    """Whether all of an object's status is as it shall be, as it mostly is: then no field has to be looked at.

    Python takes true for 1; encoded they differ.
    """
    present = obj.raw.get("status") if isinstance(obj, Untyped) else getattr(obj, "status", None)
    return present == status and msgspec.json.encode(present) == msgspec.json.encode(status)


def _status_of(obj: Object) -> Mapping[str, Any]:
    if isinstance(obj, Untyped):
        found = obj.raw.get("status")
        return found if isinstance(found, Mapping) else {}
    return _content(getattr(obj, "status", None))


def _content(status: object) -> Mapping[str, Any]:
    if status is None:
        return {}
    if isinstance(status, Mapping):
        return status
    content = msgspec.to_builtins(status)
    assert isinstance(content, dict)
    return content
