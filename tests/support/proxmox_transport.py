"""Ways of the Proxmox client to an emulated data center in this process, and to answers that a test makes up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

from nagaya.infrastructure.proxmox.client import ClientMetrics, Credentials, Endpoint, Facts, Proxmox, Token, Trust
from nagaya.infrastructure.proxmox.client.transport import ROOT, Answer, NotSent, ReplyLost, Request, Transport
from nagaya.simulators.proxmox import request as emulated
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.failure import Unanswered, Unconnected
from nagaya.simulators.proxmox.front import parameters
from nagaya.simulators.proxmox.layouts.demo import demo, secret
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.surface import routes
from nagaya.simulators.proxmox.verification import verify
from nagaya.world import World
from support.virtual_run import virtual_world

CONNECT = 5.0


class ToEmulator:
    """Hands requests to an emulator. Its hosts are found by their name or address."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self.sent: list[tuple[str, Request]] = []

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        node = next(
            (
                name
                for name, each in self._emulator.datacenter.nodes.items()
                if endpoint.host in (name, each.address)
            ),
            None,
        )  # fmt: skip
        if node is None:
            raise NotSent(f"{endpoint} cannot be reached: no such host")
        self.sent.append((node, request))
        online = self._emulator.datacenter.nodes[node].online
        try:
            async with asyncio.timeout(request.timeout if online else CONNECT):
                answer = await self._emulator.answer(
                    emulated.Request(request.method, request.path, request.query, request.headers, request.body, node)
                )
        except Unconnected as failure:
            raise NotSent(f"{endpoint} cannot be reached: {failure}") from failure
        except Unanswered as failure:
            raise ReplyLost(f"{endpoint} closed the connection before it answered") from failure
        except TimeoutError as failure:
            if not online:
                raise NotSent(f"{endpoint} took no connection within {CONNECT:g} s") from failure
            raise ReplyLost(f"{endpoint} did not answer within {request.timeout:g} s", timed_out=True) from failure
        return Answer(answer.status, answer.reason, answer.body)

    async def close(self) -> None:
        """Nothing is open."""

    def asked(self) -> list[str]:
        """What was asked: method and path, without the root."""
        return [f"{request.method} {unquote(request.path).removeprefix(ROOT)}" for _, request in self.sent]


class Valid:
    """Another transport, where every request has to be valid under PVE's published schema."""

    def __init__(self, inner: Transport, version: str = "9.2") -> None:
        self._inner = inner
        self._version = version

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        assert request.path.startswith(f"{ROOT}/"), request.path
        path = unquote(request.path).removeprefix(ROOT)
        found = routes(self._version).find(request.method, path)
        assert found is not None, f"PVE has no {request.method} {path}"
        if path.endswith("/upload"):
            given = {**parameters.of_upload(request.query, request.headers, request.body).fields}
        else:
            given = parameters.of_request(request.method, request.query, request.headers, request.body)
        wrong = verify(found.route.parameters, {**given, **found.path_parameters})
        assert not wrong, f"{request.method} {path}: {wrong}"
        return await self._inner.send(endpoint, trust, request)

    async def close(self) -> None:
        await self._inner.close()


Said = Answer | Exception


@dataclass(slots=True)
class Told:
    """Answers as a test says, by endpoint's host, and remembers what it was asked."""

    say: Callable[[str, Request], Said]
    sent: list[tuple[str, Request]] = field(default_factory=list)

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        self.sent.append((endpoint.host, request))
        await asyncio.sleep(0)
        said = self.say(endpoint.host, request)
        if isinstance(said, Exception):
            raise said
        return said

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(slots=True)
class DataCenter:
    """An emulated data center and a client of it."""

    emulator: Emulator
    client: Proxmox
    transport: ToEmulator


@asynccontextmanager
async def data_center(
    *,
    hosts: int = 3,
    credentials: Credentials | None = None,
    endpoints: tuple[str, ...] = ("pve1", "pve2", "pve3"),
    pace: Pace | None = None,
    world: World | None = None,
    metrics: ClientMetrics | None = None,
    version: str = "9.2.11",
) -> AsyncIterator[DataCenter]:
    """The demonstration data center, asked as root's token unless told otherwise; every request is checked."""
    world = world or virtual_world()
    datacenter = demo(world, hosts=hosts)
    datacenter.version = version
    emulator = Emulator(world, datacenter, pace)
    to_emulator = ToEmulator(emulator)
    facts = Facts(
        tuple(Endpoint(host) for host in endpoints[:hosts]),
        credentials or Token("root@pam!demo", secret(datacenter)),
        name="demo",
    )
    client = Proxmox(facts, world, transport=Valid(to_emulator, emulator.version), metrics=metrics)
    try:
        yield DataCenter(emulator, client, to_emulator)
    finally:
        await client.close()
        await emulator.close()
