"""Where a story is played: a management API, all controllers, a data center and the clusters on its machines, and a
computer on which hosted control planes run, all on one event loop and on virtual time.

The controllers are a process that may be killed at any moment; somebody starts it again a little later. Everything else
lives on. Nothing here depends on anything but the seed: not on the machine, nor on what was played before.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from unittest import mock

import orjson

from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer
from nagaya.apiserver.storage import Store
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import HOSTED, Plane
from nagaya.controlplane.hosted.data_store import etcd as etcd_driver
from nagaya.controlplane.hosted.data_store import managed_etcd
from nagaya.controlplane.hosted.host import addresses
from nagaya.infrastructure.proxmox.client.transport import Transport as HostTransport
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.proxmox.guests.tenants import TenantGuests
from nagaya.simulators.proxmox.layouts.demo import secret as root_secret
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.request import Request
from nagaya.simulators.tenant.shared import Shared
from support.crashes import Mortal
from support.lab import NODES, SECRETS
from support.plane.api_way import ApiWay, DialingWay
from support.plane.blunders import Blunders
from support.plane.host_way import HostWay
from support.plane.machine_room import MachineRoom
from support.plane.prepared_keys import PreparedKeys, prepared_authority
from support.plane.room_host import RoomHost
from support.plane.store_room import StoreWay, client_over
from support.plane.watchman import Watchman
from support.plane.weather import Way, Weather
from support.plane.wish import CLUSTERS, NAMESPACE, Wish, shared_pool
from support.prepared import start_prepared, tenant_seed
from support.proxmox_town import PARTS, Town, kubelet_version
from support.proxmox_town_layout import TOKEN, foreign, secret, town_layout
from support.proxmox_town_ways import to_clusters
from support.proxmox_transport import ToEmulator
from support.virtual_run import virtual_world

ALL: Final = (*PARTS, HOSTED, "addons")
MEMORY: Final = Path("/dev/shm")
"""Where files cost no disk, if this machine has such a place. Each story has a folder of its own in it."""
HOSTED_TABLE: Final = "controlplane.cluster.x-k8s.io/hostedcontrolplanes"
PACE: Final = Pace(upload_per_mib=0.0)
"""How long boot data take to upload must not depend on the length of a signature, which is by chance."""
HOSTS: Final = 3
_UNGUESSABLE: Final = re.compile(r"bootstrap-token-[a-z0-9]{6}")
"""Names that no seed may decide."""


@dataclass(slots=True)
class Scene(Town):
    """A plane in which a story is played."""

    server: ApiServer = field(kw_only=True)
    room: MachineRoom = field(kw_only=True)
    weather: Weather = field(default_factory=Weather)
    watchman: Watchman = field(init=False)
    blunders: Blunders = field(default_factory=Blunders)
    wishes: dict[str, Wish] = field(default_factory=dict)
    """What the user wants at the moment, by the name of the cluster."""
    trace: list[str] = field(default_factory=list)
    """All that was done, in the order in which it was."""
    told: list[str] = field(default_factory=list)
    """What the story came to, a sentence each."""
    turns: dict[str, asyncio.Lock] = field(default_factory=lambda: {each: asyncio.Lock() for each in CLUSTERS})
    """Whoever changes a cluster waits for his turn."""
    taken: dict[int, str] = field(default_factory=dict)
    """VMs that somebody made while the story was played, as they were."""
    downtime: float = 1.0
    """Seconds until the process is started again."""
    to_store: StoreWay = field(init=False)
    """The way of the controllers that live at the moment."""
    _lives: asyncio.Task[None] | None = None

    @property
    def names(self) -> list[str]:
        return [*CLUSTERS]

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return asyncio.get_running_loop().time()

    def tell(self, sentence: str) -> None:
        """Something happens in the story."""
        self.told.append(f"{self.now:8.1f} s  {sentence}")
        self.trace.append(f"{self.now:.6f} {sentence}")

    def seen(self, call: str) -> None:
        """Something was asked of somebody."""
        self.trace.append(f"{self.now:.6f} {_UNGUESSABLE.sub('bootstrap-token', call)}")
        self.watchman.look()

    def tenant_of(self, cluster: str) -> Client | None:
        """A client of a tenant, whoever can reach it at the moment."""
        for each in self.clusters:
            if each.tenant.settings.name == cluster:
                return Client(InProcessTransport(each.tenant.server), world=self.world, field_manager="test")
        return None

    async def nodes(self, cluster: str) -> list[Untyped]:
        """The Nodes of a tenant."""
        client = self.tenant_of(cluster)
        return [] if client is None else (await client.list(NODES)).items

    async def begin(self) -> None:
        """Write what all clusters share, and let the controllers work."""
        # Without an authority those of the system would be read, and take longer than all else that begins here.
        data = {"token": TOKEN, "secret": secret(self.datacenter), "root_ca": prepared_authority().decode()}
        await self.client.create(SECRETS, {"metadata": {"name": "pve", "namespace": NAMESPACE}, "data": _encoded(data)})
        await self.create(self.shop.connection(), shared_pool())
        self._lives = asyncio.create_task(self._live_again_and_again(), name="processes")

    async def stop(self) -> None:
        if self._lives is not None:
            self._lives.cancel()
            await asyncio.gather(self._lives, return_exceptions=True)
        await self.client.close()

    async def _live_again_and_again(self) -> None:
        while True:
            mortal, plane = self._process()
            self.mortal, self.plane = mortal, plane
            starting = asyncio.create_task(plane.start(), name="start")
            try:
                await mortal.death.wait()
            finally:
                mortal.death.set()
                starting.cancel()
                await asyncio.gather(starting, return_exceptions=True)
                await plane.stop()
            await asyncio.sleep(self.downtime)
            self.tell("the controllers are started again")

    def _process(self) -> tuple[Mortal, Plane]:
        death = asyncio.Event()
        weather, seen = self.weather, self.seen

        def management() -> Store:
            self.watchman.look()
            return self.server.store

        def to_hosts() -> HostTransport:
            return HostWay(ToEmulator(self.emulator), weather, death, self.ledger, seen)

        reach = to_clusters(self.clusters)

        def to_tenant(connection: Connection) -> DialingWay:
            def store() -> Store | None:
                found = self.clusters.at(connection.server)
                return None if found is None else found.tenant.server.store

            return DialingWay(reach(connection), Way.TENANTS, weather, death, seen, store)

        self.to_store = StoreWay(self.room.store, weather, death, seen)
        mortal = Mortal(ApiWay(self.transport(), Way.MANAGEMENT, weather, death, seen, management))
        mortal.death = death
        plane = Plane(
            mortal,
            self.world,
            to_tenant,
            parts=self.parts,
            tenant_ports=False,
            hosting=self.room.settings,
            host=lambda _, world: RoomHost(self.room, death, world),
            proxmox=to_hosts,
            dialers=to_tenant,
            keys=PreparedKeys(),
        )
        return mortal, plane

    def die(self, downtime: float) -> None:
        """Kill the controllers now."""
        self.downtime = downtime
        self.mortal.death.set()

    async def as_root(self, method: str, path: str, **parameters: object) -> bool:
        """Somebody at the data center does something. Says whether it was done."""
        headers = {"authorization": f"PVEAPIToken=root@pam!demo={root_secret(self.datacenter)}"}
        headers["content-type"] = "application/json"
        host = path.split("/")[2]
        if not self.datacenter.nodes[host].online:
            return False
        body = orjson.dumps(parameters) if method in ("POST", "PUT") else b""
        answer = await self.emulator.answer(Request(method, f"/api2/json{path}", "", headers, body, host))
        if answer.status != 200:
            return False
        task = self.emulator.tasks.known.get(str(orjson.loads(answer.body)["data"]))
        if task is None:
            return True
        if task.worker is not None:
            await asyncio.wait([task.worker])
        return task.exitstatus == "OK"


@contextlib.asynccontextmanager
async def scene(seed: int) -> AsyncIterator[Scene]:
    """A plane without clusters, whose controllers have not yet been started."""
    world, shared = virtual_world(seed), Shared()
    shared.seed = tenant_seed()
    server = await start_prepared(world)
    emulator = Emulator(world, town_layout(world, hosts=HOSTS), PACE)
    clusters = Clusters(world, shared)
    emulator.machines.backend = TenantGuests(world, emulator.pace, clusters, version_of=kubelet_version)
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        made = Scene(
            lambda: InProcessTransport(server),
            world,
            NAMESPACE,
            ALL,
            real=False,
            emulator=emulator,
            clusters=clusters,
            shop=Wish(CLUSTERS[0], 1, 0).shop,
            server=server,
            room=MachineRoom(world, clusters, Path(folder), lambda endpoint: _hosted_at(server, endpoint), shared),
        )
        made.control = Control(emulator)
        emulator.around.append(made.count_clones)
        made.watchman = Watchman(server.store, emulator.datacenter, clusters, made.strangers)
        emulator.around.insert(0, made.watchman.around)
        made.untouched = foreign(emulator.datacenter)
        await made.open()
        with made.blunders, _in_room(made):
            try:
                yield made
            finally:
                await made.stop()
                await made.room.close()
                await made.control.close()
                await emulator.close()
                await server.stop()


@contextlib.contextmanager
def _in_room(here: Scene) -> Iterator[None]:
    """What the code of hosted control planes asks of this computer and of its network is asked of the room."""
    ports = managed_etcd.Ports(2379, 2380)
    with (
        mock.patch.object(addresses, "is_own", here.room.is_own),
        mock.patch.object(addresses, "is_free", here.room.is_free),
        mock.patch.object(managed_etcd, "_free_ports", return_value=ports),
        mock.patch.object(etcd_driver, "StoreClient", client_over(lambda: here.to_store)),
    ):
        yield


def _hosted_at(server: ApiServer, endpoint: str) -> str:
    """The name of the hosted control plane whose API is at an address."""
    for record in server.store.list(HOSTED_TABLE).records:
        told = record.object()["spec"].get("controlPlaneEndpoint") or {}
        if f"{told.get('host')}:{told.get('port')}" == endpoint:
            return str(record.object()["metadata"]["name"])
    return ""


def _encoded(data: dict[str, str]) -> dict[str, str]:
    return {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
