"""Connections to tenant clusters: one for each, made in the background, probed, and remade when credentials change.

Controllers ask for a tenant and get it or do not; nobody ever waits for one. Each tenant has a task of its own, so one
that hangs delays no other. What always holds: a `Remote` that `get` returns has answered a probe when it was made and
has not failed five in a row since; it is replaced as soon as its credentials are; and subscribers are told whenever any
of that changes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.calls import Told, nothing
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.errors import Unauthorized
from nagaya.kube.key import Key
from nagaya.kube.rate import RateLimit
from nagaya.kube.transport import Transport
from nagaya.world import World

log = logging.getLogger(__name__)

PROBE_INTERVAL: Final = 10.0
PROBE_TIMEOUT: Final = 5.0
PROBE_FAILURES: Final = 5
"""So many in a row, and the tenant counts as disconnected, which is worth a warning."""
FIRST_FAILURES: Final = 10
"""The same of a tenant that has never answered: while it comes up, that is as it should be."""
FIRST_RECONNECT: Final = 1.0
"""A control plane that is just starting refuses for seconds: first attempts follow soon, each after twice the time."""
RECONNECT_INTERVAL: Final = 30.0
"""How far apart attempts get."""
PROBE_GRACE: Final = 50.0
"""How old the last good probe may be before a tenant is called unreachable."""
CLOSE_TIMEOUT: Final = 5.0
TENANT_QPS: Final = 20.0
TENANT_BURST: Final = 30
TENANT_OBJECTS: Final = 50_000
"""Of a kind. Kubernetes is made for 5,000 Nodes; a hostile API must not fill the memory of all."""

Connect = Callable[[Connection], Transport]
Subscriber = Callable[[Key], None]


class Remote:
    """A tenant that can be reached: its client, and a cache of its own."""

    def __init__(self, key: Key, connection: Connection, client: Client, world: World) -> None:
        self.key = key
        self.connection = connection
        self.client = client
        self.cache = Cache(client, world)
        self._watches: set[str] = set()

    def watch(
        self,
        name: str,
        kind: Kind[Any],
        handler: Callable[[Change[Any]], None],
        *,
        labels: str = "",
        fields: str = "",
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        """Call a function for every object of a kind and every change. Once per name, for as long as this connection
        lasts: call it again with the next one."""
        if name in self._watches:
            return
        self._watches.add(name)
        if not self.cache.has(kind):
            self.cache.start(kind, labels=labels, fields=fields, transform=transform)
        self.cache.subscribe(kind, handler)


@dataclass(frozen=True, slots=True)
class Probe:
    """What is known of a tenant's health."""

    last_success: datetime | None = None
    failures: int = 0
    """How many probes have failed in a row."""
    problem: str = ""
    """Why it cannot be reached; empty if it can."""

    def fresh(self, now: datetime) -> bool:
        """Whether the tenant has answered within the grace."""
        return self.last_success is not None and (now - self.last_success).total_seconds() <= PROBE_GRACE


@dataclass(slots=True)
class _Tenant:
    key: Key
    connection: Connection | None = None
    wanted: bool = False
    remote: Remote | None = None
    probe: Probe = Probe()
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Remotes:
    """All tenants of this process."""

    def __init__(
        self,
        connect: Connect,
        world: World,
        *,
        guard: Callable[[], None] = nothing,
        field_manager: str = "nagaya",
        told: Told | None = None,
    ) -> None:
        self._connect = connect
        self._world = world
        self._guard = guard
        self._field_manager = field_manager
        self._told = told
        self._tenants: dict[Key, _Tenant] = {}
        self._subscribers: tuple[Subscriber, ...] = ()
        self._closed = False

    def get(self, key: Key) -> Remote | None:
        """A tenant, if it is connected at this moment."""
        tenant = self._tenants.get(key)
        return None if tenant is None else tenant.remote

    def connected(self) -> list[Remote]:
        """All tenants that are connected at this moment."""
        return [tenant.remote for tenant in self._tenants.values() if tenant.remote is not None]

    def wanted(self) -> list[Key]:
        """All tenants that somebody wants, connected or not."""
        return [tenant.key for tenant in self._tenants.values() if tenant.wanted]

    def probe(self, key: Key) -> Probe:
        """What is known of a tenant's health."""
        tenant = self._tenants.get(key)
        return Probe() if tenant is None else tenant.probe

    def subscribe(self, handler: Subscriber) -> Callable[[], None]:
        """Call a function with the key of a tenant that connects, disconnects, or whose probes change. Returns what
        ends that."""
        self._subscribers = (*self._subscribers, handler)

        def unsubscribe() -> None:
            self._subscribers = tuple(each for each in self._subscribers if each is not handler)

        return unsubscribe

    def want(self, key: Key) -> None:
        """Connect to a tenant as soon as there are credentials for it. Again: no effect."""
        tenant = self._tenant(key)
        if not tenant.wanted:
            tenant.wanted = True
            self._ensure(tenant)

    def forget(self, key: Key) -> None:
        """A tenant is gone, or not to be talked to any more. Its credentials are kept as long as they are offered."""
        tenant = self._tenants.get(key)
        if tenant is not None and tenant.wanted:
            tenant.wanted = False
            tenant.changed.set()
            self._release(tenant)

    def hurry(self, key: Key) -> None:
        """A tenant that could not be reached may answer by now: the next try is made at once."""
        tenant = self._tenants.get(key)
        if tenant is not None and tenant.remote is None:
            tenant.changed.set()

    def offer(self, key: Key, connection: Connection | None, problem: str = "") -> None:
        """The credentials of a tenant as they are now. Those that changed make the connection anew; None ends it."""
        tenant = self._tenant(key)
        if connection is None:
            tenant.probe = Probe(tenant.probe.last_success, tenant.probe.failures, problem)
            self._tell(key)
        if tenant.connection != connection:
            tenant.connection = connection
            tenant.changed.set()
            self._ensure(tenant)
        self._release(tenant)

    async def close(self) -> None:
        """Let go of all tenants."""
        self._closed = True
        tasks = [tenant.task for tenant in self._tenants.values() if tenant.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _tenant(self, key: Key) -> _Tenant:
        tenant = self._tenants.get(key)
        if tenant is None:
            tenant = self._tenants[key] = _Tenant(key)
        return tenant

    def _ensure(self, tenant: _Tenant) -> None:
        if tenant.task is None and tenant.wanted and tenant.connection is not None and not self._closed:
            tenant.task = asyncio.get_running_loop().create_task(self._serve(tenant), name=f"tenant {tenant.key}")

    def _release(self, tenant: _Tenant) -> None:
        """Remember nothing of a tenant that nobody wants and nobody has credentials for."""
        if tenant.task is None and not tenant.wanted and tenant.connection is None:
            self._tenants.pop(tenant.key, None)

    async def _serve(self, tenant: _Tenant) -> None:
        """Everything that happens with one tenant, until nobody wants it or it has no credentials."""
        try:
            while tenant.wanted and (connection := tenant.connection) is not None:
                tenant.changed.clear()
                try:
                    pause = await self._hold(tenant, connection)
                except Exception as error:
                    log.exception("tenant %s: unexpected", tenant.key)
                    self._failed(tenant, f"{type(error).__name__}: {error}")
                    pause = _pause(tenant.probe)
                if pause:
                    await self._wait(tenant, pause)
        finally:
            tenant.task = None
            self._release(tenant)

    async def _hold(self, tenant: _Tenant, connection: Connection) -> float:
        """Connect, and stay connected for as long as that goes well. Returns how long to wait before the next try."""
        try:
            transport = self._connect(connection)
        except Exception as error:
            self._failed(tenant, f"{type(error).__name__}: {error}")
            return _pause(tenant.probe)
        client = Client(
            transport,
            world=self._world,
            limit=RateLimit(TENANT_QPS, TENANT_BURST, self._world.clock),
            guard=self._guard,
            field_manager=self._field_manager,
            told=self._told,
            most_objects=TENANT_OBJECTS,
        )
        try:
            if not await self._probe(tenant, client) or tenant.changed.is_set():
                return 0.0 if tenant.changed.is_set() else _pause(tenant.probe)
            remote = tenant.remote = Remote(tenant.key, connection, client, self._world)
            log.info("tenant %s: connected", tenant.key)
            self._tell(tenant.key)
            try:
                return await self._stay(tenant, client)
            finally:
                tenant.remote = None
                log.info("tenant %s: disconnected", tenant.key)
                self._tell(tenant.key)
                await remote.cache.close()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT):
                    await client.close()

    async def _stay(self, tenant: _Tenant, client: Client) -> float:
        while True:
            if await self._wait(tenant, PROBE_INTERVAL):
                return 0.0
            try:
                well = await self._probe(tenant, client)
            except Unauthorized:
                # Credentials are often renewed: whatever is offered by now is tried at once.
                return 0.0
            if not well and tenant.probe.failures >= PROBE_FAILURES:
                return RECONNECT_INTERVAL

    async def _probe(self, tenant: _Tenant, client: Client) -> bool:
        connected = tenant.remote is not None
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                # Without the limit: a busy tenant is not a sick one.
                await client.unguarded().raw("GET", "/", timeout=PROBE_TIMEOUT)
        except TimeoutError:
            self._failed(tenant, f"no answer to GET / within {PROBE_TIMEOUT:g} s")
            return False
        except Unauthorized as error:
            self._failed(tenant, str(error))
            if connected:
                raise
            return False
        except Exception as error:
            self._failed(tenant, str(error) or type(error).__name__)
            return False
        recovered = bool(tenant.probe.failures)
        tenant.probe = Probe(self._world.clock.now())
        if recovered:
            self._tell(tenant.key)
        return True

    def _failed(self, tenant: _Tenant, problem: str) -> None:
        before = tenant.probe
        failures = before.failures + 1
        if failures == (FIRST_FAILURES if before.last_success is None else PROBE_FAILURES):
            log.warning("tenant %s: cannot be reached, %d times in a row: %s", tenant.key, failures, problem)
        elif before.problem != problem:
            log.info("tenant %s: cannot be reached: %s", tenant.key, problem)
        tenant.probe = Probe(before.last_success, failures, problem)
        self._tell(tenant.key)

    async def _wait(self, tenant: _Tenant, seconds: float) -> bool:
        """Wait, but no longer than until something about the tenant changes: then True."""
        try:
            async with asyncio.timeout(seconds):
                await tenant.changed.wait()
        except TimeoutError:
            return False
        return True

    def _tell(self, key: Key) -> None:
        for subscriber in self._subscribers:
            try:
                subscriber(key)
            except Exception:
                log.exception("tenant %s: a subscriber failed", key)


def _pause(probe: Probe) -> float:
    """How long to wait after so many failures in a row."""
    return min(FIRST_RECONNECT * 2.0 ** min(probe.failures - 1, 10), RECONNECT_INTERVAL)
