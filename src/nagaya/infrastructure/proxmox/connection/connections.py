"""The clients of all data centers that this process talks to: the registry that every controller gets them from.

What always holds:

- References with the same endpoints, credentials and trust share one client, hence one inventory, one set of circuit
  breakers and one watch over tasks, however many clusters there are.
- A Secret that changes takes effect with the next `get`: the client stays the same if only its credentials are others,
  so nothing that runs is lost.
- Nothing is asked of Proxmox VE by `get`. `examined` asks, at most once per hour unless something was refused since,
  and once for all who wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from nagaya.api.proxmox.conditions import ProxmoxClusterReason
from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS, ConnectionDefaults
from nagaya.api.proxmox.proxmox_virtual_machine import NamespacedConnectionReference
from nagaya.infrastructure.proxmox.client import ClientMetrics, Facts, Proxmox
from nagaya.infrastructure.proxmox.client.errors import Forbidden
from nagaya.infrastructure.proxmox.client.transport import Transport
from nagaya.infrastructure.proxmox.connection.findings import Findings, find
from nagaya.infrastructure.proxmox.connection.reference import NoConnection, Reference, read_reference, reference_of
from nagaya.infrastructure.proxmox.connection.secrets import follow_credentials
from nagaya.infrastructure.proxmox.connection.source import Source, facts_of, is_watched, source_of, version_of
from nagaya.infrastructure.proxmox.privileges.missing import Missing
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.preflight import Preflight
from nagaya.infrastructure.proxmox.privileges.refusal import Refusal, lacking
from nagaya.kube.cache.cache import Cache
from nagaya.kube.calls import nothing
from nagaya.kube.client import Client
from nagaya.world import World

PREFLIGHT: Final = 3600.0
"""Seconds after which privileges are looked at again."""
REMEMBERED: Final = 900.0
"""Seconds for which a refusal counts that does not come again. What waits after one is tried more often than that."""
REFUSALS: Final = 16
"""How many of them: each has a question asked at every look."""
UNWATCHED: Final = 60.0
"""Seconds after which something is read again that nobody tells of."""

Refused = Callable[[Reference], None]


@dataclass(frozen=True, slots=True)
class Connected:
    """A way to Proxmox VE, as it is at this moment. To be got anew for each reconcile."""

    reference: Reference
    proxmox: Proxmox
    pool: str = ""
    """Where machines are put that say nothing themselves."""
    defaults: ConnectionDefaults = field(default_factory=ConnectionDefaults)
    findings: Findings | None = None
    """None if nobody has asked yet."""
    known_as: str = ""
    """Which Proxmox VE it was when it was first seen, as the ProxmoxConnection says."""
    credentials_in: str = ""
    """The namespace of the Secret with the credentials."""

    @property
    def datacenter(self) -> str:
        """Which Proxmox VE it is; empty if that is not known (yet)."""
        return self.known_as or ("" if self.findings is None else self.findings.datacenter)

    @property
    def is_another(self) -> bool:
        """Whether the endpoints lead to another Proxmox VE than they did: VMs there are not ours."""
        found = "" if self.findings is None else self.findings.datacenter
        return bool(self.known_as and found and found != self.known_as)

    @property
    def scope(self) -> Scope:
        """What the connection works with."""
        defaults = self.defaults
        return Scope(
            pool=self.pool,
            storages=(defaults.storage,) if defaults.storage else (),
            iso_storage=defaults.iso_storage,
            bridges=(defaults.bridge,) if defaults.bridge else (),
        )

    @property
    def preflight(self) -> Preflight | None:
        """What the credentials are good for; None if nobody has asked yet."""
        return None if self.findings is None else self.findings.preflight(self.scope)

    @property
    def missing(self) -> tuple[Missing, ...]:
        """What the credentials lack, as far as is known: by the preflight, and by what was refused since."""
        found, checked = self.findings, self.preflight
        if found is None or checked is None:
            return ()
        return lacking(checked.missing, found.refusals, found.version.release, found.subject)


@dataclass(slots=True)
class _Shared:
    """A client, and what was found with it."""

    proxmox: Proxmox
    users: set[Reference] = field(default_factory=set)
    findings: Findings | None = None
    """The last that there were: what a data center is does not change while it is away."""
    doubted: bool = False
    """Whether something was refused since, or the credentials are others."""
    refusals: dict[Refusal, float] = field(default_factory=dict)
    """What was refused, and when last."""
    asking: asyncio.Task[Findings] | None = None


@dataclass(slots=True)
class _Known:
    """What was read for a reference."""

    version: tuple[str, ...]
    read_at: float
    shared: _Shared
    identity: Facts


class Connections:
    """All of them. One for all controllers of a process."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        world: World,
        *,
        transport: Callable[[], Transport] | None = None,
        metrics: ClientMetrics | None = None,
        guard: Callable[[], None] = nothing,
    ) -> None:
        """`transport` makes ways to hosts: HTTPS unless told otherwise. `guard` is called before something is changed
        in Proxmox VE, and raises if this process may not."""
        self._client = client
        self._cache = cache
        self._world = world
        self._transport = transport
        self._metrics = metrics or ClientMetrics()
        self._guard = guard
        self._shared: dict[Facts, _Shared] = {}
        self._known: dict[Reference, _Known] = {}
        self._locks: dict[Reference, asyncio.Lock] = {}
        self._listeners: list[Refused] = []
        if not cache.has(PROXMOX_CONNECTIONS):
            cache.start(PROXMOX_CONNECTIONS)
        follow_credentials(cache)

    async def of(self, cluster: ProxmoxCluster) -> Connected:
        """The way to the Proxmox VE of a cluster. Raises NoConnection, whose text is a sentence for a condition."""
        return _same(await self.get(reference_of(self._cache, cluster)))

    async def at(self, written: NamespacedConnectionReference, used_in: str) -> Connected:
        """The way that a reservation names, whose machine is in a namespace. Raises NoConnection."""
        return _same(await self.get(read_reference(written, used_in)))

    async def get(self, reference: Reference) -> Connected:
        """The way that a reference means. Raises NoConnection."""
        async with self._locks.setdefault(reference, asyncio.Lock()):
            try:
                source = source_of(self._cache, reference)
                known = await self._read(reference, source)
            except NoConnection:
                await self.forget(reference)
                raise
        findings = known.shared.findings
        return Connected(
            reference,
            known.shared.proxmox,
            source.pool,
            source.defaults,
            findings,
            source.known_as,
            source.secret.namespace,
        )

    async def examined(
        self, reference: Reference, max_age: float = PREFLIGHT, *, any_datacenter: bool = False
    ) -> Connected:
        """The same with findings that are not older than that. Raises NoConnection and ProxmoxError.

        A way that leads to another data center than before is none, unless `any_datacenter` says that it is only to be
        looked at.
        """
        connected = await self.get(reference)
        shared = self._known[reference].shared
        now = self._world.clock.monotonic()
        if shared.findings is None or shared.doubted or now - shared.findings.moment >= max_age:
            asking = shared.asking
            if asking is None or asking.done():
                asking = shared.asking = asyncio.get_running_loop().create_task(
                    find(shared.proxmox, _recent(shared.refusals, now))
                )
                asking.add_done_callback(_heard)
            found = await asyncio.shield(asking)
            if shared.asking is asking:  # else the credentials have changed meanwhile
                shared.findings, shared.doubted = found, False
                # One that came while PVE was asked is not in the answer, and stays.
                shared.refusals = {
                    each: moment
                    for each, moment in shared.refusals.items()
                    if each in found.refusals or moment >= found.moment
                }
            connected = replace(connected, findings=found)
        return connected if any_datacenter else _same(connected)

    def refused(self, reference: Reference, error: Forbidden | None = None) -> None:
        """Proxmox VE refused something for want of a right: have privileges looked at again now, among them those that
        it named."""
        known = self._known.get(reference)
        if known is not None:
            known.shared.doubted = True
            if error is not None and error.path and error.privileges:
                refusal = Refusal(error.path, error.privileges)
                known.shared.refusals.pop(refusal, None)
                known.shared.refusals[refusal] = self._world.clock.monotonic()
        for listener in self._listeners:
            listener(reference)

    def on_refusal(self, listener: Refused) -> None:
        """Have somebody told of `refused`."""
        self._listeners.append(listener)

    async def forget(self, reference: Reference) -> None:
        """Nobody asks by this reference any more."""
        known = self._known.pop(reference, None)
        if known is not None:
            await self._leave(reference, known)

    async def close(self) -> None:
        """End all that runs, and let go of every connection."""
        shared = [*self._shared.values()]
        self._shared.clear()
        self._known.clear()
        await asyncio.gather(*(_close(each) for each in shared))

    async def _read(self, reference: Reference, source: Source) -> _Known:
        known = self._known.get(reference)
        version = version_of(self._cache, source)
        now = self._world.clock.monotonic()
        # What the cache does not show may be outside of the namespaces that it follows.
        told = is_watched(source) and all(version[1:])
        patience = 0.0 if source.is_foreign else UNWATCHED  # a grant that is withdrawn counts at once
        if known is not None and known.version == version and (told or now - known.read_at < patience):
            return known
        facts = await facts_of(self._client, reference, source)
        shared, identity = self._share(reference, facts), replace(facts, name="")
        self._known[reference] = made = _Known(version, now, shared, identity)
        if known is not None and known.shared is not shared:
            await self._leave(reference, known)
        return made

    def _share(self, reference: Reference, facts: Facts) -> _Shared:
        """The client for these facts: one that is there, the old one with other credentials, or a new one."""
        identity = replace(facts, name="")
        known = self._known.get(reference)
        shared = self._shared.get(identity)
        if shared is None and known is not None and _may_stay(known, identity, reference):
            shared = known.shared
            del self._shared[known.identity]
            shared.proxmox.replace(facts)
            shared.doubted, shared.asking = True, None
            self._shared[identity] = shared
        if shared is None:
            transport = None if self._transport is None else self._transport()
            proxmox = Proxmox(facts, self._world, transport=transport, metrics=self._metrics, guard=self._guard)
            shared = self._shared[identity] = _Shared(proxmox)
        shared.users.add(reference)
        return shared

    async def _leave(self, reference: Reference, known: _Known) -> None:
        known.shared.users.discard(reference)
        if not known.shared.users and self._shared.get(known.identity) is known.shared:
            del self._shared[known.identity]
            await _close(known.shared)


def _same(connected: Connected) -> Connected:
    if connected.is_another:
        raise NoConnection(
            ProxmoxClusterReason.CONNECTION_NOT_READY,
            f"{connected.reference} leads to another Proxmox VE than {connected.known_as}, where its machines are: "
            "correct its endpoints.",
        )
    return connected


def _may_stay(known: _Known, identity: Facts, reference: Reference) -> bool:
    """Whether a client can go on with other facts: nobody else has it, and it leads to the same hosts."""
    return known.shared.users == {reference} and known.identity.endpoints == identity.endpoints


def _recent(refusals: dict[Refusal, float], now: float) -> list[Refusal]:
    """Those that still count, the last ones if there are many."""
    return [each for each, moment in refusals.items() if now - moment < REMEMBERED][-REFUSALS:]


async def _close(shared: _Shared) -> None:
    if shared.asking is not None:
        shared.asking.cancel()
        await asyncio.gather(shared.asking, return_exceptions=True)
    await shared.proxmox.close()


def _heard(asking: asyncio.Task[Findings]) -> None:
    """Those who wait hear of a failure; when all of them have gone, nobody has to."""
    if not asking.cancelled():
        asking.exception()
