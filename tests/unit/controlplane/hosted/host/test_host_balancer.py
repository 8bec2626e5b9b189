from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from nagaya.controlplane.hosted.host.balancer import backend, goodbye, passage
from nagaya.controlplane.hosted.host.balancer.front import STATUS, Balancer, Client
from nagaya.controlplane.hosted.host.balancer.passage import Side
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.usages import Usage
from nagaya.world import SystemClock
from support.real_processes import free_ports
from support.waiting import eventually

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
ENDING = f"[+]ping ok\n[-]shutdown failed: reason withheld\n{'x' * 4000}"
LENGTH = 200
"""Of an answer: one that is as short as "100 Continue" is taken for that."""


class ApiServer:
    """Answers /readyz as told, and everything else with its name."""

    def __init__(self, name: str, context: ssl.SSLContext) -> None:
        self.name = name
        self.ready = True
        self.why_not = "[-]etcd failed: reason withheld"
        self.served = 0
        self.answers = asyncio.Event()
        self.answers.set()
        self._context = context
        self._server: asyncio.Server
        self._writers: set[asyncio.StreamWriter] = set()
        [self.port] = free_ports(1)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._context)

    async def stop(self) -> None:
        self._server.close()
        for each in self._writers:
            each.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                if asked.startswith(b"GET /readyz"):
                    await self.answers.wait()
                    status, body = ("200 OK", b"ok") if self.ready else ("500 No", self.why_not.encode())
                else:
                    status, body = "200 OK", self.name.encode() * LENGTH
                    self.served += 1
                writer.write(
                    f"HTTP/1.1 {status}\r\nConnection: keep-alive\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                    + body
                )
        except (asyncio.IncompleteReadError, OSError):
            writer.close()


class Caller:
    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self._port = port
        self._context = context

    async def open(self) -> Streams:
        return await asyncio.open_connection("127.0.0.1", self._port, ssl=self._context, server_hostname="localhost")

    async def ask(self, streams: Streams | None = None) -> str:
        reader, writer = streams or await self.open()
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split()[0])
        body = (await reader.readexactly(length)).decode()[:1]
        if streams is None:
            writer.close()
        return body


class Front:
    """A balancer in this process, and what stands behind it."""

    def __init__(self, servers: list[ApiServer], client: Caller, file: Path) -> None:
        self.servers = servers
        self.client = client
        self.file = file
        self.generation = 0
        self.balancer: Balancer

    def write(
        self, *servers: ApiServer, leaving: tuple[ApiServer, ...] = (), closed: tuple[ApiServer, ...] = ()
    ) -> None:
        self.generation += 1
        content = {
            "generation": self.generation,
            "backends": [["127.0.0.1", each.port] for each in servers],
            "leaving": [["127.0.0.1", each.port] for each in leaving],
            "closed": [["127.0.0.1", each.port] for each in closed],
            "authority": str(self.file.parent / "ca.crt"),
        }
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(content))
        fresh.replace(self.file)

    def status(self) -> dict[str, Any]:
        """What the balancer says of the generation that was written last; nothing of an earlier one."""
        path = Path(f"{self.file}{STATUS}")
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found if found.get("observedGeneration") == self.generation else {}

    def remaining(self, server: ApiServer) -> int | None:
        """How many connections a leaving API server has."""
        return {port: count for _, port, count in self.status().get("leaving", ())}.get(server.port)

    def is_closed(self, server: ApiServer) -> bool:
        return ["127.0.0.1", server.port] in self.status().get("closed", ())

    def watched(self, server: ApiServer) -> backend.Backend:
        """What the balancer knows of an API server."""
        return self.balancer._backends["127.0.0.1", server.port][0]

    def candidates(self) -> set[str]:
        """Who can get the next connection."""
        ports = {candidate.address[1] for candidate in self.balancer._candidates()}
        return {server.name for server in self.servers if server.port in ports}

    async def holds(self, asking: asyncio.Task[str]) -> bool:
        """Whether a client that has connected gets no answer."""
        await eventually(lambda: self.balancer._open == 1)
        await asyncio.sleep(0.1)  # shows that nothing happens
        return not asking.done()

    async def keeps_open(self, server: ApiServer) -> bool:
        """Whether an API server that shall be closed is not, although the balancer knows all that it has to know."""
        known = [peer for peer, _ in self.balancer._backends.values()]
        await eventually(lambda: all(peer.was_probed_since(self.balancer._read_at) for peer in known))
        await asyncio.sleep(0.1)  # shows that nothing happens: the balancer looks every 0.02 s
        return not self.is_closed(server)

    async def close(self, server: ApiServer) -> None:
        """Go through both states, and wait until the balancer has confirmed them."""
        self.write(*self.servers, leaving=(server,))
        await eventually(lambda: self.remaining(server) == 0)
        self.write(*self.servers, leaving=(server,), closed=(server,))
        await eventually(lambda: self.is_closed(server))

    async def kept(self) -> dict[str, Streams]:
        """A connection to each, on which enough was said to tell requests from greetings."""
        found = {}
        for _ in self.servers:
            streams = await self.client.open()
            for _ in range(3):
                name = await self.client.ask(streams)
            found[name] = streams
        return found


@asynccontextmanager
async def front(folder: Path) -> AsyncIterator[Front]:
    clock = SystemClock()
    authority = CertificateAuthority.create("kubernetes", clock)
    spec = CertificateSpec("kube-apiserver", usages=(Usage.SERVER_AUTH,), dns_names=("localhost",))
    pair = KeyPair.of(*authority.issue_pair(spec, clock))
    (folder / "ca.crt").write_bytes(authority.certificate_pem)
    (folder / "pair").write_bytes(pair.certificate + pair.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "pair")
    servers = [ApiServer(name, serving) for name in ("a", "b")]
    for each in servers:
        await each.start()
    [port] = free_ports(1)
    trusting = ssl.create_default_context(cafile=folder / "ca.crt")
    found = Front(servers, Caller(port, trusting), folder / "balancer.json")
    found.write(*servers)
    loop = asyncio.get_running_loop()
    standing = Balancer(str(folder / "balancer.json"))
    following = asyncio.create_task(standing.follow())
    await standing.some_ready()
    listening = await loop.create_server(lambda: Client(standing), "127.0.0.1", port)
    standing.is_listening = True
    found.balancer = standing
    try:
        await eventually(lambda: len(standing._candidates()) == len(servers))
        yield found
    finally:
        listening.close()
        following.cancel()
        for each in servers:
            await each.stop()
        known = [*standing._gone, *(peer for peer, _ in standing._backends.values())]
        await eventually(lambda: not any(peer.passages for peer in known))
        standing.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "PROBE_INTERVAL", 0.02)
    monkeypatch.setattr(goodbye, "SILENCE", 0.1)
    monkeypatch.setattr(goodbye, "YOUNG", 0.1)


async def test_connections_are_spread_over_those_that_are_ready(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        kept = [await stand.client.open() for _ in range(4)]
        answers = [await stand.client.ask(each) for each in kept]
        for _, writer in kept:
            writer.close()

    assert sorted(answers) == ["a", "a", "b", "b"]


async def test_the_address_with_most_connections_loses_its_oldest_when_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage, "LINGER", 0.05)
    async with front(tmp_path) as stand:
        stand.balancer._most = 10
        kept = await stand.client.open()
        port = stand.client._port
        silent = [await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0)) for _ in range(20)]
        assert await stand.client.ask(kept), "who was there before stays"
        assert await stand.client.ask(), "who comes gets in"
        assert stand.balancer._open <= 10
        for reader, _ in silent[:10]:
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        for _, writer in [*silent, kept]:
            writer.transport.abort()
        await eventually(lambda: stand.balancer._open == 0)


async def test_who_is_not_ready_gets_no_new_connections_and_keeps_those_it_has(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        kept = [await stand.client.open() for _ in range(2)]
        before = {await stand.client.ask(each) for each in kept}
        stand.servers[0].ready = False
        await eventually(lambda: stand.candidates() == {"b"})

        new = {await stand.client.ask() for _ in range(5)}
        old = {await stand.client.ask(each) for each in kept}
        for _, writer in kept:
            writer.close()

    assert (before, new, old) == ({"a", "b"}, {"b"}, {"a", "b"})


async def test_one_that_refuses_connections_is_passed_over(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        await stand.servers[0].stop()

        assert {await stand.client.ask() for _ in range(5)} == {"b"}


async def test_an_api_server_whose_connection_was_lost_is_probed_over_a_new_one(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        a, _ = stand.servers
        await a.stop()
        await eventually(lambda: stand.candidates() == {"b"})
        await a.start()

        await eventually(lambda: stand.candidates() == {"a", "b"})


async def test_a_connection_is_held_until_somebody_is_ready(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        for each in stand.servers:
            each.ready = False
        await eventually(lambda: not stand.candidates())
        asking = asyncio.create_task(stand.client.ask())
        assert await stand.holds(asking)
        stand.servers[1].ready = True

        assert await asking == "b"


async def test_the_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        stand.write(stand.servers[1])
        await eventually(lambda: stand.candidates() == {"b"})

        assert {await stand.client.ask() for _ in range(4)} == {"b"}


@pytest.mark.parametrize("says_it_itself", [True, False])
async def test_connections_to_who_leaves_end_with_an_answer(tmp_path: Path, says_it_itself: bool) -> None:
    async with front(tmp_path) as stand:
        a, b = stand.servers
        kept = await stand.kept()
        if says_it_itself:
            a.why_not, a.ready = ENDING, False
            await eventually(lambda: stand.watched(a).leaving)
        else:
            stand.write(a, b, leaving=(a,))
            await eventually(lambda: stand.remaining(a) == 1)
        assert stand.candidates() == {"b"}

        assert await stand.client.ask(kept["a"]) == "a"
        assert kept["a"][0].at_eof() or await kept["a"][0].read() == b""
        assert [await stand.client.ask(kept["b"]) for _ in range(3)] == ["b"] * 3
        assert {await stand.client.ask() for _ in range(4)} == {"b"}
        if not says_it_itself:
            await eventually(lambda: stand.remaining(a) == 0)
            stand.write(a, b)
            await eventually(lambda: stand.candidates() == {"a", "b"})
            assert await stand.client.ask() == "a"  # it has no connections, and the other one has
        for _, writer in kept.values():
            writer.close()


async def test_who_leaves_is_asked_if_there_is_nobody_else(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        a, b = stand.servers
        b.ready = False
        stand.write(a, b, leaving=(a,))
        await eventually(lambda: stand.remaining(a) == 0)
        await eventually(lambda: stand.candidates() == {"a"})

        assert {await stand.client.ask() for _ in range(3)} == {"a"}


async def test_a_closed_api_server_gets_no_connection_even_if_there_is_nobody_else(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        a, b = stand.servers
        await stand.close(a)
        b.ready = False
        await eventually(lambda: not stand.candidates())
        asking = asyncio.create_task(stand.client.ask())
        assert await stand.holds(asking)
        b.ready = True

        assert await asking == "b"
        assert a.served == 0


async def test_an_api_server_is_not_closed_before_another_one_is_ready(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        a, b = stand.servers
        b.ready = False
        stand.write(a, b, leaving=(a,), closed=(a,))
        await eventually(lambda: stand.remaining(a) == 0)
        assert await stand.keeps_open(a)
        b.ready = True

        await eventually(lambda: stand.is_closed(a))


async def test_an_api_server_is_closed_if_none_is_ready_itself_included(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        a, b = stand.servers
        a.ready = b.ready = False
        stand.write(a, b, leaving=(a,), closed=(a,))

        await eventually(lambda: stand.is_closed(a))


async def test_an_api_server_is_not_closed_while_a_connection_is_left(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        kept = await stand.kept()
        a, b = stand.servers
        stand.write(a, b, leaving=(a,), closed=(a,))
        await eventually(lambda: stand.remaining(a) == 1)
        assert await stand.keeps_open(a)
        assert await stand.client.ask(kept["a"]) == "a"

        await eventually(lambda: stand.is_closed(a))
        for _, writer in kept.values():
            writer.close()


async def test_a_connection_that_is_being_made_counts(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        a, b = stand.servers
        loop = asyncio.get_running_loop()
        connect, may_go_on = loop.create_connection, asyncio.Event()

        async def slow(make: Any, host: str, port: int, **more: Any) -> Any:
            if make is Side and port == a.port:
                await may_go_on.wait()
            return await connect(make, host, port, **more)

        b.ready = False
        await eventually(lambda: stand.candidates() == {"a"})
        loop.create_connection = slow  # type: ignore[method-assign,assignment]
        asking = asyncio.create_task(stand.client.ask())
        await eventually(lambda: stand.watched(a).connecting == 1)
        b.ready = True
        stand.write(a, b, leaving=(a,), closed=(a,))
        await eventually(lambda: stand.remaining(a) == 1)
        await eventually(lambda: stand.candidates() == {"b"})
        assert not stand.is_closed(a)
        may_go_on.set()

        assert await asking == "b"
        await eventually(lambda: stand.is_closed(a))
        assert a.served == 0


async def test_an_api_server_that_does_not_end_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "CLOSED_LIMIT", 0.3)
    async with front(tmp_path) as stand:
        a, b = stand.servers
        await stand.close(a)
        await eventually(lambda: not stand.is_closed(a))
        b.ready = False
        await eventually(lambda: stand.candidates() == {"a"})

        assert await stand.client.ask() == "a"
        assert not stand.is_closed(a)  # only another generation closes it again


async def test_an_api_server_that_does_not_answer_stays_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "CLOSED_LIMIT", 0.2)
    monkeypatch.setattr(backend, "PROBE_TIMEOUT", 0.1)
    async with front(tmp_path) as stand:
        a, _ = stand.servers
        a.answers.clear()
        await stand.close(a)
        await eventually(lambda: stand.watched(a).was_probed_since(stand.watched(a)._closed_until))
        await asyncio.sleep(0.1)  # shows that nothing happens: the balancer looks every 0.02 s
        assert stand.is_closed(a)
        a.answers.set()

        await eventually(lambda: not stand.is_closed(a))


async def test_an_api_server_that_is_no_longer_listed_loses_its_connections(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        kept = await stand.kept()
        stand.write(stand.servers[1])
        await eventually(lambda: bool(stand.balancer._gone))
        assert await stand.client.ask(kept["a"]) == "a"
        assert await kept["a"][0].read() == b""

        await eventually(lambda: not stand.balancer._gone)
        for _, writer in kept.values():
            writer.close()


async def test_an_api_server_that_is_back_gets_connections_when_it_has_said_that_it_is_ready(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        a, b = stand.servers
        await stand.close(b)
        b.answers.clear()
        stand.write(a, b)
        await eventually(lambda: stand.status().get("leaving") == [])
        assert stand.candidates() == {"a"}
        b.answers.set()

        await eventually(lambda: stand.candidates() == {"a", "b"})


async def test_an_api_server_that_ends_goes_on_to_end_when_it_answers_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "PROBE_TIMEOUT", 0.1)
    async with front(tmp_path) as stand:
        a, _ = stand.servers
        a.why_not, a.ready = ENDING, False
        watched = stand.watched(a)
        await eventually(lambda: watched.leaving)
        a.answers.clear()
        silent_since = asyncio.get_running_loop().time()
        await eventually(lambda: watched.was_probed_since(silent_since))
        assert watched.leaving
        a.ready = True
        a.answers.set()

        await eventually(lambda: watched.ready and not watched.leaving)


async def test_a_balancer_that_is_started_again_keeps_what_it_has_confirmed(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        a, b = stand.servers
        await stand.close(a)
        b.ready = False
        again = Balancer(str(stand.file))
        following = asyncio.create_task(again.follow())
        await eventually(lambda: bool(again._backends))
        closed = [each.address[1] for each, _ in again._backends.values() if each.is_closed]
        assert stand.is_closed(a)
        following.cancel()
        again.close()

        assert closed == [a.port]
