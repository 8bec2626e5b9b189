"""Connections made the way `nagaya proxmox connect` makes them, without network or waiting: an emulated data center, an
embedded management API, and a process that can die at any call to either."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.apiserver.server import ApiServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.infrastructure.proxmox.client import Endpoint, Facts, Proxmox, Token, Trust
from nagaya.infrastructure.proxmox.client.transport import Answer, NotSent, Request
from nagaya.infrastructure.proxmox.connection.establishing.establish import Established, clear, establish
from nagaya.infrastructure.proxmox.connection.establishing.login import login
from nagaya.infrastructure.proxmox.connection.establishing.management import Management
from nagaya.infrastructure.proxmox.connection.establishing.plan import Asked, Plan, plan
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.setup import USUAL
from nagaya.kube import transport as kube
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.layouts.demo import PASSWORD, demo, secret
from nagaya.simulators.proxmox.state.access import Access
from nagaya.world import World
from support.prepared import start_prepared
from support.proxmox_transport import ToEmulator, Valid
from support.virtual_run import run, virtual_world

HOSTS = (Endpoint("pve1"), Endpoint("pve2"), Endpoint("pve3"))
SCOPE = Scope(pool="nagaya", storages=("local-lvm",), iso_storage="local", bridges=("vmbr0",))
NAMESPACE, NAME = "default", "proxmox"


class Died(Exception):
    """The process is no more."""


@dataclass(slots=True)
class Life:
    """How long a process lives: it dies at a call, before that is made or before its answer is read."""

    until: int | None = None
    answered: bool = False
    calls: int = 0

    def before(self) -> None:
        if self.until is not None and self.calls == self.until and not self.answered:
            raise Died
        if self.until is not None and self.calls > self.until:
            raise Died

    def after(self) -> None:
        self.calls += 1
        if self.until is not None and self.calls > self.until:
            raise Died


class _MortalProxmox(Valid):
    def __init__(self, inner: ToEmulator, version: str, life: Life, strangers: Collection[str] = frozenset()) -> None:
        super().__init__(inner, version)
        self._life = life
        self._strangers = strangers

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        self._life.before()
        if trust.authority is not None and endpoint.host in self._strangers:
            raise NotSent(f"the certificate of {endpoint} is not trusted: it is self-signed")
        known = not request.path.endswith("/certificates/info")  # PVE has it
        answer = await (super().send if known else self._inner.send)(endpoint, trust, request)
        self._life.after()
        return answer


class _MortalApi(InProcessTransport):
    def __init__(self, server: ApiServer, life: Life) -> None:
        super().__init__(server)
        self._life = life

    async def send(self, call: kube.Call) -> kube.Answer:
        self._life.before()
        answer = await super().send(call)
        self._life.after()
        return answer


@dataclass(slots=True)
class Office:
    """Where connections are made."""

    world: World
    emulator: Emulator
    client: Client
    """Of a user who looks."""
    reach: Callable[[Life], kube.Transport]
    """A process's way to the management API."""
    server: ApiServer | None = None
    """The management API, if it is an embedded one."""
    said: list[str] = field(default_factory=list)
    strangers: frozenset[str] = frozenset()
    """Hosts whose certificates the authority of the cluster did not sign."""

    @property
    def access(self) -> Access:
        return self.emulator.datacenter.access

    def connect(self, facts: Facts, life: Life | None = None) -> Proxmox:
        transport = _MortalProxmox(ToEmulator(self.emulator), self.emulator.version, life or Life(), self.strangers)
        return Proxmox(facts, self.world, transport=transport)

    def root(self) -> Proxmox:
        return self.connect(Facts(HOSTS, Token("root@pam!demo", secret(self.emulator.datacenter))))

    async def make(
        self,
        scope: Scope = SCOPE,
        *,
        features: tuple[Feature, ...] = USUAL,
        life: Life | None = None,
        managed: bool = True,
        **asked: Any,
    ) -> tuple[Plan, Established]:
        """All that the command does after it has asked."""
        life = life or Life()
        async with AsyncExitStack() as stack:
            api = Client(self.reach(life), world=self.world)
            stack.push_async_callback(api.close)
            management = Management(api, NAMESPACE, NAME) if managed else None
            wanted = Asked(HOSTS, Trust(insecure=True), scope, features, **asked)
            if management is not None:
                await management.read()
            transport = _MortalProxmox(ToEmulator(self.emulator), self.emulator.version, life)
            credentials = await login(transport, HOSTS[0], wanted.trust, "root@pam", PASSWORD)
            proxmox = self.connect(Facts(HOSTS, credentials, wanted.trust), life)
            stack.push_async_callback(proxmox.close)

            def connect(facts: Facts) -> Proxmox:
                return self.connect(facts, life)

            planned = await plan(wanted, proxmox, connect, management)
            done = await establish(planned, proxmox, connect, self.said.append, management)
            await clear(planned, proxmox, self.said.append, management)
            return planned, done

    async def planned(self, scope: Scope = SCOPE, **asked: Any) -> Plan:
        """What would be done."""
        management = Management(self.client, NAMESPACE, NAME)
        await management.read()
        root = self.root()
        try:
            return await plan(Asked(HOSTS, Trust(insecure=True), scope, **asked), root, self.connect, management)
        finally:
            await root.close()

    async def forget(self) -> None:
        """As if nothing had ever been made."""
        root = self.access.users["root@pam"]
        self.emulator.datacenter.access = Access(users={"root@pam": root})
        with suppress(NotFound):
            await self.client.delete(PROXMOX_CONNECTIONS, NAMESPACE, NAME)
        with suppress(NotFound):
            await self.client.delete(CREDENTIALS, NAMESPACE, NAME)

    def tokens(self, user: str = "nagaya@pve") -> list[str]:
        found = self.access.users.get(user)
        return [] if found is None else [f"{user}!{name}" for name in found.tokens]

    async def stored(self) -> Management:
        management = Management(self.client, NAMESPACE, NAME)
        await management.read()
        return management


@asynccontextmanager
async def office(version: str = "9.2.11") -> AsyncIterator[Office]:
    world = virtual_world()
    server = await start_prepared(world)
    datacenter = demo(world)
    datacenter.version = version
    emulator = Emulator(world, datacenter)
    client = Client(InProcessTransport(server), world=world, field_manager="test")
    try:
        yield Office(world, emulator, client, lambda life: _MortalApi(server, life), server)
    finally:
        await client.close()
        await emulator.close()
        await server.stop()


def play(scenario: Callable[[Office], Awaitable[None]], version: str = "9.2.11") -> None:
    """Run a scenario on virtual time."""

    async def main() -> None:
        async with office(version) as made:
            await scenario(made)

    run(main())


def without(scope: Scope, **changes: Any) -> Scope:
    """A scope that says something else."""
    return replace(scope, **changes)
