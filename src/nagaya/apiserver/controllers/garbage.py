"""Garbage collection: what becomes of objects whose owners go.

An object with owner references lives as long as one of its owners does. Owners are told apart by uid, so a new object
of the same name owns nothing of the old one. An owner in another namespace, or one that does not exist, is no owner; an
owner of a kind this server does not know is left alone, because it may be known again tomorrow. Deleting in the
foreground keeps the owner until the dependents that block it are gone; orphaning takes the reference off the dependents
first.

The index below holds only who refers to which uid. It is made from the store at start and follows its events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.object_meta import FOREGROUND, ORPHAN
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.storage import Event, Record

Place = tuple[str, str]  # table and key

_IGNORED: Final = frozenset({"events"})
_OWNED: Final = b'"ownerReferences"'
_DELETING: Final = b'"deletionTimestamp"'


class Owner(Enum):
    """What an owner reference leads to."""

    SOLID = "solid"
    ABSENT = "absent"
    WAITING = "waiting"  # deletes in the foreground and waits for its dependents
    UNKNOWN = "unknown"  # of a kind that cannot be looked up


class GarbageCollector:
    """Deletes what nobody owns any more."""

    name = "garbage collector"

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")
        self._dependents: dict[str, set[Place]] = {}
        self._owners: dict[Place, tuple[str, ...]] = {}

    def start(self) -> Iterator[Place]:
        """Index everything; what is owned or on its way out is looked at."""
        for table in self._backend.store.tables:
            if table in _IGNORED:
                continue
            for record in self._backend.store.list(table).records:
                if self._index((table, record.key), record) or _DELETING in record.value:
                    yield table, record.key

    def on_event(self, event: Event) -> Iterator[Place]:
        """An object came, changed or went."""
        if event.table in _IGNORED:
            return
        place = (event.table, event.key)
        if event.record is not None:
            before = self._owners.get(place)
            owned = self._index(place, event.record)
            news = owned and (before != self._owners.get(place) or event.previous is None)
            if news or _DELETING in event.record.value:
                yield place
            if _DELETING in event.record.value and self._dependents:
                yield from self._dependents.get(_uid(event.record), ())
            return
        assert event.previous is not None
        yield from self._dependents.get(_uid(event.previous), ())
        for uid in self._forget(place):
            yield from self._blocked_by(uid, event.previous)

    def _blocked_by(self, uid: str, gone: Record) -> Iterator[Place]:
        """The owner that may have waited for a dependent which is gone now."""
        for reference in gone.object()["metadata"].get("ownerReferences") or ():
            if reference.get("uid") == uid and (place := self._place(reference, gone)) is not None:
                yield place

    def _place(self, reference: JsonObject, dependent: Record) -> Place | None:
        resource = self._resource(reference)
        if resource is None:
            return None
        namespace = dependent.object()["metadata"].get("namespace") or ""
        return resource.table, resource.key(namespace, reference["name"])

    def _index(self, place: Place, record: Record) -> bool:
        """Remember whose dependent an object is. Returns whether it is anyone's."""
        self._forget(place)
        if _OWNED not in record.value:
            return False
        references = record.object()["metadata"].get("ownerReferences") or ()
        uids = tuple(each.get("uid") or "" for each in references)
        if not uids:
            return False
        self._owners[place] = uids
        for uid in uids:
            self._dependents.setdefault(uid, set()).add(place)
        return True

    def _forget(self, place: Place) -> tuple[str, ...]:
        uids = self._owners.pop(place, ())
        for uid in uids:
            places = self._dependents[uid]
            places.discard(place)
            if not places:
                del self._dependents[uid]
        return uids

    def _resource(self, reference: JsonObject) -> Resource | None:
        try:
            version = GroupVersion.parse(reference.get("apiVersion") or "")
        except ValueError:
            return None
        kind = GroupVersionKind(version.group, version.version, reference.get("kind") or "")
        return self._backend.catalog.by_kind(kind)

    async def sync(self, key: object) -> float | None:
        """Decide about one object."""
        assert isinstance(key, tuple)
        table, name = key
        record = self._backend.store.get(table, name)
        resource = self._of_table(table)
        if record is None or resource is None:
            return None
        obj = record.object()
        metadata = obj["metadata"]
        finalizers = metadata.get("finalizers") or ()
        if metadata.get("deletionTimestamp"):
            if ORPHAN in finalizers:
                return await self._orphan(resource, metadata)
            if FOREGROUND in finalizers:
                return await self._finish_foreground(resource, metadata)
            return None
        return await self._judge(resource, metadata)

    def _of_table(self, table: str) -> Resource | None:
        for each in self._backend.catalog:
            if each.table == table:
                return each
        return None

    async def _judge(self, resource: Resource, metadata: JsonObject) -> float | None:
        """Keep an object with an owner, tidy its references, delete it if it has none left."""
        references = metadata.get("ownerReferences") or ()
        states = [(each, self._state(each, metadata, resource)) for each in references]
        found = {state for _, state in states}
        if not references or Owner.UNKNOWN in found:
            return None
        if Owner.SOLID in found:
            gone = {each["uid"] for each, state in states if state is not Owner.SOLID}
            if gone:
                await self._drop_references(resource, metadata, gone)
            return None
        finalizers = metadata.get("finalizers") or ()
        policy = "Background"
        if Owner.WAITING in found and self._dependents.get(metadata["uid"]):
            policy = "Foreground"
        elif ORPHAN in finalizers:
            policy = "Orphan"
        elif FOREGROUND in finalizers:
            policy = "Foreground"
        namespace = metadata.get("namespace") or ""
        uid = metadata["uid"]
        await self._api.delete(resource.group_resource, namespace, metadata["name"], uid=uid, propagation=policy)
        return None

    def _state(self, reference: JsonObject, metadata: JsonObject, resource: Resource) -> Owner:
        owner = self._resource(reference)
        if owner is None:
            return Owner.UNKNOWN
        if owner.namespaced and not resource.namespaced:
            return Owner.UNKNOWN  # a namespaced owner of a cluster-scoped object cannot be looked up
        key = owner.key(metadata.get("namespace") or "", reference.get("name") or "")
        record = self._backend.store.get(owner.table, key)
        if record is None:
            return Owner.ABSENT
        found = record.object()["metadata"]
        if found["uid"] != reference.get("uid"):
            return Owner.ABSENT
        waiting = found.get("deletionTimestamp") and FOREGROUND in (found.get("finalizers") or ())
        return Owner.WAITING if waiting else Owner.SOLID

    async def _drop_references(self, resource: Resource, metadata: JsonObject, uids: set[str]) -> None:
        def change(obj: JsonObject) -> JsonObject | None:
            kept = [each for each in obj["metadata"].get("ownerReferences") or () if each.get("uid") not in uids]
            if obj["metadata"]["uid"] != metadata["uid"]:
                return None
            if kept:
                obj["metadata"]["ownerReferences"] = kept
            else:
                obj["metadata"].pop("ownerReferences", None)
            return obj

        namespace = metadata.get("namespace") or ""
        await self._api.change(resource.group_resource, namespace, metadata["name"], change)

    async def _orphan(self, resource: Resource, metadata: JsonObject) -> float | None:
        for _, dependent, found in self._dependents_of(metadata["uid"]):
            await self._drop_references(dependent, found, {metadata["uid"]})
        await self._drop_finalizer(resource, metadata, ORPHAN)
        return None

    async def _finish_foreground(self, resource: Resource, metadata: JsonObject) -> float | None:
        """Delete the dependents, and let the owner go once none is left that blocks it."""
        uid = metadata["uid"]
        blocked = False
        for place, _, found in self._dependents_of(uid):
            references = found.get("ownerReferences") or ()
            blocked = blocked or any(each.get("uid") == uid and each.get("blockOwnerDeletion") for each in references)
            await self.sync(place)
        if not blocked:
            await self._drop_finalizer(resource, metadata, FOREGROUND)
        return None

    def _dependents_of(self, uid: str) -> Iterable[tuple[Place, Resource, JsonObject]]:
        for table, key in sorted(self._dependents.get(uid, ())):
            record, resource = self._backend.store.get(table, key), self._of_table(table)
            if record is not None and resource is not None:
                yield (table, key), resource, record.object()["metadata"]

    async def _drop_finalizer(self, resource: Resource, metadata: JsonObject, finalizer: str) -> None:
        def change(obj: JsonObject) -> JsonObject | None:
            if obj["metadata"]["uid"] != metadata["uid"]:
                return None
            left = [each for each in obj["metadata"].get("finalizers") or () if each != finalizer]
            if left:
                obj["metadata"]["finalizers"] = left
            else:
                obj["metadata"].pop("finalizers", None)
            return obj

        namespace = metadata.get("namespace") or ""
        await self._api.change(resource.group_resource, namespace, metadata["name"], change)


def _uid(record: Record) -> str:
    uid: str = record.object()["metadata"]["uid"]
    return uid
