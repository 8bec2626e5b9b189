from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nagaya.controlplane.hosted.host import balancer
from nagaya.controlplane.hosted.host.balancer import Balancer, Side
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.usages import Usage
from nagaya.world import SystemClock
from support.real_processes import free_ports


class ApiServer:
    """Answers /readyz as told, and everything else with its name."""

    def __init__(self, name: str, context: ssl.SSLContext) -> None:
        self.name = name
        self.ready = True
        self.served = 0
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
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET /readyz"):
                    status, body = ("200 OK", b"ok") if self.ready else ("500 No", b"shutdown")
                else:
                    status, body = "200 OK", self.name.encode()
                    self.served += 1
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        except (asyncio.IncompleteReadError, OSError):
            writer.close()


class Client:
    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self._port = port
        self._context = context

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port, ssl=self._context, server_hostname="localhost")

    async def ask(self, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None) -> str:
        reader, writer = streams or await self.open()
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split()[0])
        body = (await reader.readexactly(length)).decode()
        if streams is None:
            writer.close()
        return body


class Front:
    """A balancer in this process, and what stands behind it."""

    def __init__(self, servers: list[ApiServer], client: Client, file: Path) -> None:
        self.servers = servers
        self.client = client
        self._file = file

    def write(self, *servers: ApiServer) -> None:
        authority = str(self._file.parent / "ca.crt")
        backends = [["127.0.0.1", each.port] for each in servers]
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps({"backends": backends, "authority": authority}))
        fresh.replace(self._file)


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
    found = Front(servers, Client(port, trusting), folder / "balancer.json")
    found.write(*servers)
    loop = asyncio.get_running_loop()
    standing = Balancer(str(folder / "balancer.json"))
    following = asyncio.create_task(standing.follow())
    await standing.some_ready()
    listening = await loop.create_server(lambda: Side(standing), "127.0.0.1", port)
    try:
        yield found
    finally:
        listening.close()
        following.cancel()
        for each in servers:
            await each.stop()
        await asyncio.sleep(0.05)
        standing.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balancer, "PROBE_INTERVAL", 0.02)


async def test_connections_are_spread_over_those_that_are_ready(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        await asyncio.sleep(0.2)
        kept = [await stand.client.open() for _ in range(4)]
        answers = [await stand.client.ask(each) for each in kept]
        for _, writer in kept:
            writer.close()

    assert sorted(answers) == ["a", "a", "b", "b"]


async def test_who_is_about_to_end_gets_no_new_connections_and_keeps_those_it_has(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        await asyncio.sleep(0.2)
        kept = [await stand.client.open() for _ in range(2)]
        before = {await stand.client.ask(each) for each in kept}
        stand.servers[0].ready = False
        await asyncio.sleep(0.2)

        new = {await stand.client.ask() for _ in range(5)}
        old = {await stand.client.ask(each) for each in kept}
        for _, writer in kept:
            writer.close()

    assert (before, new, old) == ({"a", "b"}, {"b"}, {"a", "b"})


async def test_one_that_refuses_connections_is_passed_over(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        await asyncio.sleep(0.2)
        await stand.servers[0].stop()

        assert {await stand.client.ask() for _ in range(5)} == {"b"}


async def test_a_connection_is_held_until_somebody_is_ready(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        for each in stand.servers:
            each.ready = False
        await asyncio.sleep(0.2)
        asking = asyncio.create_task(stand.client.ask())
        await asyncio.sleep(0.2)
        assert not asking.done()
        stand.servers[1].ready = True

        assert await asking == "b"


async def test_the_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    async with front(tmp_path) as stand:
        stand.write(stand.servers[1])
        await asyncio.sleep(0.2)

        assert {await stand.client.ask() for _ in range(4)} == {"b"}
