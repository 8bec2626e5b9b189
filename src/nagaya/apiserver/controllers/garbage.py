"""Garbage collection: what becomes of objects whose owners go.

An object with owner references lives as long as one of its owners does. Owners are told apart by uid, so a new object
of the same name owns nothing of the old one. An owner in another namespace, or one that does not exist, is no owner; an
owner of a kind this server does not know is left alone, because it may be known again tomorrow. Deleting in the
foreground keeps the owner until the dependents that block it are gone; orphaning takes the reference off the dependents
first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from nagaya.apiserver.controllers.ownership import Ownership, Place
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.object_meta import FOREGROUND, ORPHAN
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.storage import Event

_IGNORED: Final = frozenset({"events"})
_DEFINITIONS: Final = "apiextensions.k8s.io/customresourcedefinitions"


class Owner(Enum):
    """What an owner reference leads to."""

    SOLID = "solid"
    ABSENT = "absent"
    WAITING = "waiting"  # deletes in the foreground and waits for its dependents
    UNKNOWN = "unknown"  # of a kind that cannot be looked up


class GarbageCollector:
    """Deletes what nobody owns any more."""

    name = "garbage collector"
    tables = None

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")
        self._ownership = Ownership()
        self._unclear: set[Place] = set()  # dependents of owners that could not be looked up
        self._tables: dict[str, Resource] = {}
        self._generation = -1

    def start(self) -> Iterator[Place]:
        """Index everything; what is owned or on its way out is looked at."""
        self._ownership = Ownership()
        for table in self._backend.store.tables:
            if table in _IGNORED:
                continue
            for record in self._backend.store.list(table).records:
                if self._ownership.add((table, record.key), record):
                    yield table, record.key

    def on_event(self, event: Event) -> Iterator[Place]:
        """An object came, changed or went."""
        if event.table in _IGNORED:
            return
        yield from self._ownership.follow(event)
        if event.table == _DEFINITIONS and self._unclear:
            unclear, self._unclear = self._unclear, set()  # kinds may be known now that were not
            yield from sorted(unclear)

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
                await self._orphan(resource, metadata)
            elif FOREGROUND in finalizers:
                await self._finish_foreground(resource, metadata)
            return None
        await self._judge(resource, metadata)
        return None

    def _of_table(self, table: str) -> Resource | None:
        catalog = self._backend.catalog
        if self._generation != catalog.generation:
            self._tables = {}
            for each in catalog:
                self._tables.setdefault(each.table, each)
            self._generation = catalog.generation
        return self._tables.get(table)

    async def _judge(self, resource: Resource, metadata: JsonObject) -> None:
        """Keep an object with an owner, tidy its references, delete it if it has none left."""
        references = metadata.get("ownerReferences") or ()
        known: dict[tuple[str, str], JsonObject | None] = {}
        states = [(each, self._state(each, metadata, resource, known)) for each in references]
        found = {state for _, state in states}
        namespace, uid = metadata.get("namespace") or "", metadata["uid"]
        if not references:
            return
        if Owner.UNKNOWN in found:
            self._unclear.add((resource.table, resource.key(namespace, metadata["name"])))
            return
        if Owner.SOLID in found:
            gone = {each["uid"] for each, state in states if state is not Owner.SOLID}
            if gone:
                await self._drop_references(resource, metadata, gone)
            return
        finalizers = metadata.get("finalizers") or ()
        policy = "Background"
        dependents = list(self._dependents_of(uid)) if Owner.WAITING in found else []
        if dependents:
            policy = "Foreground"
            if any(_waits(each) for _, each in dependents):
                # Its dependent waits for it, and it for its owner: a circle, which nobody would ever leave.
                await self._unblock(resource, metadata)
        elif ORPHAN in finalizers:
            policy = "Orphan"
        elif FOREGROUND in finalizers:
            policy = "Foreground"
        await self._api.delete(resource.group_resource, namespace, metadata["name"], uid=uid, propagation=policy)

    def _state(
        self,
        reference: JsonObject,
        metadata: JsonObject,
        resource: Resource,
        known: dict[tuple[str, str], JsonObject | None],
    ) -> Owner:
        """What has become of an owner. Those that were looked at are `known`: references may name one many times."""
        if self._ownership.is_gone(reference.get("uid") or ""):
            return Owner.ABSENT
        owner = self._resource(reference)
        if owner is None:
            return Owner.UNKNOWN
        if owner.namespaced and not resource.namespaced:
            return Owner.UNKNOWN  # a namespaced owner of a cluster-scoped object cannot be looked up
        key = owner.key(metadata.get("namespace") or "", reference.get("name") or "")
        if (owner.table, key) not in known:
            record = self._backend.store.get(owner.table, key)
            known[owner.table, key] = None if record is None else record.object()["metadata"]
        found = known[owner.table, key]
        if found is None or found["uid"] != reference.get("uid"):
            return Owner.ABSENT
        return Owner.WAITING if _waits(found) else Owner.SOLID

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

    async def _unblock(self, resource: Resource, metadata: JsonObject) -> None:
        def change(obj: JsonObject) -> JsonObject | None:
            if obj["metadata"]["uid"] != metadata["uid"]:
                return None
            references = obj["metadata"].get("ownerReferences") or ()
            obj["metadata"]["ownerReferences"] = [{**each, "blockOwnerDeletion": False} for each in references]
            return obj

        namespace = metadata.get("namespace") or ""
        await self._api.change(resource.group_resource, namespace, metadata["name"], change)

    async def _orphan(self, resource: Resource, metadata: JsonObject) -> None:
        for dependent, found in self._dependents_of(metadata["uid"]):
            await self._drop_references(dependent, found, {metadata["uid"]})
        await self._drop_finalizer(resource, metadata, ORPHAN)

    async def _finish_foreground(self, resource: Resource, metadata: JsonObject) -> None:
        """Delete the dependents, and let the owner go once none is left that blocks it."""
        uid = metadata["uid"]
        blocked = False
        for dependent, found in self._dependents_of(uid):
            references = found.get("ownerReferences") or ()
            blocked = blocked or any(each.get("uid") == uid and each.get("blockOwnerDeletion") for each in references)
            if not found.get("deletionTimestamp"):
                await self._judge(dependent, found)
        if not blocked:
            await self._drop_finalizer(resource, metadata, FOREGROUND)

    def _dependents_of(self, uid: str) -> Iterable[tuple[Resource, JsonObject]]:
        for table, key in self._ownership.dependents(uid):
            record, resource = self._backend.store.get(table, key), self._of_table(table)
            if record is not None and resource is not None:
                yield resource, record.object()["metadata"]

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


def _waits(metadata: JsonObject) -> bool:
    """Whether an object deletes its dependents in the foreground and waits for them."""
    return bool(metadata.get("deletionTimestamp")) and FOREGROUND in (metadata.get("finalizers") or ())
