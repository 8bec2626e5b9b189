"""What clients on the wire can do, good and bad, with plain sockets on both event loops."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import inspect
import itertools
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvloop

from nagaya.apiserver import identity
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.web.connection import MOST_HEADERS, Connection, Patience
from nagaya.apiserver.web.limits import Limits
from nagaya.apiserver.web.listener import PATH_LIMIT, Listener
from nagaya.apiserver.web.request import Request, Response, text
from nagaya.world import SystemClock
from support.waiting import eventually

pytestmark = pytest.mark.slow

BODY_LIMIT = Limits().body
GET = b"GET /version HTTP/1.1\r\nHost: here\r\n\r\n"


def on_both_loops(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on the event loop that `nagaya up` uses, and on the one that others embed the server in."""

    def run(loop: Callable[[], asyncio.AbstractEventLoop], **given: Any) -> None:
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(test(**given))

    own = inspect.signature(test)
    loop = inspect.Parameter("loop", inspect.Parameter.KEYWORD_ONLY)
    functools.update_wrapper(run, test)
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), loop])  # type: ignore[attr-defined]
    factories = [asyncio.new_event_loop, uvloop.new_event_loop]
    return pytest.mark.parametrize("loop", factories, ids=["asyncio", "uvloop"])(run)


@dataclass
class Site:
    """A listener whose handler notes requests and answers by path."""

    patience: Patience = field(default_factory=Patience)
    tls: ssl.SSLContext | None = None
    limits: Limits = field(default_factory=Limits)
    seen: list[Request] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Site:
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        self.listener = Listener(self.serve, sock, self.tls, self.patience, self.limits)
        await self.listener.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.listener.stop()

    async def serve(self, request: Request) -> Response:
        assert request.source is not None
        if request.headers.get("authorization"):
            request.source.identify(User(request.headers["authorization"]))
        if request.path == "/forbidden":
            return text("forbidden", 403)
        request.body = await request.source.read()
        self.seen.append(request)
        if request.path == "/stream":
            return Response(stream=self.events())
        if request.path == "/flood":
            return Response(stream=self.flood())
        if request.path == "/large":
            return Response(200, b"x" * 20_000_000)
        if request.path.startswith("/slow"):
            await self.gate.wait()
        if request.path == "/slow-stream":
            return Response(stream=self.short())
        return text("fine")

    async def events(self) -> AsyncIterator[bytes]:
        yield b"one\n"
        await self.gate.wait()
        yield b"two\n"

    async def short(self) -> AsyncIterator[bytes]:
        yield b"one\n"

    async def flood(self) -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 10_000
            await asyncio.sleep(0)

    async def connect(self, **how: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.listener.port, **how)

    async def ask(self, sent: bytes) -> bytes:
        """Everything the server says until it closes the connection."""
        reader, writer = await self.connect()
        writer.write(sent)
        try:
            return await reader.read()
        finally:
            writer.close()


async def answer(reader: asyncio.StreamReader) -> bytes:
    """One answer with a Content-Length."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    return head + await reader.readexactly(int(length.split(b":")[1]))


def client_context(who: identity.Identity | None = None, pair: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if who is not None and pair is not None:
        pair.write_bytes(who.admin_certificate + who.admin_key)
        context.load_cert_chain(pair)
    return context


@on_both_loops
async def test_a_request_reaches_the_handler_and_its_answer_the_client() -> None:
    async with Site() as site:
        reader, writer = await site.connect()
        writer.write(
            b"POST /a%20b?x=1&x=2&y HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nX-one: 2\r\nContent-Length: 4\r\n\r\nbody"
        )
        assert (await answer(reader)).endswith(b"fine")
        writer.close()
        (request,) = site.seen
        assert (request.method, request.path, request.body) == ("POST", "/a b", b"body")
        assert request.query == {"x": ["1", "2"], "y": [""]}
        assert [value for name, value in request.header_items if name == "x-one"] == ["1", "2"]
        assert request.headers["x-one"] == "1"
        assert request.remote == "127.0.0.1"
        assert request.peer_certificate is None


@on_both_loops
async def test_requests_follow_one_another_on_a_connection() -> None:
    async with Site() as site:
        reader, writer = await site.connect()
        writer.write(GET + GET)
        for _ in range(2):
            assert (await answer(reader)).startswith(b"HTTP/1.1 200")
        writer.write(GET)
        assert (await answer(reader)).startswith(b"HTTP/1.1 200")
        writer.close()


@on_both_loops
async def test_a_request_may_name_scheme_and_host_as_to_a_proxy() -> None:
    async with Site() as site:
        said = await site.ask(b"GET http://other/api?x=1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 200")
        assert (site.seen[0].path, site.seen[0].query) == ("/api", {"x": ["1"]})


@pytest.mark.parametrize(
    "sent",
    [
        b"NONSENSE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: h\r\n\r\n",
        b"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX: a\x00b\r\n\r\n",
    ],
)
@on_both_loops
async def test_what_is_not_http_is_refused_quietly(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with Site() as site:
        with caplog.at_level(logging.INFO):
            said = await site.ask(sent)
        assert said.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400"))
        assert said.endswith(b"400 Bad Request")
        assert not site.seen
        assert not caplog.records
        assert (await site.ask(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))).endswith(b"fine")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"x" * 1_200_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 1_200_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\n" + b"X-Some-Header: value\r\n" * 60_000 + b"\r\n",
    ],
    ids=["line", "field", "many"],
)
@on_both_loops
async def test_a_head_has_a_limit(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with Site(Patience(head=5)) as site:
        reader, writer = await site.connect()
        said = b""
        try:
            for start in range(0, len(sent), 50_000):
                writer.write(sent[start : start + 50_000])
                await writer.drain()
            said = await reader.read()
        except ConnectionError:
            pass  # the server did not wait for the rest, and the answer may be lost with it
        writer.close()
        assert said in (b"",) or b"431 Request Header Fields Too Large" in said
        assert not site.seen
        assert not caplog.records


@on_both_loops
async def test_a_long_head_below_the_limit_is_fine() -> None:
    async with Site(Patience()) as site:
        groups = b"".join(b"Impersonate-Group: group-%d\r\n" % number for number in range(2000))
        said = await site.ask(
            b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 300_000 + b"\r\n" + groups + b"Connection: close\r\n\r\n"
        )
        assert said.endswith(b"fine")
        assert len(site.seen[0].header_items) == 2003


@pytest.mark.parametrize("chunked", [False, True])
@on_both_loops
async def test_a_body_has_a_limit(chunked: bool) -> None:
    async with Site(Patience()) as site:
        reader, writer = await site.connect()
        if chunked:
            writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
            piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
            for _ in range(BODY_LIMIT // 0x10000 + 2):
                writer.write(piece)
        else:
            writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % (BODY_LIMIT + 1))
        said = await answer(reader)
        writer.close()
        assert said.startswith(b"HTTP/1.1 413")
        assert b"Request entity too large: limit is 3145728" in said
        assert not site.seen


@on_both_loops
async def test_a_body_of_the_limit_is_taken() -> None:
    async with Site(Patience()) as site:
        reader, writer = await site.connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % BODY_LIMIT + b"x" * BODY_LIMIT)
        assert (await answer(reader)).startswith(b"HTTP/1.1 200")
        writer.close()
        assert len(site.seen[0].body) == BODY_LIMIT


@on_both_loops
async def test_a_compressed_body_is_handed_on_as_it_came() -> None:
    async with Site() as site:
        sent = (
            b"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nxyz"
        )
        assert (await site.ask(sent)).startswith(b"HTTP/1.1 200")
        assert site.seen[0].body == b"xyz"


@on_both_loops
async def test_a_client_that_waits_for_leave_to_send_its_body_gets_it() -> None:
    async with Site() as site:
        reader, writer = await site.connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"ok")
        assert (await answer(reader)).endswith(b"fine")
        writer.close()


@on_both_loops
async def test_a_broken_body_is_refused_quietly(caplog: pytest.LogCaptureFixture) -> None:
    async with Site() as site:
        said = await site.ask(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        assert said.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400", b"HTTP/1.1 500"))
        assert not site.seen
        assert not caplog.records


@on_both_loops
async def test_a_body_that_does_not_come_is_not_waited_for_long() -> None:
    async with Site(Patience(body=0.2, stop=0.2)) as site:
        said = await site.ask(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab")
        assert said.startswith(b"HTTP/1.1 408")
        assert not site.seen


@pytest.mark.parametrize("begin", [b"", b"GET / HTTP/1.1\r\nHos"])
@on_both_loops
async def test_headers_that_do_not_come_are_not_waited_for_long(begin: bytes) -> None:
    async with Site(Patience(head=0.2, idle=60)) as site:
        started = asyncio.get_running_loop().time()
        with contextlib.suppress(ConnectionError):  # it is cut off without a word
            await site.ask(begin)
        assert 0.1 < asyncio.get_running_loop().time() - started < 30


@on_both_loops
async def test_headers_of_a_later_request_are_not_waited_for_long_either() -> None:
    async with Site(Patience(head=0.2, idle=60)) as site:
        reader, writer = await site.connect()
        writer.write(GET)
        await answer(reader)
        await asyncio.sleep(0.3)  # shows that it stays open: it is idle, and may be
        assert not reader.at_eof()
        writer.write(b"GET / HT")
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()


@on_both_loops
async def test_headers_that_come_drop_by_drop_are_not_waited_for_long() -> None:
    async with Site(Patience(head=0.3, idle=60)) as site:
        reader, writer = await site.connect()
        sent = 0
        with contextlib.suppress(ConnectionError):
            while not (reader.at_eof() or writer.is_closing()) and sent < 500:
                writer.write(b"X")
                sent += 1
                await writer.drain()
                await asyncio.sleep(0.02)
        writer.close()
        assert sent < 100
        assert not site.seen


@on_both_loops
async def test_an_idle_connection_is_closed_in_time_and_one_at_work_is_not() -> None:
    async with Site(Patience(head=5, idle=0.1)) as site:
        reader, writer = await site.connect()
        writer.write(GET.replace(b"version", b"slow"))
        await eventually(lambda: site.seen)
        await asyncio.sleep(0.2)  # shows that it stays open
        site.gate.set()
        assert (await answer(reader)).endswith(b"fine")
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()


@on_both_loops
async def test_a_client_that_goes_before_its_stream_begins_is_not_missed(caplog: pytest.LogCaptureFixture) -> None:
    async with Site() as site:
        with caplog.at_level(logging.INFO):
            _, writer = await site.connect()
            writer.write(b"GET /slow-stream HTTP/1.1\r\nHost: here\r\n\r\n")
            await eventually(lambda: site.seen)
            # As soon as the answer begins, and not before: the handler of one who has gone is ended.
            asyncio.get_running_loop().call_soon(site.gate.set)
            writer.transport.abort()
            await eventually(lambda: site.listener.connections == 0)
        assert not caplog.records
        assert (await site.ask(b"GET / HTTP/1.0\r\n\r\n")).endswith(b"fine")


@on_both_loops
async def test_a_stream_arrives_as_it_comes_and_ends_properly() -> None:
    async with Site(Patience(idle=0.2)) as site:
        reader, writer = await site.connect()
        writer.write(GET.replace(b"version", b"stream"))
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readuntil(b"one\n\r\n") == b"4\r\none\n\r\n"
        await asyncio.sleep(0.4)  # an open stream is not idle
        site.gate.set()
        assert await reader.readuntil(b"0\r\n\r\n") == b"4\r\ntwo\n\r\n0\r\n\r\n"
        writer.close()


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("path", [b"flood", b"large"])
@on_both_loops
async def test_a_client_that_does_not_read_is_cut_off_and_others_are_not_kept_waiting(
    path: bytes, encrypted: bool
) -> None:
    tls = identity.make(SystemClock()).tls() if encrypted else None
    how = {"ssl": client_context()} if encrypted else {}
    async with Site(tls=tls, patience=Patience(unread=0.2)) as site:
        _, lazy = await site.connect(limit=1, **how)
        lazy.write(GET.replace(b"version", path))
        await lazy.drain()
        for _ in range(5):
            reader, writer = await site.connect(**how)
            writer.write(GET)
            assert (await answer(reader)).endswith(b"fine")
            writer.close()
        await eventually(lambda: site.listener.connections == 0, limit=20)  # less than the 30 s of the default
        lazy.close()


@on_both_loops
async def test_a_client_that_reads_slowly_but_steadily_is_served() -> None:
    async with Site(Patience(unread=1)) as site:
        reader, writer = await site.connect(limit=500_000)
        writer.write(GET.replace(b"version", b"large"))
        got = 0
        while got < 20_000_000:
            read = await reader.read(1_000_000)
            assert read, f"the server closed the connection after {got} bytes"
            got += len(read)
            await asyncio.sleep(0.08)  # all pauses together are longer than a client may read nothing
        writer.close()


def test_clients_of_go_are_the_first_to_close_an_idle_connection() -> None:
    assert Patience().idle > 90


@on_both_loops
async def test_a_stream_to_a_client_of_the_old_protocol_ends_with_the_connection() -> None:
    async with Site() as site:
        site.gate.set()
        head, _, body = (await site.ask(b"GET /stream HTTP/1.0\r\n\r\n")).partition(b"\r\n\r\n")
        assert b"chunked" not in head.lower()
        assert body == b"one\ntwo\n"


@on_both_loops
async def test_stopping_ends_streams_as_if_they_were_complete_and_lets_answers_finish() -> None:
    async with Site(Patience(stop=60)) as site:
        stream, one = await site.connect()
        one.write(GET.replace(b"version", b"stream"))
        await stream.readuntil(b"one\n\r\n")
        slow, two = await site.connect()
        two.write(GET.replace(b"version", b"slow"))
        idle, three = await site.connect()
        three.write(GET)
        await answer(idle)
        asyncio.get_running_loop().call_later(0.2, site.gate.set)
        started = asyncio.get_running_loop().time()
        await site.listener.stop()
        assert asyncio.get_running_loop().time() - started < 30
        assert await stream.read() == b"0\r\n\r\n"
        assert (await slow.read()).endswith(b"fine")
        assert await idle.read() == b""
        for writer in (one, two, three):
            writer.close()
        with pytest.raises(OSError):
            await site.connect()


@on_both_loops
async def test_stopping_does_not_wait_for_those_who_neither_answer_nor_read() -> None:
    async with Site(Patience(stop=0.6, unread=300)) as site:
        writers = []
        for path in (b"slow", b"flood"):
            _, writer = await site.connect(limit=1)
            writer.write(GET.replace(b"version", path))
            writers.append(writer)
        await eventually(lambda: len(site.seen) == len(writers))
        assert site.listener._connections is not None
        connections = site.listener._connections.connections
        # The flood has filled the buffers.
        await eventually(lambda: any(connection.writing_paused for connection in connections))
        async with asyncio.timeout(60):
            await site.listener.stop()
        for writer in writers:
            writer.close()


@on_both_loops
async def test_a_certificate_counts_only_if_the_servers_authority_signed_it(tmp_path: Path) -> None:
    path = tmp_path / "pair.pem"
    ours, foreign = identity.make(SystemClock()), identity.make(SystemClock())
    async with Site(tls=ours.tls()) as site:
        for who in (None, ours):
            reader, writer = await site.connect(ssl=client_context(who, path))
            writer.write(GET)
            await answer(reader)
            writer.close()
        assert site.seen[0].peer_certificate is None
        assert site.seen[1].peer_certificate == ssl.PEM_cert_to_DER_cert(ours.admin_certificate.decode())
        with contextlib.suppress(ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
            reader, writer = await site.connect(ssl=client_context(foreign, path))
            writer.write(GET)
            await answer(reader)
        writer.close()
        assert len(site.seen) == 2


@on_both_loops
async def test_a_handshake_that_does_not_come_is_not_waited_for_long(caplog: pytest.LogCaptureFixture) -> None:
    async with Site(Patience(handshake=0.2), tls=identity.make(SystemClock()).tls()) as site:
        with caplog.at_level(logging.INFO):
            for sent in (b"", b"\x16\x03\x01", GET):
                with contextlib.suppress(ConnectionError):  # cut off without a word
                    await asyncio.wait_for(site.ask(sent), 60)
        assert not site.seen
        assert not caplog.records


FORBIDDEN = b"POST /forbidden HTTP/1.1\r\nHost: h\r\n"


@pytest.mark.parametrize(
    "length", [b"Content-Length: 3000000", b"Transfer-Encoding: chunked", b"Content-Length: 9\r\nExpect: 100-continue"]
)
@on_both_loops
async def test_who_is_refused_is_told_so_before_the_body_is_sent(length: bytes) -> None:
    async with Site() as site:
        reader, writer = await site.connect()
        writer.write(FORBIDDEN + length + b"\r\n\r\n")
        said = await answer(reader)
        assert said.startswith(b"HTTP/1.1 403")
        assert b"connection: close" in said.lower()
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()


@on_both_loops
async def test_a_small_body_that_nobody_wants_does_not_end_the_connection() -> None:
    async with Site(Patience(linger=60)) as site:
        reader, writer = await site.connect()
        writer.write(FORBIDDEN + b"Content-Length: 200000\r\n\r\n")
        assert (await answer(reader)).startswith(b"HTTP/1.1 403")
        writer.write(b"x" * 200_000 + GET)
        assert (await answer(reader)).endswith(b"fine")
        assert len(site.seen) == 1
        writer.close()


@pytest.mark.parametrize("encrypted", [False, True])
@on_both_loops
async def test_of_a_large_body_that_nobody_wants_little_is_read(encrypted: bool) -> None:
    how = {"ssl": client_context()} if encrypted else {}
    async with Site(Patience(linger=60), tls=identity.make(SystemClock()).tls() if encrypted else None) as site:
        reader, writer = await site.connect(**how)
        writer.write(FORBIDDEN + b"Transfer-Encoding: chunked\r\n\r\n")
        assert (await answer(reader)).startswith(b"HTTP/1.1 403")
        sent = 0
        with contextlib.suppress(TimeoutError, ConnectionError):
            while sent < 100_000_000:
                writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                sent += 0x10000
                async with asyncio.timeout(0.5):
                    await writer.drain()
        assert sent < 50_000_000, "the server went on reading"
        writer.transport.abort()


@on_both_loops
async def test_requests_that_come_together_are_parsed_one_by_one_and_answered_in_order() -> None:
    async with Site() as site:
        reader, writer = await site.connect()
        writer.write(b"".join(b"GET /slow/%d HTTP/1.1\r\nHost: h\r\n\r\n" % number for number in range(3000)))
        await eventually(lambda: site.seen)
        assert site.listener._connections is not None
        [connection] = site.listener._connections.connections
        # As many as a piece holds that is parsed at once.
        assert connection._request_count < 1000
        site.gate.set()
        for _ in range(3000):
            await answer(reader)
        assert [request.path for request in site.seen] == [f"/slow/{number}" for number in range(3000)]
        writer.close()


@on_both_loops
async def test_bodies_of_requests_that_come_together_stay_with_their_requests() -> None:
    async with Site() as site:
        bodies = [bytes([65 + number % 26]) * (number * 997 % 40_000) for number in range(60)]
        reader, writer = await site.connect()
        for number, body in enumerate(bodies):
            if number % 2:
                head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)
                writer.write(head + body)
            else:
                chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
                writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n")
        for _ in bodies:
            assert (await answer(reader)).startswith(b"HTTP/1.1 200")
        assert [request.body for request in site.seen] == bodies
        writer.close()


@on_both_loops
async def test_no_more_is_parsed_than_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, most = 0, 0
    parse = Connection._parse

    def count(self: Connection, data: bytes) -> None:
        nonlocal parsed, most
        parsed += len(data)
        most = max(most, parsed - len(GET) * len(site.seen))
        parse(self, data)

    monkeypatch.setattr(Connection, "_parse", count)
    async with Site() as site:
        reader, writer = await site.connect()
        writer.write(GET * 20_000)
        for _ in range(20_000):
            await answer(reader)
        assert parsed == len(GET) * 20_000
        assert most < 100_000
        writer.close()


@on_both_loops
async def test_a_client_that_sends_ahead_without_end_has_to_wait() -> None:
    async with Site(Patience(stop=0.2)) as site:
        _, writer = await site.connect()
        writer.write(GET.replace(b"version", b"slow"))
        await eventually(lambda: site.seen)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 100_000_000:
                writer.write(GET * 2000)
                sent += len(GET) * 2000
                async with asyncio.timeout(0.5):
                    await writer.drain()
        assert sent < 50_000_000, "the server went on reading"
        assert site.listener._connections is not None
        [connection] = site.listener._connections.connections
        assert isinstance(connection, Connection)
        assert len(connection._ahead) < 2_000_000
        writer.transport.abort()


@on_both_loops
async def test_headers_are_limited_in_number_and_paths_in_length(caplog: pytest.LogCaptureFixture) -> None:
    async with Site() as site:
        many = b"".join(b"X-%d: 1\r\n" % number for number in range(MOST_HEADERS + 1))
        assert b"431 Request Header Fields Too Large" in await site.ask(
            b"GET / HTTP/1.1\r\nHost: h\r\n" + many + b"\r\n"
        )
        said = await site.ask(b"GET /" + b"x" * PATH_LIMIT + b" HTTP/1.1\r\nHost: h\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 414")
        assert not site.seen
        assert not caplog.records


@on_both_loops
async def test_heads_that_do_not_end_are_held_within_a_limit() -> None:
    async with Site(limits=Limits(stranger_bytes=1_000_000)) as site:
        writers = []
        for _ in range(20):
            _, writer = await site.connect()
            writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 300_000)
            await writer.drain()
            writers.append(writer)
        await eventually(lambda: site.listener.connections < 10)
        assert 0 < site.listener.bytes_in_flight <= 1_000_000
        assert (await site.ask(b"GET / HTTP/1.0\r\n\r\n")).endswith(b"fine")
        for writer in writers:
            writer.transport.abort()
        await eventually(lambda: site.listener.bytes_in_flight == 0)


@pytest.mark.parametrize("encrypted", [False, True])
@on_both_loops
async def test_idle_strangers_make_room_and_users_keep_their_places(encrypted: bool) -> None:
    tls = identity.make(SystemClock()).tls() if encrypted else None
    how = {"ssl": client_context()} if encrypted else {}
    limits = Limits(connections=20, unauthenticated=10, per_address=5, per_user=10)
    user = GET.replace(b"\r\n\r\n", b"\r\nAuthorization: me\r\n\r\n")
    async with Site(tls=tls, limits=limits) as site:
        mine, writer = await site.connect(**how)
        writer.write(user)
        await answer(mine)
        watching, watcher = await site.connect(**how)
        watcher.write(user.replace(b"version", b"stream"))
        await watching.readuntil(b"one\n\r\n")
        strangers = []
        for number in range(40):
            # Half of them do not even begin to speak.
            strangers.append(await site.connect(**(how if number % 2 else {})))
            writer.write(user)
            assert (await answer(mine)).endswith(b"fine")
        assert site.listener.gate.strangers == 5
        assert site.listener.gate.displaced == 35
        fresh, another = await site.connect(**how)
        another.write(user)
        assert (await answer(fresh)).endswith(b"fine")
        site.gate.set()
        assert await watching.readuntil(b"0\r\n\r\n")
        for _, each in [*strangers, (mine, writer), (watching, watcher), (fresh, another)]:
            each.transport.abort()
        await eventually(lambda: site.listener.gate.total == 0)


@on_both_loops
async def test_a_user_with_too_many_connections_at_work_is_told_to_come_back() -> None:
    async with Site(limits=Limits(per_user=2)) as site:
        user = GET.replace(b"version", b"slow").replace(b"\r\n\r\n", b"\r\nAuthorization: me\r\n\r\n")
        busy = [await site.connect() for _ in range(2)]
        for _, writer in busy:
            writer.write(user)
        await eventually(lambda: len(site.seen) == 2)
        reader, writer = await site.connect()
        writer.write(user)
        said = await answer(reader)
        assert said.startswith(b"HTTP/1.1 429")
        assert b"Retry-After: 1" in said
        site.gate.set()
        for each, _ in busy:
            assert (await answer(each)).endswith(b"fine")
        writer.write(user)
        assert (await answer(reader)).endswith(b"fine")
        for _, each in [*busy, (reader, writer)]:
            each.close()


@pytest.mark.parametrize("chunked", [False, True])
@on_both_loops
async def test_bodies_in_flight_are_limited_for_each_user(chunked: bool) -> None:
    async with Site(limits=Limits(user_bytes=100_000)) as site:

        def post(user: bytes, size: int) -> bytes:
            head = b"POST /slow HTTP/1.1\r\nHost: h\r\nAuthorization: %b\r\n" % user
            if not chunked:
                return head + b"Content-Length: %d\r\n\r\n" % size + b"x" * size
            pieces = b"400\r\n" + b"x" * 1024 + b"\r\n"
            return head + b"Transfer-Encoding: chunked\r\n\r\n" + pieces * (size // 1024) + b"0\r\n\r\n"

        connections = []
        for user, size in ((b"one", 80_000), (b"other", 80_000)):
            reader, writer = await site.connect()
            writer.write(post(user, size))
            connections.append((reader, writer))
        await eventually(lambda: len(site.seen) == 2)
        assert site.listener.bytes_in_flight >= 150_000
        reader, writer = await site.connect()
        writer.write(post(b"one", 40_000))
        said = await answer(reader)
        assert said.startswith(b"HTTP/1.1 429")
        assert b"Retry-After: 1" in said
        site.gate.set()
        for each, _ in connections:
            assert (await answer(each)).endswith(b"fine")
        await eventually(lambda: site.listener.bytes_in_flight == 0)
        for _, each in [*connections, (reader, writer)]:
            each.close()


async def test_without_descriptors_an_idle_connection_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Site() as site:
        idle = [await site.connect() for _ in range(3)]
        await eventually(lambda: site.listener.connections == 3)
        loop = asyncio.get_running_loop()
        accept, failures = loop.sock_accept, [errno.EMFILE, errno.ECONNABORTED, errno.ENFILE]

        async def fail(sock: socket.socket) -> Any:
            if failures:
                raise OSError(failures.pop(), "no more")
            return await accept(sock)

        monkeypatch.setattr(loop, "sock_accept", fail)
        first = await site.connect()  # accepted by the call that waits already
        reader, writer = await site.connect()
        writer.write(GET)
        async with asyncio.timeout(60):
            assert (await answer(reader)).endswith(b"fine")
            for each, _ in idle[:2]:
                with contextlib.suppress(ConnectionError):
                    assert await each.read() == b""
        assert not failures
        assert site.listener.gate.displaced == 2
        for _, each in (*idle, first, (reader, writer)):
            each.close()


async def test_a_listener_that_cannot_accept_says_so_and_tries_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("nagaya.apiserver.web.listener._AGAIN", 0.05)
    async with Site() as site:
        loop = asyncio.get_running_loop()
        accept, failures = loop.sock_accept, [errno.EMFILE] * 3

        async def fail(sock: socket.socket) -> Any:
            if failures:
                raise OSError(failures.pop(), "Too many open files")
            return await accept(sock)

        monkeypatch.setattr(loop, "sock_accept", fail)
        _, first = await site.connect()  # accepted by the call that waits already
        assert (await site.ask(b"GET / HTTP/1.0\r\n\r\n")).endswith(b"fine")
        first.close()
        assert "cannot accept connections: [Errno 24] Too many open files. Trying again" in caplog.text


@on_both_loops
async def test_requests_that_strangers_send_ahead_are_held_within_a_limit() -> None:
    async with Site(limits=Limits(stranger_bytes=2_500_000)) as site:
        writers = []
        for _ in range(20):
            _, writer = await site.connect()
            writer.write(GET.replace(b"version", b"slow"))
            await eventually(lambda: len(site.seen) == len(writers) + 1)
            writer.write(GET * 3000)
            writers.append(writer)
        await eventually(lambda: site.listener.connections < 10)
        assert 0 < site.listener.bytes_in_flight <= 2_500_000
        for writer in writers:
            writer.transport.abort()
        site.gate.set()
        await eventually(lambda: site.listener.bytes_in_flight == 0)


@pytest.mark.parametrize("user", [b"", b"Authorization: me\r\n"])
@on_both_loops
async def test_strangers_take_turns_and_users_do_not_wait_for_them(user: bytes) -> None:
    async with Site() as site:
        connections = [await site.connect() for _ in range(100)]
        request = GET.replace(b"\r\n\r\n", b"\r\n" + user + b"\r\n")
        for reader, writer in connections:
            writer.write(request)
            await answer(reader)
        site.seen.clear()
        for _, writer in connections:
            writer.write(request)
        passes, begun = 0, [0]
        while len(site.seen) < len(connections):
            await asyncio.sleep(0)
            passes += 1
            begun.append(len(site.seen))
        most = max(after - before for before, after in itertools.pairwise(begun))
        assert most > 8 if user else most <= 8
        for _, writer in connections:
            writer.transport.abort()


@on_both_loops
async def test_a_stream_whose_client_wanted_another_protocol_ends_the_connection() -> None:
    async with Site() as site:
        site.gate.set()
        reader, writer = await site.connect()
        upgrade = b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        writer.write(GET.replace(b"version", b"slow-stream").replace(b"\r\n\r\n", upgrade))
        async with asyncio.timeout(60):
            said = await reader.read()
        assert said.lower().count(b"connection: close") == 1
        assert said.endswith(b"0\r\n\r\n")
        writer.close()


@on_both_loops
async def test_long_pieces_count_until_a_user_has_sent_them() -> None:
    async with Site() as site:
        reader, writer = await site.connect()
        await eventually(lambda: site.listener.connections == 1)
        assert site.listener._connections is not None
        [connection] = site.listener._connections.connections
        assert isinstance(connection, Connection)
        connection.data_received(FORBIDDEN + b"Content-Length: 60000\r\n\r\n" + b"x" * 60_000)
        assert site.listener.bytes_in_flight > 3 * 60_000
        assert (await answer(reader)).startswith(b"HTTP/1.1 403")
        assert site.listener.bytes_in_flight > 3 * 60_000, "as long as the connection is there"
        writer.write(GET.replace(b"\r\n\r\n", b"\r\nAuthorization: me\r\n\r\n"))
        assert (await answer(reader)).endswith(b"fine")
        assert site.listener.bytes_in_flight == 0
        writer.close()
