"""Changes of keys, as they happen."""

from __future__ import annotations

from typing import Final, Self

from nagaya.kube.etcd.call import Call
from nagaya.kube.etcd.caller import Caller, in_time, read
from nagaya.kube.etcd.errors import Cancelled, Compacted
from nagaya.wire import protobuf
from nagaya.wire.etcd.watch import (
    WatchCancelRequest,
    WatchCreateRequest,
    WatchProgressRequest,
    WatchRequest,
    WatchResponse,
)
from nagaya.wire.grpc import Code

_METHOD: Final = "Watch/Watch"


class Watch:
    """A watch, in a call of its own. An asynchronous iterator over responses, and the context in which it lives.

    A response without events tells that everything up to its revision has been told.
    """

    def __init__(self, caller: Caller, request: WatchCreateRequest) -> None:
        self._caller = caller
        self._request = request
        self._call: Call
        self._id = 0
        self._ended = False

    async def __aenter__(self) -> Self:
        async with in_time(_METHOD, self._caller.timeout):
            self._call = await self._caller.channel.call(_METHOD)
            try:
                await self._send(WatchRequest(create=self._request))
                created = await self._next()
            except BaseException:
                await self._call.__aexit__()
                raise
        if created is not None:
            self._id = created.watch_id
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._call.__aexit__()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchResponse:
        """Raises Compacted if the revision to begin with is forgotten, and any EtcdError of the connection."""
        response = await self._next()
        if response is None:
            raise StopAsyncIteration
        return response

    async def request_progress(self) -> None:
        """Have etcd tell how far it is, in a response without events."""
        await self._send(WatchRequest(progress=WatchProgressRequest()))

    async def cancel(self) -> None:
        """End the watch; what has happened until etcd does so is still told."""
        self._ended = True
        await self._send(WatchRequest(cancel=WatchCancelRequest(watch_id=self._id)))

    async def _send(self, request: WatchRequest) -> None:
        await self._call.send(protobuf.encode(request))

    async def _next(self) -> WatchResponse | None:
        data = await self._call.receive()
        if data is None:
            return None
        response = read(_METHOD, WatchResponse, data)
        if not response.canceled:
            return response
        if self._ended:
            return None
        if response.compact_revision:
            words = "etcdserver: mvcc: required revision has been compacted"
            raise Compacted(_METHOD, Code.OUT_OF_RANGE, words)
        raise Cancelled(_METHOD, Code.CANCELLED, response.cancel_reason or "the watch was ended by etcd")
