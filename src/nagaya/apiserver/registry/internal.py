"""The server's own hands: reads and writes by its controllers, without a network and without asking itself for leave.

Writes go the same way as everyone's (defaults, admission, validation, managed fields), so that what a controller makes
is as valid as what a user makes. The user is `system:apiserver`, which is allowed everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nagaya.apiserver.authn.user import MASTERS, User
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.create import create
from nagaya.apiserver.registry.delete import delete
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.registry.update import Copy, update
from nagaya.apiserver.storage import Record
from nagaya.apiserver.web.options import DeleteOptions, WriteOptions
from nagaya.apiserver.web.request import Request
from nagaya.apiserver.web.request_info import RequestInfo

Change = Callable[[JsonObject], JsonObject | None]
"""Makes the new object from a copy of the current one, in place or anew; None leaves it as it is."""


class _LeftAsItIs(Exception):
    """There is nothing to write: the way out of an update that has only begun."""

    def __init__(self, obj: JsonObject) -> None:
        super().__init__()
        self.object = obj


class Internal:
    """Reads and writes on behalf of a part of the server, named as its field manager."""

    def __init__(self, backend: Backend, manager: str) -> None:
        self._backend = backend
        self._user = User("system:apiserver", groups=(MASTERS,))
        self._manager = manager

    def resource(self, name: GroupResource) -> Resource:
        """A resource by its name, in the version served first."""
        found = self._backend.catalog.preferred(name)
        if found is None:
            raise LookupError(f"this server does not serve {name}")
        return found

    def get(self, name: GroupResource, namespace: str, key: str) -> JsonObject | None:
        """An object from memory, fresh."""
        resource = self.resource(name)
        record = self._backend.store.get(resource.table, resource.key(namespace, key))
        return None if record is None else record.object()

    def records(self, name: GroupResource, namespace: str = "") -> Iterator[Record]:
        """All objects of a resource as they are stored."""
        resource = self.resource(name)
        prefix = f"{namespace}/" if namespace and resource.namespaced else ""
        return iter(self._backend.store.list(resource.table, prefix).records)

    async def create(self, name: GroupResource, obj: JsonObject) -> JsonObject:
        """Create an object, which the caller gives away. Raises ApiError."""
        call = self._call(name, "create", obj["metadata"].get("namespace") or "", "")
        obj, _ = call.resource.decoder(
            {"kind": call.resource.kind, "apiVersion": call.resource.api_version, **obj}, report=False
        )
        outcome = await create(self._backend, call, obj, WriteOptions("CreateOptions", field_manager=self._manager))
        return await outcome.load()

    async def create_missing(self, name: GroupResource, obj: JsonObject) -> bool:
        """Create an object unless one of its name is there. Returns whether it was created."""
        resource = self.resource(name)
        key = resource.key(obj["metadata"].get("namespace") or "", obj["metadata"]["name"])
        if self._backend.store.get(resource.table, key) is not None:
            return False
        try:
            await self.create(name, obj)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return False
            raise
        return True

    async def change(
        self, name: GroupResource, namespace: str, key: str, change: Change, *, subresource: str = ""
    ) -> JsonObject | None:
        """Change an object from whatever it is now; no change, no write. None if it does not exist.

        Most looks of most controllers find everything as it should be: what `change` leaves as it is goes no further.
        """
        call = self._call(name, "update", namespace, key, subresource)
        managers = call.subresource.managers if call.subresource else None
        tracker = managers or call.resource.managers

        async def produce(live: JsonObject | None, copy: Copy) -> JsonObject:
            if live is None:
                # For some kinds an update creates what is not there; this one changes what is.
                raise status.not_found(name, key)
            changed = change(await copy())
            if changed is None:
                raise _LeftAsItIs(live)
            decoded, _ = call.resource.decoder(changed, report=False)
            return await tracker.update(
                live, decoded, manager=self._manager, now=self._backend.now(), subresource=subresource
            )

        try:
            options = WriteOptions("UpdateOptions", field_manager=self._manager)
            outcome = await update(self._backend, call, produce, options)
        except _LeftAsItIs as left:
            return left.object
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        return await outcome.load()

    async def delete(
        self, name: GroupResource, namespace: str, key: str, *, uid: str | None = None, propagation: str | None = None
    ) -> bool:
        """Delete an object, if it is still the one meant. Returns whether it was there."""
        call = self._call(name, "delete", namespace, key)
        options = DeleteOptions(uid=uid, propagation=propagation)
        try:
            await delete(self._backend, call, key, options)
        except ApiError as error:
            if error.code in (404, 409):
                return False
            raise
        return True

    def _call(self, name: GroupResource, verb: str, namespace: str, key: str, subresource: str = "") -> Call:
        resource = self.resource(name)
        info = RequestInfo(
            path="",
            verb=verb,
            is_resource=True,
            group=name.group,
            version=resource.gvr.version,
            namespace=namespace,
            resource=name.resource,
            subresource=subresource,
            name=key,
        )
        request = Request("POST", "", headers={"user-agent": self._manager})
        sub = resource.subresources[subresource] if subresource else None
        return Call(self._backend, request, info, self._user, resource, sub)
