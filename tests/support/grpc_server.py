"""A gRPC server over any stream, as well or as badly behaved as a test wants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, PingReceived, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError

from nagaya.kube.streams.stream import Stream, StreamBroken
from nagaya.wire import grpc, protobuf
from nagaya.wire.grpc import MessageReader
from nagaya.wire.protobuf import Message

Handle = Callable[["GrpcServer", int, str, bytes], Awaitable[None]]
"""Called with the stream, the path and each message of a call."""


class GrpcServer:
    """Serves one connection."""

    def __init__(self, under: Stream, handle: Handle) -> None:
        self.under = under
        self.http = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.headers: dict[int, dict[str, str]] = {}
        self.resets: list[int] = []
        self.pings = 0
        self._handle = handle
        self._readers: dict[int, MessageReader] = {}
        self._waiting: dict[int, bytes] = {}

    async def serve(self) -> None:
        """Until the other side hangs up."""
        self.http.initiate_connection()
        await self.flush()
        try:
            while data := await self.under.read():
                for event in self.http.receive_data(data):
                    await self._take(event)
                await self.flush()
        except (StreamBroken, ProtocolError):
            pass
        finally:
            await self.under.close()

    async def head(self, stream: int, *extra: tuple[str, str], status: int = 200) -> None:
        """Begin an answer."""
        headers = [(":status", str(status)), ("content-type", "application/grpc"), *extra]
        self.http.send_headers(stream, headers)
        await self.flush()

    async def message(self, stream: int, message: Message) -> None:
        """Send a message, as far as the window goes; the rest follows when it opens."""
        self._waiting[stream] = self._waiting.get(stream, b"") + grpc.frame(protobuf.encode(message))
        await self._push(stream)

    async def trailers(self, stream: int, code: int = 0, words: str = "") -> None:
        """End an answer."""
        headers = [("grpc-status", str(code)), ("grpc-message", grpc.encode_words(words))]
        self.http.send_headers(stream, headers, end_stream=True)
        await self.flush()

    async def answer(self, stream: int, message: Message) -> None:
        """A whole good answer."""
        await self.head(stream)
        await self.message(stream, message)
        await self.trailers(stream)

    async def refuse(self, stream: int, code: int, words: str) -> None:
        """A whole bad answer."""
        extra = [("grpc-status", str(code)), ("grpc-message", grpc.encode_words(words))]
        headers = [(":status", "200"), ("content-type", "application/grpc"), *extra]
        self.http.send_headers(stream, headers, end_stream=True)
        await self.flush()

    async def flush(self) -> None:
        """Send what there is to send."""
        if data := self.http.data_to_send():
            await self.under.write(data)

    async def _push(self, stream: int) -> None:
        data = self._waiting.pop(stream, b"")
        while data:
            room = min(self.http.local_flow_control_window(stream), self.http.max_outbound_frame_size)
            if room <= 0:
                self._waiting[stream] = data
                break
            self.http.send_data(stream, data[:room])
            data = data[room:]
        await self.flush()

    async def _take(self, event: object) -> None:
        match event:
            case RequestReceived(stream_id=stream, headers=headers):
                self.headers[stream] = {str(name): str(value) for name, value in headers}
                self._readers[stream] = MessageReader()
            case DataReceived(stream_id=stream, data=data):
                self.http.acknowledge_received_data(event.flow_controlled_length, stream)
                for message in self._readers[stream].feed(data):
                    await self._handle(self, stream, self.headers[stream][":path"], message)
            case StreamReset(stream_id=stream):
                self.resets.append(stream)
                self._waiting.pop(stream, None)
            case WindowUpdated():
                for stream in list(self._waiting):
                    await self._push(stream)
            case PingReceived():
                self.pings += 1
            case StreamEnded():
                pass
            case _:
                pass
