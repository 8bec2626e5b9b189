"""gRPC over HTTP/2 over a stream, as the client.

One task reads, one writes, one looks for signs of life; calls only change the state of the connection and wait for
changes. So a call that is cancelled, or whose time is up, hurts no other. What always holds: once the channel has
failed, every call raises `ConnectionLost` with the reason at once. A channel is never mended: make a new one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes

import nagaya
from nagaya.foreign_text import escape_line
from nagaya.kube.etcd.call import Call
from nagaya.kube.etcd.errors import ConnectionLost, from_status
from nagaya.kube.streams.stream import Stream, StreamBroken
from nagaya.wire import grpc
from nagaya.wire.bell import Bell
from nagaya.wire.grpc import LARGEST_MESSAGE, Code
from nagaya.wire.malformed import Malformed

log = logging.getLogger(__name__)

KEEPALIVE: Final = 10.0  # seconds of silence; etcd cuts off those who ping more often than every 5
SILENCE: Final = 20.0  # seconds without any sign of life while a call is under way
_WINDOW: Final = 1024 * 1024  # bytes of an answer on their way; snapshots are large
_FLOOD: Final = 256 * 1024  # bytes of answers to pings and the like that wait to be read
_FAREWELL: Final = 1.0  # seconds for the last frames
_FRAME_HEAD, _FRAME_TYPE, _SETTINGS = 9, 3, 4  # a server's first frame tells its settings
_RESETS: Final[Mapping[int, Code]] = {
    ErrorCodes.REFUSED_STREAM: Code.UNAVAILABLE,
    ErrorCodes.CANCEL: Code.CANCELLED,
    ErrorCodes.ENHANCE_YOUR_CALM: Code.RESOURCE_EXHAUSTED,
    ErrorCodes.INADEQUATE_SECURITY: Code.PERMISSION_DENIED,
}


class Channel:
    """A connection to one gRPC server. Owns the stream under it. To be made within the loop that runs it."""

    def __init__(
        self,
        under: Stream,
        authority: str,
        *,
        scheme: str = "https",
        keepalive: float = KEEPALIVE,
        silence: float = SILENCE,
        largest: int = LARGEST_MESSAGE,
    ) -> None:
        """Times in seconds; `largest` bounds a message that is received."""
        self._under = under
        self._authority = authority
        self._scheme = scheme
        self._keepalive = keepalive
        self._silence = silence
        self._largest = largest
        self._http = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self._calls: dict[int, Call] = {}
        self._bell = Bell()
        self._outgoing = bytearray()
        self._owed = 0  # bytes that answer frames of the other side, and that it has not read
        self._sending = False
        self._failure: str | None = None
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()
        self._http.initiate_connection()
        self._http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW, SettingCodes.ENABLE_PUSH: 0})
        self._http.increment_flow_control_window(16 * _WINDOW)
        self._outgoing += self._http.data_to_send()
        self._tasks = [
            self._loop.create_task(self._guarded(work), name=f"gRPC {name}")
            for name, work in (("reader", self._read), ("writer", self._write), ("watch", self._watch))
        ]

    @property
    def failure(self) -> str | None:
        """Why the channel is of no use any more, if so."""
        return self._failure

    async def call(self, method: str, *, timeout: float | None = None) -> Call:
        """Begin a call of `Service/Method`; `timeout` is what the server is told. Raises EtcdError."""
        while self._failure is None and self._http.open_outbound_streams >= self._limit():
            await self._bell.wait()
        if self._failure is not None:
            raise ConnectionLost(method, self._failure, sent=False)
        stream = self._http.get_next_available_stream_id()
        headers = [
            (":method", "POST"),
            (":scheme", self._scheme),
            (":path", f"/etcdserverpb.{method}"),
            (":authority", self._authority),
            ("te", "trailers"),
            ("content-type", grpc.CONTENT_TYPE),
            ("user-agent", f"nagaya/{nagaya.__version__}"),
        ]
        if timeout is not None:
            headers.append(("grpc-timeout", grpc.encode_timeout(timeout)))
        if not self._calls:
            self._heard_at = self._loop.time()  # before this there was nothing to hear
        self._http.send_headers(stream, headers)
        call = self._calls[stream] = Call(self, method, stream, self._largest)
        self._wake()
        return call

    async def send(self, call: Call, data: bytes, *, end: bool) -> None:
        """Send a message of a call, as `Call.send` has it."""
        rest = memoryview(data)
        while not call.done:
            room = min(self._http.local_flow_control_window(call.stream), self._http.max_outbound_frame_size)
            piece, rest = rest[: max(room, 0)], rest[max(room, 0) :]
            if piece or not rest:
                call.sent_all = end and not rest
                self._http.send_data(call.stream, piece.tobytes(), end_stream=call.sent_all)
                self._wake()
            if not rest:
                return
            if not piece or len(self._outgoing) > _WINDOW:
                await self._bell.wait()
        # The answer came before the question was over; it says what that means.

    async def changed(self) -> None:
        """Until something has come, for any call."""
        await self._bell.wait()

    def release(self, call: Call) -> None:
        """What a call has received may be followed by more."""
        held, call.held = call.held, 0
        if held and self._failure is None:
            self._http.acknowledge_received_data(held, call.stream)
            self._wake()

    def end(self, call: Call) -> None:
        """Nobody is interested in a call any more."""
        self.release(call)
        if self._calls.pop(call.stream, None) is not None and not call.over:
            self._http.reset_stream(call.stream, ErrorCodes.CANCEL)
            self._wake()

    async def close(self) -> None:
        """End all calls and let go of the connection."""
        farewell = b""
        if self._failure is None:
            self._http.close_connection()
            self._wake()
            self._fail("the connection has been closed")
            farewell = b"" if self._sending else bytes(self._outgoing)
        try:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if farewell:
                async with asyncio.timeout(_FAREWELL):
                    await self._under.write(farewell)
        except (StreamBroken, TimeoutError):
            pass  # a courtesy: the end of the connection says the same
        finally:
            await self._under.close()

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (StreamBroken, Malformed) as error:
            self._fail(str(error))
        except (H2Error, UnicodeDecodeError) as error:
            self._fail(f"the server broke HTTP/2: {escape_line(str(error), 500)}")
        except Exception as error:
            # A fault of ours: those who wait for an answer must learn of it all the same.
            log.exception("gRPC channel: unexpected")
            self._fail(f"unexpected: {type(error).__name__}: {error}")

    async def _read(self) -> None:
        heard = b""
        while data := await self._under.read():
            self._heard_at = self._loop.time()
            if len(heard) < _FRAME_HEAD:
                heard += data[:_FRAME_HEAD]
                # The library would take any text for the beginning of a long frame, and wait for its end.
                if len(heard) > _FRAME_TYPE and heard[_FRAME_TYPE] != _SETTINGS:
                    raise StreamBroken("the server does not speak HTTP/2")
            for event in self._http.receive_data(data):
                self._take(event)
            before = len(self._outgoing)
            self._wake()
            self._owed += len(self._outgoing) - before
            if self._owed > _FLOOD:
                raise StreamBroken("the server sends pings or settings without end, and reads no answers")
        raise StreamBroken("the server ended the connection")

    async def _write(self) -> None:
        while True:
            while not self._outgoing:
                await self._bell.wait()
            data = bytes(self._outgoing)
            self._sending = True
            await self._under.write(data)
            self._sending = False
            del self._outgoing[: len(data)]
            if not self._outgoing:
                self._owed = 0
            self._bell.ring()

    async def _watch(self) -> None:
        """While a call is under way, and only then: pings without a call make etcd end the connection."""
        while True:
            await asyncio.sleep(self._keepalive)
            quiet = self._loop.time() - self._heard_at
            if self._calls and quiet >= self._silence:
                raise StreamBroken(f"the server was silent for {quiet:.0f} s")
            if self._calls and quiet >= self._keepalive:
                self._http.ping(b"nagaya\x00\x00")
                self._wake()

    def _take(self, event: Event) -> None:
        if isinstance(event, ConnectionTerminated):
            words = escape_line((event.additional_data or b"").decode(errors="replace"), 500)
            raise StreamBroken(f"the server ends the connection{words and f': {words}'}")
        stream = getattr(event, "stream_id", None)
        call = self._calls.get(stream) if stream is not None else None
        match event:
            case DataReceived() if call is None:
                # For a call that has ended here: the window of the connection is needed by the others.
                self._http.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id or 0)
            case DataReceived() if call is not None:
                call.held += event.flow_controlled_length or 0
                call.take_data(event.data or b"")
                if not call.full:
                    self.release(call)
            case ResponseReceived() if call is not None:
                call.take_headers(_headers(event))
            case TrailersReceived() if call is not None:
                call.take_trailers(_headers(event))
            case StreamEnded() if call is not None:
                call.take_end()
            case StreamReset() if call is not None:
                call.was_reset = True
                code = _RESETS.get(event.error_code or 0, Code.INTERNAL)
                why = f"the server reset the call (HTTP/2 error {event.error_code or 0:d})"
                call.fail(from_status(call.method, code, why))
            case _:
                pass  # settings, windows and pings, which the library deals with

    def _limit(self) -> int:
        return self._http.remote_settings.max_concurrent_streams

    def _wake(self) -> None:
        """Have what is to be sent sent, and whoever waits look again."""
        self._outgoing += self._http.data_to_send()
        self._bell.ring()

    def _fail(self, why: str) -> None:
        if self._failure is None:
            self._failure = why
            for call in self._calls.values():
                call.fail(ConnectionLost(call.method, why, sent=True))
            self._calls.clear()
            for task in self._tasks:
                if task is not asyncio.current_task():
                    task.cancel()
            self._bell.ring()


def _headers(event: ResponseReceived | TrailersReceived) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in event.headers or ()}


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")
