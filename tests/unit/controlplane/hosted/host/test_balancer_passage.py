"""The two connections that belong together, with plain sockets: what passes is never read, so it need not be TLS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nagaya.controlplane.hosted.host.balancer import backend, goodbye, passage
from nagaya.controlplane.hosted.host.balancer.backend import Backend
from nagaya.controlplane.hosted.host.balancer.passage import Passage, Side
from support.tls_greeting import hello
from support.waiting import eventually

ANSWER = b"a" * 500
SILENCE = 0.1
LONG = 0.2
"""Seconds of a pause, more than the silence after which a connection would be ended."""


class ApiServer:
    """One connection to it, of which a test says what it does."""

    def __init__(self) -> None:
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    def say(self, words: bytes) -> None:
        self.writer.write(words)

    async def hears(self, length: int) -> bytes:
        async with asyncio.timeout(60):
            return await self.reader.readexactly(length)

    async def hears_the_end(self) -> None:
        async with asyncio.timeout(60):
            assert await self.reader.read() == b""


class Responsive(Backend):
    """An API server that is never short of processor time, unless a test says so."""

    has_processor = True

    def has_answered_since(self, moment: float) -> bool:
        return self.has_processor


class Wire:
    """A client and an API server with a passage between them."""

    def __init__(self, backend: Responsive, server: ApiServer) -> None:
        self.backend = backend
        self.server = server
        self.passage: Passage
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def greet(self, first: bytes = b"hello") -> None:
        for words in (first, b"there"):
            await self.exchange(words)

    async def exchange(self, words: bytes, answer: bytes = ANSWER) -> None:
        self.writer.write(words)
        assert await self.server.hears(len(words)) == words
        self.server.say(answer)
        assert await self.hears(len(answer)) == answer

    async def hears(self, length: int) -> bytes:
        async with asyncio.timeout(60):
            return await self.reader.readexactly(length)

    async def hears_all(self) -> bytes:
        async with asyncio.timeout(60):
            return await self.reader.read()

    async def ask(self, words: bytes = b"question") -> None:
        """Say something, which has arrived when this returns."""
        self.writer.write(words)
        assert await self.server.hears(len(words)) == words

    async def answer(self) -> None:
        """Have the API server say something that is held back when this returns."""
        self.server.say(ANSWER)
        await eventually(lambda: self.passage._held == ANSWER)


@asynccontextmanager
async def wire() -> AsyncIterator[Wire]:
    loop, server, accepted = asyncio.get_running_loop(), ApiServer(), asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.reader, server.writer = reader, writer
        accepted.set()

    behind = await asyncio.start_server(accept, "127.0.0.1", 0)
    stood_for = Responsive(behind.sockets[0].getsockname()[:2], lambda: None)
    found = Wire(stood_for, server)
    client = Side()
    front = await loop.create_server(lambda: client, "127.0.0.1", 0)
    found.reader, found.writer = await asyncio.open_connection(*front.sockets[0].getsockname()[:2])
    _, other = await loop.create_connection(Side, *stood_for.address)
    await accepted.wait()
    found.passage = Passage(stood_for, client, other)
    found.passage.begin()
    try:
        yield found
    finally:
        found.writer.close()
        server.writer.close()
        client.close()
        other.close()
        front.close()
        behind.close()
        await eventually(lambda: client.closed and other.closed)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    set_silence(monkeypatch, SILENCE)
    monkeypatch.setattr(passage, "AGAIN", 0.05)
    monkeypatch.setattr(passage, "LINGER", 0.2)


def set_silence(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(goodbye, "SILENCE", seconds)
    monkeypatch.setattr(goodbye, "YOUNG", seconds)


async def test_a_greeting_that_comes_byte_by_byte_is_not_looked_at_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def look(said: bytes) -> bool | None:
        looks.append(len(said))
        return None

    monkeypatch.setattr(passage, "offers_http2", look)
    async with wire() as between:
        for _ in range(3 * passage.MOST_PIECES):
            await between.ask(b"\x16")
        assert len(looks) == passage.MOST_PIECES


async def test_the_last_answer_and_the_end_come_together() -> None:
    async with wire() as between:
        await between.greet()
        between.backend.mark(True)
        await between.ask()
        between.server.say(ANSWER)
        await between.server.hears_the_end()
        # The client has not got all of the answer as long as the API server has not closed.
        between.server.say(b"close")
        between.server.writer.close()

        assert await between.hears_all() == ANSWER + b"close"
        assert between.backend.remaining == 0


@pytest.mark.parametrize("length", [10, 500, 100_000])
async def test_no_client_has_a_whole_answer_before_the_end_of_the_connection(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, close_notify = b"a" * length, b"c" * 24
    early = b""
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as client:
        client.connect(listening.getsockname())
        side = Side()
        transport, _ = await asyncio.get_running_loop().connect_accepted_socket(lambda: side, listening.accept()[0])
        write_eof = Side.write_eof

        def write_eof_late(side: Side) -> None:
            nonlocal early
            early = _available(client)
            write_eof(side)

        monkeypatch.setattr(Side, "write_eof", write_eof_late)
        side.write_last(answer + close_notify)

        assert len(early) < len(answer)
        client.settimeout(60)
        rest = b"".join(iter(lambda: client.recv(1 << 16), b""))
        assert early + rest == answer + close_notify
        transport.abort()
        await asyncio.sleep(0)


def _available(client: socket.socket) -> bytes:
    client.settimeout(0.05)  # as long as the process that sends is interrupted
    received = b""
    with contextlib.suppress(TimeoutError):
        while chunk := client.recv(1 << 16):
            received += chunk
    return received


async def test_an_answer_whose_end_is_late_arrives_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    async with wire() as between:
        await between.greet()
        between.backend.mark(True)
        await between.ask()
        set_silence(monkeypatch, 600)  # longer than any pause between the parts
        await between.answer()
        for _ in range(3):
            between.server.say(ANSWER)
            assert await between.hears(len(ANSWER)) == ANSWER
        set_silence(monkeypatch, SILENCE)
        between.server.say(ANSWER)
        assert await between.hears(len(ANSWER)) == ANSWER
        await between.server.hears_the_end()
        between.server.writer.close()

        assert await between.hears_all() == ANSWER


async def test_a_request_that_takes_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goodbye, "IDLE", SILENCE)
    async with wire() as between:
        await between.greet()
        await between.ask()
        between.backend.mark(True)
        await asyncio.sleep(LONG)  # shows that it is not ended meanwhile
        assert not between.server.reader.at_eof()
        between.server.say(ANSWER)
        await between.server.hears_the_end()
        between.server.writer.close()

        assert await between.hears_all() == ANSWER


async def test_what_is_to_be_continued_is_passed_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goodbye, "IDLE", SILENCE)
    async with wire() as between:
        await between.greet()
        await between.ask(b"may I?")
        between.backend.mark(True)
        between.server.say(b"continue")
        assert await between.hears(8) == b"continue"
        await asyncio.sleep(LONG)  # shows that it is not ended meanwhile

        await between.ask(b"body")
        between.server.say(ANSWER)
        await between.server.hears_the_end()


async def test_an_api_server_that_does_not_get_on_has_not_ended_its_answer() -> None:
    async with wire() as between:
        await between.greet()
        between.backend.mark(True)
        between.backend.has_processor = False
        await between.ask()
        await between.answer()
        await asyncio.sleep(LONG)  # shows that it is not ended meanwhile
        assert not between.server.reader.at_eof()
        between.server.say(b"more")
        between.backend.has_processor = True
        await between.server.hears_the_end()
        between.server.writer.close()

        assert await between.hears_all() == ANSWER + b"more"


async def test_an_http2_client_that_is_stopped_gets_its_answers_and_is_not_heard() -> None:
    async with wire() as between:
        await between.greet(hello("h2"))
        await between.ask(b"one")
        between.backend.mark(True)
        between.backend.close_to_clients()
        between.writer.write(b"two")
        between.server.say(ANSWER)
        assert await between.hears(len(ANSWER)) == ANSWER
        between.server.say(b"goaway")
        between.server.writer.close()

        assert await between.hears_all() == b"goaway"
        assert await between.server.reader.read() == b""


async def test_an_http2_client_is_heard_again_when_the_api_server_stays() -> None:
    async with wire() as between:
        await between.greet(hello("h2"))
        between.backend.mark(True)
        between.backend.close_to_clients()
        between.writer.write(b"one")
        with pytest.raises(TimeoutError):  # shows that nothing arrives
            await asyncio.wait_for(between.server.reader.read(1), 0.1)
        between.backend.reopen()

        assert await between.server.hears(3) == b"one"


async def test_a_request_that_takes_long_does_not_keep_an_api_server_for_ever() -> None:
    async with wire() as between:
        await between.greet()
        await between.ask()
        between.backend.mark(True)
        assert between.backend.remaining == 1
        between.passage._leaving_since -= backend.BUSY_LIMIT + 1  # it began earlier
        assert between.backend.remaining == 0
        between.server.say(ANSWER)
        await eventually(lambda: between.backend.remaining == 1)  # another request could follow the answer


async def test_http2_is_left_to_the_api_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goodbye, "IDLE", SILENCE)
    async with wire() as between:
        await between.greet(hello("h2"))
        between.backend.mark(True)
        assert between.backend.remaining == 0
        await between.exchange(b"one")
        await asyncio.sleep(LONG)  # shows that it is not ended meanwhile

        await between.exchange(b"two")


async def test_nothing_is_held_back_any_more_when_the_api_server_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goodbye, "IDLE", SILENCE)
    async with wire() as between:
        await between.greet()
        between.backend.has_processor = False  # so that the connection is not ended before the API server stays
        between.backend.mark(True)
        await between.ask()
        await between.answer()
        between.backend.mark(False)
        between.backend.has_processor = True

        assert await between.hears(len(ANSWER)) == ANSWER
        await asyncio.sleep(LONG)  # shows that it is not ended meanwhile
        await between.exchange(b"more")


async def test_a_connection_on_which_nothing_happens_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goodbye, "IDLE", 0.0)  # it is over already
    async with wire() as between:
        await between.greet()
        between.backend.mark(True)
        await between.server.hears_the_end()
        between.server.writer.close()

        assert await between.hears_all() == b""


async def test_a_connection_that_was_only_made_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goodbye, "IDLE", 0.1)
    async with wire() as between:
        await between.ask()
        between.backend.mark(True)
        between.server.say(ANSWER)
        await between.server.hears_the_end()
        between.server.writer.close()

        assert await between.hears_all() == ANSWER


async def test_an_api_server_that_does_not_close_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage, "PATIENCE", 0.1)
    async with wire() as between:
        await between.greet()
        between.backend.mark(True)
        await between.ask()
        between.server.say(ANSWER)

        assert await between.hears_all() == ANSWER


async def test_a_client_that_does_not_listen_is_waited_for() -> None:
    async with wire() as between:
        await between.greet()
        between.backend.mark(True)
        await between.ask()
        much = b"m" * (16 << 20)
        sending = asyncio.create_task(_send(between.server.writer, much))
        await eventually(lambda: between.passage._client.full)
        await asyncio.sleep(LONG)  # shows that it is not ended meanwhile
        assert not sending.done()  # not everything was taken to be kept meanwhile
        assert not between.server.reader.at_eof()

        assert await between.hears(len(much) - (1 << 20)) == much[: -(1 << 20)]
        await sending
        await between.server.hears_the_end()
        between.server.writer.close()
        assert len(await between.hears_all()) == 1 << 20


async def test_a_client_that_has_said_all_gets_its_answer() -> None:
    async with wire() as between:
        await between.greet()
        between.backend.mark(True)
        await between.ask()
        between.writer.write_eof()
        await between.server.hears_the_end()
        between.server.say(ANSWER)
        between.server.writer.close()

        assert await between.hears_all() == ANSWER


async def test_a_client_that_goes_is_gone_for_the_api_server() -> None:
    async with wire() as between:
        await between.greet()
        between.writer.close()

        await between.server.hears_the_end()
        assert between.backend.remaining == 1  # until it closes, too: the client may be waiting for an answer
        between.server.writer.close()
        await eventually(lambda: not between.backend.passages)
        assert between.backend.remaining == 0


async def _send(writer: asyncio.StreamWriter, words: bytes) -> None:
    writer.write(words)
    await writer.drain()
