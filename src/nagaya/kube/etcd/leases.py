"""Leases."""

from __future__ import annotations

from nagaya.kube.etcd.caller import Caller, in_time, read
from nagaya.kube.etcd.errors import EtcdError, LeaseNotFound
from nagaya.wire import protobuf
from nagaya.wire.etcd.header import Nothing, OnlyHeader
from nagaya.wire.etcd.lease import (
    LeaseGrantRequest,
    LeaseGrantResponse,
    LeaseKeepAliveResponse,
    LeaseLeasesResponse,
    LeaseRequest,
    LeaseTimeToLiveRequest,
    LeaseTimeToLiveResponse,
)
from nagaya.wire.grpc import Code


class Leases:
    """Calls of etcd's Lease service. Raise EtcdError. Times are whole seconds."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def grant(self, ttl: int, lease: int = 0) -> LeaseGrantResponse:
        """A lease that ends unless it is kept alive; etcd chooses its ID if none is given."""
        return await self._caller.ask("Lease/LeaseGrant", LeaseGrantRequest(ttl=ttl, id=lease), LeaseGrantResponse)

    async def revoke(self, lease: int) -> None:
        """End a lease, and delete its keys."""
        await self._caller.ask("Lease/LeaseRevoke", LeaseRequest(id=lease), OnlyHeader)

    async def keep_alive(self, lease: int) -> int:
        """Let a lease begin anew; returns how long it lives. Raises LeaseNotFound."""
        method = "Lease/LeaseKeepAlive"
        async with in_time(method, self._caller.timeout), await self._caller.channel.call(method) as call:
            await call.send(protobuf.encode(LeaseRequest(id=lease)))
            data = await call.receive()
        if data is None:
            raise EtcdError(method, Code.INTERNAL, "there was no answer")
        answer = read(method, LeaseKeepAliveResponse, data)
        if answer.ttl <= 0:
            raise LeaseNotFound(method, Code.NOT_FOUND, "etcdserver: requested lease not found")
        return answer.ttl

    async def list(self) -> tuple[int, ...]:
        """The IDs of all leases."""
        answer = await self._caller.ask("Lease/LeaseLeases", Nothing(), LeaseLeasesResponse)
        return tuple(each.id for each in answer.leases)

    async def time_to_live(self, lease: int, *, keys: bool = False) -> LeaseTimeToLiveResponse:
        """How long a lease lives, -1 if it is gone, and the keys that hang on it."""
        request = LeaseTimeToLiveRequest(id=lease, keys=keys)
        return await self._caller.ask("Lease/LeaseTimeToLive", request, LeaseTimeToLiveResponse)
