"""One gRPC call: what has come of its answer, and who waits for it. The channel moves the bytes."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from nagaya.kube.etcd.errors import EtcdError, from_status
from nagaya.wire import grpc
from nagaya.wire.grpc import Code, MessageReader


class Carrier(Protocol):
    """What a call needs of its channel."""

    async def send(self, call: Call, data: bytes, *, end: bool) -> None:
        """Send a message with its prefix."""
        ...

    async def changed(self) -> None:
        """Until something has come, for any call."""
        ...

    def release(self, call: Call) -> None:
        """What the call has received may be followed by more."""
        ...

    def end(self, call: Call) -> None:
        """Nobody is interested in the call any more."""
        ...


class Call:
    """A call under way. Leaving its context ends it, with whatever is still on its way."""

    def __init__(self, carrier: Carrier, method: str, stream: int, largest: int) -> None:
        self._carrier = carrier
        self.method = method
        self.stream = stream
        self.held = 0  # bytes that count against the window until messages are taken
        self.done = False  # nothing more comes that matters
        self.sent_all = False
        self.was_reset = False
        self._ended = False
        self._failure: EtcdError | None = None
        self._reader = MessageReader(largest)
        self._messages: deque[bytes] = deque()
        self._http_status = 0
        self._is_grpc = False

    async def __aenter__(self) -> Call:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._carrier.end(self)

    async def send(self, message: bytes, *, end: bool = False) -> None:
        """Send a message; `end` says that it is the last. Raises EtcdError if the call has failed already."""
        if self._failure is not None:
            raise self._failure
        await self._carrier.send(self, grpc.frame(message), end=end)

    async def receive(self) -> bytes | None:
        """The next message; None at the good end of the call. Raises EtcdError."""
        while not self._messages:
            if self._failure is not None:
                raise self._failure
            if self.done:
                return None
            await self._carrier.changed()
        message = self._messages.popleft()
        if not self._messages:
            self._carrier.release(self)
        return message

    @property
    def over(self) -> bool:
        """Whether its stream is closed in both directions."""
        return self.was_reset or (self.sent_all and self._ended)

    @property
    def full(self) -> bool:
        """Whether there is something that nobody has taken yet."""
        return bool(self._messages)

    def take_headers(self, headers: dict[str, str]) -> None:
        """The head of the answer, which is also its end if there is nothing else."""
        status = headers.get(":status", "")
        self._http_status = int(status) if len(status) == 3 and status.isdecimal() else 0
        self._is_grpc = headers.get("content-type", "").startswith(grpc.CONTENT_TYPE)
        if "grpc-status" in headers:
            self.take_trailers(headers)

    def take_data(self, data: bytes) -> None:
        """A part of the answer. Raises Malformed."""
        if self._is_grpc:
            self._messages.extend(self._reader.feed(data))

    def take_trailers(self, headers: dict[str, str]) -> None:
        """The end of the answer."""
        if "grpc-status" in headers:
            code = grpc.read_code(headers["grpc-status"])
            if code is not Code.OK:
                self.fail(from_status(self.method, code, grpc.decode_words(headers.get("grpc-message", ""))))
            elif self._reader.partial:
                self.fail(EtcdError(self.method, Code.INTERNAL, "the answer ended within a message"))
            self.done = True

    def take_end(self) -> None:
        """The stream of the answer has ended; whether with a status shows whether that was in order."""
        self._ended = True
        if not self.done:
            if self._is_grpc:
                self.fail(EtcdError(self.method, Code.INTERNAL, "the answer ended without a status"))
            else:
                code = grpc.code_of_http(self._http_status)
                self.fail(from_status(self.method, code, f"HTTP status {self._http_status} instead of gRPC"))

    def fail(self, failure: EtcdError) -> None:
        """The call has ended badly; messages that have come can still be taken."""
        if self._failure is None and not self.done:
            self._failure = failure
        self.done = True
