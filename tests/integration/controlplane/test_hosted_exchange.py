"""API servers behind the balancer are exchanged without a request that reaches one which refuses it.

The host, the supervisor and the balancer are real; the API servers are programs that refuse every request from the
moment they receive SIGTERM (refusing_api_server.py). So the balancer must have moved every request elsewhere before
that moment, however slow it is.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from nagaya.controlplane.hosted.host import balancer
from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.host.roll import Role, Roll, Wanted
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.usages import Usage
from nagaya.supervision.probes import accepts_tcp
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import State
from nagaya.world import SystemClock, World
from support.hosting import end_tenants
from support.real_processes import free_ports
from support.waiting import eventually

pytestmark = pytest.mark.long("sends requests for as long as API servers take to drain and to end")

UID = "355ba8b8-c8fd-40d6-92d6-8e90aaaf6302"
OLD, NEW = "v1.35.4", "v1.36.3"
LIMIT = 120.0
"""Seconds for anything that a test waits for, on however slow a machine."""
CLIENTS = 3
"""Of each kind."""
ADDRESSES = ("127.64.7.2", "127.64.7.3")


class Site:
    """A tenant of stand-ins, and clients of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        [self.port] = free_ports(1)
        clock = SystemClock()
        authority = CertificateAuthority.create("kubernetes", clock)
        spec = CertificateSpec("kube-apiserver", usages=(Usage.SERVER_AUTH,), dns_names=("localhost",))
        pair = KeyPair.of(*authority.issue_pair(spec, clock))
        self.pem, self.authority = folder / "pair.pem", folder / "ca.crt"
        self.pem.write_bytes(pair.certificate + pair.key)
        self.authority.write_bytes(authority.certificate_pem)
        self.host = self._host()
        self.succeeded: Counter[str] = Counter()
        self.versions: set[str] = set()
        self.failed: list[str] = []
        self._clients: list[asyncio.Task[None]] = []
        self._over = False

    def _host(self) -> Host:
        host = Host(HostSettings(self.folder / "hosted"), World())
        host.subscribe(lambda uid, event: None, lambda: None)
        return host

    @property
    def balancer_file(self) -> Path:
        return self.host.folder(UID).balancer_file

    def written(self) -> dict[str, Any]:
        """What the balancer reads."""
        found: dict[str, Any] = json.loads(self.balancer_file.read_text())
        return found

    def server(self, index: int, version: str) -> Wanted:
        program = Path(__file__).with_name("refusing_api_server.py")
        command = (sys.executable, "-I", "-S", os.fspath(program), ADDRESSES[index], str(self.port), str(self.pem))
        spec = ProcessSpec(
            f"{UID}.kube-apiserver-{index}",
            (*command, version),
            grace=LIMIT,
            ready=accepts_tcp(ADDRESSES[index], self.port),
        )
        return Wanted(Role.API_SERVER, "kube-apiserver", version, spec)

    def front(self) -> Wanted:
        folder = os.fspath(Path(balancer.__file__).parent)
        command = (sys.executable, "-I", "-S", folder, "127.0.0.1", str(self.port), str(self.balancer_file))
        spec = ProcessSpec(f"{UID}.balancer", command, ready=accepts_tcp("127.0.0.1", self.port))
        return Wanted(Role.BESIDE, "balancer", "", spec)

    def pid(self, program: str) -> int:
        pid = self.host.processes(UID)[f"{UID}.{program}"].pid
        assert pid is not None
        return pid

    async def start(self) -> None:
        await self.host.start()
        content = {
            "backends": [[address, self.port] for address in ADDRESSES],
            "names": [f"{UID}.kube-apiserver-{index}" for index in range(2)],
            "authority": str(self.authority),
        }
        self.host.folder(UID).write_for_balancer({self.balancer_file.name: json.dumps(content).encode()})
        await self.host.carry_out(UID, Roll((self.server(0, OLD), self.server(1, OLD), self.front())))
        await self.settled()

    async def restart_nagaya(self) -> None:
        """Let another Nagaya find what an earlier one has left."""
        await self.host.close()
        self.host = self._host()
        await self.host.start()

    async def settled(self) -> None:
        await eventually(lambda: all(status.state is State.READY for status in self.host.processes(UID).values()))

    async def upgrade(self) -> None:
        """Exchange both API servers, one after the other."""
        for index in range(2):
            wanted = self.server(index, NEW)
            async with asyncio.timeout(LIMIT):
                while self.host.folder(UID).started()[wanted.name] != wanted.started:
                    await self.host.carry_out(UID, Roll((wanted,)))
            await self.settled()

    @asynccontextmanager
    async def load(self) -> AsyncIterator[None]:
        """Clients of all kinds, which report everything that is not an answer."""
        makers = {"kept": self._ask_on_kept_connection, "fresh": self._fresh, "http2": self._http2}
        # More than one of each: both API servers have clients of every kind.
        makers_by_name = {f"{kind} {number}": make for kind, make in makers.items() for number in range(CLIENTS)}
        self._clients = [asyncio.create_task(self._work(name, make)) for name, make in makers_by_name.items()]
        everybody = {*makers_by_name}
        await eventually(lambda: set(self.succeeded) == everybody)
        try:
            yield
            self.succeeded.clear()
            await eventually(lambda: set(self.succeeded) == everybody)
        finally:
            self._over = True
            async with asyncio.timeout(LIMIT):
                await asyncio.gather(*self._clients)

    async def _work(self, name: str, make: Callable[[str], Awaitable[None]]) -> None:
        while not self._over:
            try:
                await make(name)
            except (OSError, EOFError) as error:
                self.failed.append(f"{name}: {error!r}")

    def _note(self, name: str, status: str, answer: str) -> None:
        if status == "200":
            self.succeeded[name] += 1
            self.versions.add(answer)
        else:
            self.failed.append(f"{name}: {status} {answer}")

    @asynccontextmanager
    async def _open(self, protocol: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        context = ssl.create_default_context(cafile=self.authority)
        context.set_alpn_protocols([protocol])
        streams = await asyncio.open_connection("127.0.0.1", self.port, ssl=context, server_hostname="localhost")
        try:
            yield streams
        finally:
            streams[1].close()

    async def _ask(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))
        self._note(name, head.split()[1].decode(), body.decode()[: len(NEW)])

    async def _fresh(self, name: str) -> None:
        async with self._open("http/1.1") as (reader, writer):
            await self._ask(name, reader, writer)

    async def _ask_on_kept_connection(self, name: str) -> None:
        """Send requests on one connection until it ends. Like real clients, look for its end before each request."""
        async with self._open("http/1.1") as (reader, writer):
            while not self._over and not reader.at_eof():
                await self._ask(name, reader, writer)
                await asyncio.sleep(0.03)  # clients pause: the connection is idle when the balancer ends it

    async def _http2(self, name: str) -> None:
        """Several requests at a time over one connection. After GOAWAY those that were not read are repeated."""
        async with self._open("h2") as (reader, writer):
            number, waiting = 0, set[int]()
            while True:
                while not self._over and len(waiting) < 3:
                    number += 1
                    waiting.add(number)
                    writer.write(b"%d\n" % number)
                if not waiting:
                    return
                async with asyncio.timeout(LIMIT):
                    answer = (await reader.readline()).decode().split()
                if not answer:
                    raise EOFError(f"requests {waiting} were not answered")
                if answer[0] == "GOAWAY":
                    if lost := {number for number in waiting if number <= int(answer[1])}:
                        self.failed.append(f"{name}: requests {lost} were read and not answered")
                    return
                waiting.discard(int(answer[0]))
                self._note(name, *answer[1:])
                await asyncio.sleep(0.01)  # a request rate, not a wait: streams overlap


@asynccontextmanager
async def beside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    made = Site(tmp_path)
    try:
        await made.start()
        yield made
    finally:
        await made.host.close()
        end_tenants(tmp_path / "hosted")


async def test_an_exchange_interrupts_nobody(site: Site) -> None:
    async with site.load():
        await site.upgrade()

    assert site.failed == []
    assert site.versions == {OLD, NEW}


async def test_a_slow_balancer_makes_an_exchange_slower_and_not_wrong(site: Site) -> None:
    async def slow_down() -> None:
        pid = site.pid("balancer")
        try:
            while True:
                os.kill(pid, signal.SIGSTOP)
                await asyncio.sleep(1.0)  # longer than every interval of the host and the balancer
                os.kill(pid, signal.SIGCONT)
                await asyncio.sleep(0.1)  # the balancer runs for a tenth of the time
        finally:
            os.kill(pid, signal.SIGCONT)

    async with site.load(), beside(slow_down()):
        await site.upgrade()

    assert site.failed == []
    assert site.versions == {OLD, NEW}


async def test_a_balancer_that_dies_during_an_exchange_is_waited_for(site: Site) -> None:
    """Connections end with the balancer. No request reaches an API server that refuses it, all the same."""

    async def kill() -> None:
        await eventually(lambda: bool(site.written().get("leaving")))
        os.kill(site.pid("balancer"), signal.SIGKILL)
        await eventually(lambda: bool(site.written().get("closed")))
        os.kill(site.pid("balancer"), signal.SIGKILL)
        await asyncio.Event().wait()

    async with site.load(), beside(kill()):
        await site.upgrade()

    assert [problem for problem in site.failed if "503" in problem] == []
    assert site.versions == {OLD, NEW}


@pytest.mark.parametrize("state", ["leaving", "closed"])
async def test_a_nagaya_that_ends_during_an_exchange_interrupts_nobody(site: Site, state: str) -> None:
    async with site.load():
        exchange = asyncio.create_task(site.upgrade())
        await eventually(lambda: bool(site.written().get(state)))
        exchange.cancel()
        with suppress(asyncio.CancelledError):
            await exchange
        site.succeeded.clear()
        # Clients go on without Nagaya, those of HTTP/2 too.
        await eventually(lambda: min(site.succeeded[f"http2 {number}"] for number in range(CLIENTS)) > 20)
        await site.restart_nagaya()
        # As after every start: everything is claimed, and what has changed is exchanged.
        for version in (OLD, NEW):
            steps = Roll((site.server(0, version), site.server(1, OLD), site.front()))
            await site.host.carry_out(UID, steps)
            await site.settled()
        await site.upgrade()

    assert site.failed == []
    assert site.versions == {OLD, NEW}
