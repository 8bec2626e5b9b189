"""One run of `proxmox.py`, in a process of its own: a cluster on an emulated data center gets many workers at once.

The whole plane is in the process: API server, all controllers, the data center with the times of a modest real one, and
clusters on its machines, so that each becomes a Node. On virtual time only waiting takes time, so it shows what is lost
by looking too late; what the computing costs is told in seconds of CPU. On the machine's own time the data center is
reached over HTTPS. One JSON document on standard input says what to do; one on standard output tells how it went.
"""

from __future__ import annotations

import asyncio
import base64
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the data center and the manifests are those of the tests
sys.path.insert(0, str(HERE))

from core_load import Counted
from nagaya.address_policy import POLICY, parse
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.api.untyped import Untyped
from nagaya.cli import heap
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import Plane
from nagaya.infrastructure.proxmox.client.http import HttpTransport
from nagaya.infrastructure.proxmox.client.transport import Transport
from nagaya.kube.cache.change import Change
from nagaya.kube.client import Client
from nagaya.kube.patches import Merge
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.guests.backend import Machine as Guest
from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.proxmox.guests.tenants import TenantGuests
from nagaya.simulators.proxmox.pace import realistic
from nagaya.simulators.proxmox.web.web import served
from nagaya.world import World
from proxmox_floor import IdealClient
from support.lab import KINDS, holds
from support.passing_time import PassingLoop
from support.prepared import start_prepared
from support.proxmox_request_log import RequestLog
from support.proxmox_town import PARTS
from support.proxmox_town_layout import OLD, TOKEN, secret, town_layout
from support.proxmox_town_manifests import Shop
from support.proxmox_town_ways import to_clusters
from support.proxmox_transport import ToEmulator, Valid
from support.virtual_run import virtual_world

SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)
ADDRESSES = {"addresses": ["10.0.1.0-10.0.9.255"], "prefix": 16, "gateway": "10.0.0.1"}
WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE")
REST = 600.0
"""Virtual seconds for which a cluster at rest is watched."""


@dataclass(slots=True)
class Order:
    """What to do."""

    machines: int
    hosts: int
    full: bool = True
    """Whether disks are copied. If not, they are linked to the template's."""
    wall: bool = False
    """On the time of this machine, and over HTTPS."""
    patience: float = 7200.0


@dataclass(slots=True)
class Course:
    """What happened."""

    floor: float = 0.0
    """Seconds that an ideal client takes until all are up."""
    made: float = 0.0
    """Seconds until all ProxmoxMachines are provisioned."""
    available: float = 0.0
    """Seconds until all Machines are Available."""
    gone: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    requests: dict[str, int] = field(default_factory=dict)
    """To Proxmox VE, by route, until all is as it will stay."""
    closest: dict[str, float] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    writes: dict[str, int] = field(default_factory=dict)
    """To the management API."""
    rest_requests: dict[str, int] = field(default_factory=dict)
    """To Proxmox VE, in `REST` seconds in which nothing happens."""
    rest_writes: dict[str, int] = field(default_factory=dict)
    gone_requests: dict[str, int] = field(default_factory=dict)


class Moments:
    """When the last machine got so far."""

    def __init__(self, plane: Plane) -> None:
        self._made: dict[str, float] = {}
        self._available: dict[str, float] = {}
        self._left: set[str] = set()
        self._news = asyncio.Event()
        cache = plane.manager.cache
        cache.subscribe(PROXMOX_MACHINES, self._infrastructure)
        cache.subscribe(MACHINES, self._machine)

    def _infrastructure(self, change: Change[ProxmoxMachine]) -> None:
        uid = change.object.metadata.uid
        if change.new is None:
            self._left.discard(uid)
        else:
            self._left.add(uid)
            if change.new.status.initialization.provisioned:
                self._made.setdefault(uid, asyncio.get_running_loop().time())
        self._news.set()

    def _machine(self, change: Change[Machine]) -> None:
        if change.new is not None and holds(change.new, "Available"):
            self._available.setdefault(change.object.metadata.uid, asyncio.get_running_loop().time())
            self._news.set()

    async def all_available(self, count: int) -> tuple[float, float]:
        """Wait until so many are. When the last was made, and when it was Available."""
        await self._until(lambda: len(self._available) >= count and len(self._made) >= count)
        return max(self._made.values()), max(self._available.values())

    async def all_gone(self, left: int) -> float:
        """Wait until only so many are left."""
        await self._until(lambda: len(self._left) <= left)
        return asyncio.get_running_loop().time()

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._news.clear()
            await self._news.wait()


@dataclass(slots=True)
class Run:
    """A plane on a data center."""

    order: Order
    user: Client
    plane: Plane
    emulator: Emulator
    log: RequestLog
    api: Counter[str]
    shop: Shop

    async def measure(self, manifests: list[dict[str, Any]]) -> Course:
        """The cluster gets its machines, rests, and loses them again."""
        order, course, loop = self.order, Course(), asyncio.get_running_loop()
        course.floor = await floor(order)
        moments = Moments(self.plane)
        await self.plane.start()
        for content in manifests:
            await self.user.create(KINDS.get(content["kind"], SECRETS), content)
        await moments.all_available(1)
        await asyncio.sleep(5 if order.wall else REST)
        self._forget()
        begun, cpu = loop.time(), time.process_time()
        await self._scale(order.machines)
        made, available = await moments.all_available(order.machines + 1)
        await self._boot_data_removed()
        course.cpu = time.process_time() - cpu
        course.made, course.available = made - begun, available - begun
        course.requests, course.closest = dict(self.log.counts()), self.log.closest()
        course.broken, course.writes = self.log.broken_promises(), self._writes()
        if not order.wall:
            await asyncio.sleep(REST)
            self._forget()
            await asyncio.sleep(REST)
            course.rest_requests, course.rest_writes = dict(self.log.counts()), self._writes()
            course.broken += self.log.broken_promises()
        self._forget()
        begun = loop.time()
        await self._scale(0)
        course.gone = await moments.all_gone(1) - begun
        course.gone_requests = dict(self.log.counts())
        course.broken += self.log.broken_promises()
        course.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return course

    async def _scale(self, workers: int) -> None:
        kind, name = KINDS["MachineDeployment"], self.shop.deployment
        await self.user.patch(kind, self.shop.namespace, name, Merge({"spec": {"replicas": workers}}))

    async def _boot_data_removed(self) -> None:
        """The CD images are the last that is done for a machine."""
        volumes = self.emulator.datacenter.volumes
        while any("user-data-" in each.name for each in volumes.values()):  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(1)

    def _forget(self) -> None:
        self.log.asked.clear()
        self.api.clear()

    def _writes(self) -> dict[str, int]:
        return {name: count for name, count in self.api.items() if name.startswith(WRITES) and " events" not in name}


def new_emulator(world: World, order: Order) -> Emulator:
    """The data center, as it is before anything is made there."""
    return Emulator(world, town_layout(world, hosts=order.hosts), realistic())


async def floor(order: Order) -> float:
    """What an ideal client takes on a data center of the same kind; always on the loop's time."""
    world = virtual_world()
    emulator = new_emulator(world, order)
    datacenter = emulator.datacenter
    tag = f"kubernetes-{OLD}"
    templates = {
        each.node: each.vmid for each in datacenter.guests.values() if each.template and each.config["tags"] == tag
    }
    try:
        return await IdealClient(emulator, templates, order.full, b"#cloud-config\n{}\n").make(order.machines)
    finally:
        await emulator.close()


def shop_of(order: Order, endpoints: list[str]) -> tuple[Shop, list[dict[str, Any]]]:
    """The cluster, with a control plane and no workers yet."""
    shop = Shop(workers=0, machine={"full": order.full}, infrastructure={"ipv4Config": ADDRESSES})
    # Without the health check: machines that wait for their turn longer than it is patient would be replaced.
    manifests = [each for each in shop.manifests() if each["kind"] != "MachineHealthCheck"]
    manifests[0]["spec"]["endpoints"] = endpoints
    return shop, manifests


def _version(_: Guest) -> str:
    return OLD


@asynccontextmanager
async def ways(order: Order, emulator: Emulator) -> AsyncIterator[tuple[Callable[[], Transport], list[str]]]:
    """How the hosts are reached, and where."""
    if not order.wall:
        yield lambda: Valid(ToEmulator(emulator)), ["pve1", "pve2", "pve3"]
        return
    async with served(emulator) as web:
        POLICY.allow(parse("127.0.0.1"))
        yield HttpTransport, list(web.endpoints.values())


async def main(order: Order) -> dict[str, Any]:
    """Do what is ordered."""
    world = World() if order.wall else virtual_world()
    server = await start_prepared(world)
    emulator = new_emulator(world, order)
    clusters = Clusters(world)
    emulator.machines.backend = TenantGuests(world, emulator.pace, clusters, version_of=_version)
    log = RequestLog(world.clock.monotonic)
    api: Counter[str] = Counter()
    user = Client(InProcessTransport(server), world=world, field_manager="user")
    async with ways(order, emulator) as (way, endpoints):
        shop, manifests = shop_of(order, endpoints)
        data = {"token": TOKEN, "secret": secret(emulator.datacenter)}
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        credentials = {"kind": "Secret", "metadata": {"name": "pve", "namespace": shop.namespace}, "data": encoded}
        plane = Plane(
            Counted(InProcessTransport(server), api),
            world,
            to_clusters(clusters),
            parts=PARTS,
            tenant_ports=False,
            proxmox=lambda: log.around(way()),
            dialers=to_clusters(clusters),
        )
        run = Run(order, user, plane, emulator, log, api, shop)
        try:
            async with asyncio.timeout(order.patience):
                course = await run.measure([credentials, *manifests])
        except TimeoutError:
            raise SystemExit(f"not done after {order.patience:g} s:\n{story(plane)}") from None
        finally:
            await plane.stop()
            await user.close()
            await emulator.close()
            await server.stop()
    return asdict(course)


def story(plane: Plane) -> str:
    """What machines that are not made say of themselves."""
    late = [
        each
        for each in plane.manager.cache.list(PROXMOX_MACHINES)
        if not each.status.initialization.provisioned
    ]  # fmt: skip
    lines = [f"{len(late)} machines are not made"]
    for machine in late[:5]:
        lines += [f"{machine.metadata.name} {each.type}: {each.message}" for each in machine.status.conditions]
    for controller in plane.manager.controllers:
        lines += [f"{controller.name} {key}: {why}" for key, why in [*controller.errors.items()][:3]]
    return "\n".join(lines)


def start() -> None:
    """Read the order, do it, tell."""
    order = Order(**json.load(sys.stdin))
    heap.settle()
    with asyncio.Runner(loop_factory=None if order.wall else PassingLoop) as runner:
        json.dump(runner.run(main(order)), sys.stdout)


if __name__ == "__main__":
    start()
