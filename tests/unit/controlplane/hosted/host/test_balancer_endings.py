"""Clients and API servers that must not hold up the end of an API server, with plain sockets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from nagaya.controlplane.hosted.host.balancer import backend, goodbye, passage
from nagaya.controlplane.hosted.host.balancer.backend import Backend
from nagaya.controlplane.hosted.host.balancer.passage import Passage, Side
from support.tls_greeting import hello
from support.waiting import eventually

ANSWER = b"a" * 500
QUESTION = b"question"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Wire:
    """A client and an API server with a passage between them."""

    def __init__(self, watched: Backend, side: Side, client: Streams, server: Streams) -> None:
        self.backend = watched
        self.side = side
        self.reader, self.writer = client
        self.server_reader, self.server_writer = server

    async def ask(self, words: bytes = QUESTION) -> None:
        """Say something, which has arrived when this returns."""
        self.writer.write(words)
        async with asyncio.timeout(60):
            assert await self.server_reader.readexactly(len(words)) == words

    async def exchange(self, words: bytes = QUESTION) -> None:
        await self.ask(words)
        self.server_writer.write(ANSWER)
        async with asyncio.timeout(60):
            assert await self.reader.readexactly(len(ANSWER)) == ANSWER

    @property
    def client_is_heard(self) -> bool:
        assert self.side._transport is not None
        return self.side._transport.is_reading()


@asynccontextmanager
async def wire() -> AsyncIterator[Wire]:
    """The API server accepts all connections, and says only what a test says for it."""
    loop = asyncio.get_running_loop()
    accepted: asyncio.Queue[Streams] = asyncio.Queue()
    behind = await asyncio.start_server(lambda *streams: accepted.put_nowait(streams), "127.0.0.1", 0)
    watched, side = Backend(behind.sockets[0].getsockname()[:2], lambda: None), Side()
    front = await loop.create_server(lambda: side, "127.0.0.1", 0)
    client = await asyncio.open_connection(*front.sockets[0].getsockname()[:2])
    _, other = await loop.create_connection(Side, *watched.address)
    server = await accepted.get()
    Passage(watched, side, other).begin()
    try:
        yield Wire(watched, side, client, server)
    finally:
        watched.hang_up()
        while not accepted.empty():
            accepted.get_nowait()[1].close()
        for connection in (client[1], server[1], side, other, front, behind):
            connection.close()
        await asyncio.sleep(0.02)  # connections that were closed are lost in the next turns of the loop


@contextmanager
def flowing(*writers: asyncio.StreamWriter) -> Iterator[None]:
    """Say something at once and then again and again."""

    async def flow() -> None:
        while True:
            for writer in writers:
                writer.write(ANSWER)
            await asyncio.sleep(0.01)  # far less than the silence that ends an answer

    task = asyncio.create_task(flow())
    try:
        yield
    finally:
        task.cancel()


@pytest.mark.parametrize("exchanges", [1, 2], ids=["after the greeting", "in a later answer"])
@pytest.mark.parametrize("both_speak", [False, True], ids=["watch", "port-forward"])
async def test_a_stream_is_left_to_the_api_server(
    exchanges: int, both_speak: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "BUSY_LIMIT", 0.3)
    async with wire() as between:
        for _ in range(exchanges):
            await between.exchange()
        await between.ask()
        speakers = [*([between.writer] if both_speak else []), between.server_writer]
        with flowing(*speakers):
            between.backend.mark(True)
            assert between.backend.remaining == 1

            await eventually(lambda: between.backend.remaining == 0)
            assert not between.server_reader.at_eof()
            for _ in range(20):  # whoever has spoken last
                assert await between.reader.read(1 << 16)
                assert between.backend.remaining == 0


async def test_an_answer_that_has_just_begun_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "BUSY_LIMIT", 1.0)
    async with wire() as between:
        for _ in range(2):
            await between.exchange()
        await between.ask()
        between.backend.mark(True)
        await eventually(lambda: between.backend.remaining == 0)
        with flowing(between.server_writer):
            await eventually(lambda: between.backend.remaining == 1)


async def test_a_connection_on_which_nothing_happens_is_not_left_to_the_api_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backend, "BUSY_LIMIT", 0.0)
    monkeypatch.setattr(goodbye, "IDLE", 0.0)
    async with wire() as between:
        await between.exchange()
        monkeypatch.setattr(between.backend, "has_answered_since", lambda _: False)
        between.backend.mark(True)

        assert between.backend.remaining == 1


async def test_a_hung_api_server_does_not_keep_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "PROBE_INTERVAL", 0.01)
    monkeypatch.setattr(backend, "PROBE_TIMEOUT", 0.02)
    monkeypatch.setattr(backend, "HUNG_LIMIT", 0.3, raising=False)
    monkeypatch.setattr(goodbye, "IDLE", 0.0)
    monkeypatch.setattr(passage, "AGAIN", 0.01)
    monkeypatch.setattr(passage, "PATIENCE", 0.0)
    async with wire() as between:
        await between.exchange()
        between.backend.mark(True)
        assert between.backend.remaining == 1
        began = asyncio.get_running_loop().time()
        probing = asyncio.create_task(between.backend.watch(ssl.create_default_context()))
        try:
            await eventually(lambda: between.backend.remaining == 0)
            assert asyncio.get_running_loop().time() - began > 0.3
        finally:
            probing.cancel()

        async with asyncio.timeout(60):
            assert await between.reader.read() == b""


async def test_an_http2_client_that_greets_after_the_stop_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage, "GREETING", 0.0, raising=False)
    async with wire() as between:
        between.backend.set_ready(False, is_ending=True)
        await between.ask(hello("h2"))

        await eventually(lambda: not between.client_is_heard)
        between.backend.set_ready(True)
        assert between.client_is_heard


async def test_an_http2_client_completes_its_greeting_before_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage, "GREETING", 60.0, raising=False)
    async with wire() as between:
        between.backend.set_ready(False, is_ending=True)
        await between.exchange(hello("h2"))
        await between.exchange()
