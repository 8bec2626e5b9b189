"""A server on which several address controllers work, die, lag and come back, and a census that misses nothing.

There is no admission and no leader election: pools may overlap, and two processes may work at the same time, each on a
cache of its own that may be behind. Whatever they do, the server's own history of IPAddresses is what counts.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from nagaya.api.cluster import cluster
from nagaya.api.crd import render
from nagaya.api.ipam.global_in_cluster_ip_pool import GLOBAL_IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.ip_address import IP_ADDRESSES, IPAddress
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.ipam.ip_address_reservation import IP_ADDRESS_RESERVATIONS, IPAddressReservation
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import Plane, install
from nagaya.kube.client import Client
from nagaya.kube.errors import AlreadyExists, Conflict, Expired, NotFound
from nagaya.kube.http import HttpTransport
from nagaya.kube.patches import Apply, Merge
from nagaya.kube.transport import Answer, Call, StreamAnswer, Transport
from nagaya.world import World
from support.crashes import Mortal
from support.ipam import Manifest
from support.lab import NAMESPACES
from support.unruly import Unruly, Weather
from support.virtual_run import virtual_world

DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
KINDS: dict[str, Kind[Any]] = {
    each.kind: each
    for each in (IN_CLUSTER_IP_POOLS, GLOBAL_IN_CLUSTER_IP_POOLS, IP_ADDRESS_CLAIMS, IP_ADDRESSES, cluster.CLUSTERS)
}
PATIENCE = 900.0
SLOWEST = 0.05
"""Seconds that a call may take to arrive, and its answer to come back."""
TOLERANCE = 0.5
"""Seconds by which the census may hear of a deletion before the ledger does."""


@dataclass
class Census:
    """Who has which address, from the server's own history."""

    world: World
    grace: float
    present: dict[tuple[str, str], IPAddress] = field(default_factory=dict)
    left: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)
    """When an address was last given back, and by which claim, by side and address."""
    complaints: list[str] = field(default_factory=list)
    births: int = 0

    def hear(self, type: str, address: IPAddress) -> None:
        key = (address.metadata.namespace, address.metadata.name)
        side = _side(address)
        if type == "DELETED":
            self.present.pop(key, None)
            self.left[side, address.spec.address] = (self.world.clock.monotonic(), _claim(address))
            return
        if key not in self.present:
            self.births += 1
            self._judge(key, side, address)
        self.present[key] = address

    def recount(self, addresses: list[IPAddress]) -> None:
        """Go on from what there is, when the history was lost."""
        now = {(each.metadata.namespace, each.metadata.name): each for each in addresses}
        for key, each in [*self.present.items()]:
            if key not in now or now[key].metadata.uid != each.metadata.uid:
                self.hear("DELETED", each)
        for each in addresses:
            self.hear("ADDED", each)

    def _judge(self, key: tuple[str, str], side: str, address: IPAddress) -> None:
        for other, held in self.present.items():
            same = held.spec.address == address.spec.address
            if same and (side == _side(held) or "" in (side, _side(held))):
                self.complaints.append(f"{address.spec.address} of {key} is {other}'s already")
        moment, claim = self.left.get((side, address.spec.address), (-PATIENCE, ""))
        ago = self.world.clock.monotonic() - moment
        if ago < self.grace - TOLERANCE and claim != _claim(address):
            self.complaints.append(f"{address.spec.address} was given to {key} {ago:.1f} s after its release")


class Slow:
    """A way to the server that takes its time, before a call takes effect and after, so that calls overtake others."""

    def __init__(self, inner: Transport, chance: random.Random) -> None:
        self._inner = inner
        self._random = chance

    async def send(self, call: Call) -> Answer:
        await asyncio.sleep(self._random.uniform(0, SLOWEST))
        answer = await self._inner.send(call)
        await asyncio.sleep(self._random.uniform(0, SLOWEST))
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        async with self._inner.stream(call) as answer:
            yield answer

    async def close(self) -> None:
        await self._inner.close()


@dataclass
class Process:
    """The controllers of one process."""

    mortal: Mortal
    plane: Plane

    async def end(self) -> None:
        """Let it die, if it is not dead yet."""
        self.mortal.death.set()
        await self.plane.stop()


class Town:
    """The server, and whoever works on it."""

    def __init__(self, grace: float = 60.0) -> None:
        self.world = virtual_world()
        self.grace = grace
        self.processes: list[Process] = []

    async def open(self) -> None:
        """Start the server, and begin to count."""
        self.server = await ApiServer.start(Config(), self.world)
        self.client = Client(InProcessTransport(self.server), world=self.world, field_manager="test")
        await install(self.client, ("ipam",))
        content = render(cluster.DEFINITION)
        await self.client.patch(DEFINITIONS, "", content["metadata"]["name"], Apply(content, "test", force=True))
        self.census = Census(self.world, self.grace)
        begin = (await self.client.list(IP_ADDRESSES)).resource_version
        self._counting = asyncio.create_task(self._count(begin))

    async def close(self) -> None:
        """End everything."""
        await self.end()
        self._counting.cancel()
        await asyncio.gather(self._counting, return_exceptions=True)
        await self.client.close()
        await self.server.stop()

    async def _count(self, resource_version: str) -> None:
        while True:
            try:
                async for event in self.client.watch(IP_ADDRESSES, resource_version=resource_version):
                    resource_version = event.resource_version
                    if event.object is not None and event.type != "BOOKMARK":
                        self.census.hear(event.type, event.object)
            except Expired:
                listing = await self.client.list(IP_ADDRESSES)
                self.census.recount(listing.items)
                resource_version = listing.resource_version

    async def process(self, seed: int | None = None) -> Process:
        """Start another process; with a seed, one with a bad connection. All are slow."""
        inner: Transport = Slow(InProcessTransport(self.server), random.Random(seed or 0))
        if seed is not None:
            inner = Unruly(inner, Weather(self.server, seed))
        mortal = Mortal(inner)
        plane = Plane(mortal, self.world, lambda tenant: HttpTransport(tenant, world=self.world), parts=("ipam",))
        await plane.start()
        self.processes.append(Process(mortal, plane))
        return self.processes[-1]

    async def end(self) -> None:
        """Let all processes die."""
        for each in self.processes:
            await each.end()
        self.processes.clear()

    async def bury(self) -> None:
        """Stop what is dead."""
        for each in [each for each in self.processes if each.mortal.dead]:
            await each.end()
            self.processes.remove(each)

    async def namespace(self, name: str) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": name}})

    async def create(self, *manifests: Manifest) -> None:
        """Create objects, unless they are there."""
        for each in manifests:
            with suppress(AlreadyExists):
                await self.client.create(KINDS[each["kind"]], each)

    async def merge(self, kind: str, namespace: str, name: str, content: Manifest) -> None:
        with suppress(NotFound):
            await self.client.patch(KINDS[kind], namespace, name, Merge(content))

    async def delete(self, kind: str, namespace: str, name: str) -> None:
        with suppress(NotFound):
            await self.client.delete(KINDS[kind], namespace, name)

    async def vanish(self, kind: str, namespace: str, name: str) -> None:
        """Delete an object by force, whoever wants to keep it."""
        with suppress(NotFound, Conflict):
            await self.client.delete(KINDS[kind], namespace, name)
            await self.client.patch(KINDS[kind], namespace, name, Merge({"metadata": {"finalizers": None}}))

    async def all(self, kind: str, namespace: str = "") -> list[Any]:
        return (await self.client.list(KINDS[kind], namespace)).items

    async def entries(self, namespaces: tuple[str, ...]) -> list[IPAddressReservation]:
        """The entries of the ledger that claims of some namespaces have, or had last."""
        found = (await self.client.list(IP_ADDRESS_RESERVATIONS)).items
        return [each for each in found if each.spec.claim_ref.namespace in namespaces]

    async def until(self, what: str, check: Callable[[], Awaitable[bool]], patience: float = PATIENCE) -> None:
        """Wait until something holds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + patience
        while not await check():
            errors = [dict(each.errors) for process in self.processes for each in process.plane.manager.controllers]
            assert loop.time() < end, f"after {patience:g} s not yet: {what}; {errors}"
            await asyncio.sleep(1.0)


def _side(address: IPAddress) -> str:
    """Whose addresses are of one network: those of a namespace, or everybody's."""
    return address.metadata.namespace if address.spec.pool_ref.kind == IN_CLUSTER_IP_POOLS.kind else ""


def _claim(address: IPAddress) -> str:
    controller = address.metadata.controller
    return "" if controller is None else controller.uid
