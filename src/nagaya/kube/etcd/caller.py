"""Calls with one question and one answer, in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from nagaya.kube.etcd.channel import Channel
from nagaya.kube.etcd.errors import DeadlineExceeded, EtcdError
from nagaya.wire import protobuf
from nagaya.wire.grpc import Code
from nagaya.wire.malformed import Malformed
from nagaya.wire.protobuf import Message

CALL_TIMEOUT: Final = 15.0  # seconds; what upstream's control plane provider gives a call

M = TypeVar("M", bound=Message)


class Caller:
    """A channel, and how long a call on it may take unless it says otherwise."""

    def __init__(self, channel: Channel, timeout: float = CALL_TIMEOUT) -> None:
        self.channel = channel
        self.timeout = timeout

    async def ask(self, method: str, request: Message, kind: type[M], timeout: float | None = None) -> M:
        """Make a call. Raises EtcdError. Cancelling it ends the call at the server too."""
        seconds = self.timeout if timeout is None else timeout
        async with in_time(method, seconds), await self.channel.call(method, timeout=seconds) as call:
            await call.send(protobuf.encode(request), end=True)
            answer = await call.receive()
            if answer is None or await call.receive() is not None:
                raise EtcdError(method, Code.INTERNAL, "there was not exactly one answer")
        return read(method, kind, answer)


@asynccontextmanager
async def in_time(method: str, seconds: float) -> AsyncIterator[None]:
    """Bound what is done within the block."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise DeadlineExceeded(method, Code.DEADLINE_EXCEEDED, f"no answer within {seconds:g} s") from error


def read(method: str, kind: type[M], data: bytes) -> M:
    """A message that came. Raises EtcdError."""
    try:
        return protobuf.decode(kind, data)
    except Malformed as error:
        raise EtcdError(method, Code.INTERNAL, str(error)) from error
