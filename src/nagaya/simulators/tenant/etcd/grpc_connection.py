"""gRPC over HTTP/2 over a stream, as the server, for calls with one question and one answer.

Calls are answered side by side, each in a task of its own, and a client that goes away or resets a call ends them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import H2Error

from nagaya.apiserver.streams.byte_stream import ByteStream
from nagaya.simulators.tenant.etcd import refusals
from nagaya.simulators.tenant.etcd.refusals import Refused
from nagaya.wire import grpc
from nagaya.wire.bell import Bell
from nagaya.wire.grpc import CONTENT_TYPE, Code, MessageReader
from nagaya.wire.malformed import Malformed

LARGEST: Final = 2 * 1024 * 1024  # bytes of a question, a little more than etcd takes
_LONGEST: Final = 3600.0  # seconds for a client that sets no limit

Answer = Callable[[str, bytes], Awaitable[bytes]]
"""Answers a call of `/service/method`. Raises Refused."""


@dataclass(slots=True)
class _Call:
    path: str
    timeout: float
    reader: MessageReader = field(default_factory=lambda: MessageReader(LARGEST))
    messages: list[bytes] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class GrpcConnection:
    """One client. The stream is the caller's to close."""

    def __init__(self, under: ByteStream, answer: Answer) -> None:
        self._under = under
        self._answer = answer
        self._http = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self._calls: dict[int, _Call] = {}
        self._bell = Bell()
        self._sending = asyncio.Lock()
        self._over = False

    async def run(self) -> None:
        """Serve until the client goes. Raises ConnectionError if it breaks off."""
        self._http.initiate_connection()
        try:
            await self._flush()
            while not self._over and (data := await self._under.read()):
                for event in self._http.receive_data(data):
                    self._take(event)
                self._bell.ring()
                await self._flush()
        except (H2Error, Malformed) as error:
            raise ConnectionAbortedError(f"the client broke HTTP/2: {error}") from error
        finally:
            tasks = [each.task for each in self._calls.values() if each.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived():
                headers = {_text(name): _text(value) for name, value in event.headers or ()}
                self._calls[event.stream_id or 0] = _Call(headers.get(":path", ""), _timeout(headers))
            case DataReceived():
                self._http.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id or 0)
                call = self._calls.get(event.stream_id or 0)
                if call is not None:
                    call.messages += call.reader.feed(event.data or b"")
            case StreamEnded():
                stream = event.stream_id or 0
                call = self._calls.get(stream)
                if call is not None:
                    call.task = asyncio.create_task(self._serve(stream, call), name=f"etcd {call.path}")
            case StreamReset():
                call = self._calls.pop(event.stream_id or 0, None)
                if call is not None and call.task is not None:
                    call.task.cancel()
            case ConnectionTerminated():
                self._over = True
            case _:
                pass  # settings and windows: whoever waits for room is woken after all events

    async def _serve(self, stream: int, call: _Call) -> None:
        try:
            try:
                async with asyncio.timeout(call.timeout):
                    if len(call.messages) != 1 or call.reader.partial:
                        raise Refused(Code.INTERNAL, "there was not exactly one question")
                    message = await self._answer(call.path, call.messages[0])
                await self._send(stream, message)
            except TimeoutError:
                await self._refuse(stream, refusals.late())
            except Refused as refusal:
                await self._refuse(stream, refusal)
        except (ConnectionError, H2Error):
            return  # the client has gone, or does not want to know
        finally:
            self._calls.pop(stream, None)

    async def _send(self, stream: int, message: bytes) -> None:
        self._http.send_headers(stream, [(":status", "200"), ("content-type", CONTENT_TYPE)])
        rest = memoryview(grpc.frame(message))
        while rest:
            room = min(self._http.local_flow_control_window(stream), self._http.max_outbound_frame_size)
            if room <= 0:
                await self._flush()
                await self._bell.wait()
                continue
            self._http.send_data(stream, rest[:room].tobytes())
            rest = rest[room:]
        self._http.send_headers(stream, [("grpc-status", "0"), ("grpc-message", "")], end_stream=True)
        await self._flush()

    async def _refuse(self, stream: int, refusal: Refused) -> None:
        status = [("grpc-status", str(refusal.code.value)), ("grpc-message", grpc.encode_words(refusal.words))]
        head = [(":status", "200"), ("content-type", CONTENT_TYPE)]
        self._http.send_headers(stream, [*head, *status], end_stream=True)
        await self._flush()

    async def _flush(self) -> None:
        async with self._sending:
            while data := self._http.data_to_send():
                await self._under.write(data)


def _timeout(headers: dict[str, str]) -> float:
    value = headers.get("grpc-timeout")
    return _LONGEST if value is None else min(grpc.decode_timeout(value), _LONGEST)


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")
