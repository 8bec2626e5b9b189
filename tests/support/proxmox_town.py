"""The whole plane on an emulated data center: a management API, all controllers, and machines that become Nodes.

The embedded server runs in the same process and on virtual time, so that an hour takes a moment. The controllers can be
killed and started again; the data center, and the clusters on its machines, live on.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import Plane
from nagaya.infrastructure.proxmox.client.transport import Transport as HostTransport
from nagaya.kube.transport import Transport
from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.emulator import Emulator, Proceed
from nagaya.simulators.proxmox.front import parameters
from nagaya.simulators.proxmox.guests.backend import Machine
from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.proxmox.guests.tenants import TenantGuests
from nagaya.simulators.proxmox.layouts.demo import secret as root_secret
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.world import World
from support.crashes import QUIET, Mortal, MortalLab
from support.lab import SECRETS, holds
from support.passing_time import PassingLoop
from support.prepared import start_prepared
from support.proxmox_town_layout import STRANGERS, TOKEN, foreign, secret, town_layout
from support.proxmox_town_manifests import Shop
from support.proxmox_town_ways import Ledger, MortalWay, to_clusters
from support.proxmox_town_witness import Witness
from support.proxmox_transport import ToEmulator, Valid
from support.virtual_run import virtual_world

T = TypeVar("T")
PARTS = ("core", "bootstrap-kubeadm", "controlplane-kubeadm", "ipam", "infrastructure-proxmox")
PATIENCE = 1800.0
"""Seconds that a phase may take, whatever goes wrong: failures are tried again after minutes."""
STORY = (
    "Cluster", "KubeadmControlPlane", "KubeadmConfig", "MachineDeployment", "MachineSet", "Machine",
    "ProxmoxConnection", "ProxmoxCluster", "ProxmoxMachine", "IPAddressClaim",
)  # fmt: skip

_TAG = re.compile(r"\bkubernetes-(v\d+\.\d+\.\d+)")


@dataclass(slots=True)
class Town(MortalLab):
    """A plane on a data center."""

    emulator: Emulator = field(kw_only=True)
    clusters: Clusters = field(kw_only=True)
    shop: Shop = field(kw_only=True)
    ledger: Ledger = field(default_factory=Ledger)
    control: Control = field(init=False)
    witness: Witness = field(init=False)
    untouched: str = field(init=False)
    clones: dict[str, str] = field(default_factory=dict)
    """The names for which VMs were cloned, by task."""
    patience: float = PATIENCE
    quiet: float = QUIET
    lost: str = ""
    """The uid of the Machine whose VM was taken away."""
    strangers: set[int] = field(default_factory=lambda: {*STRANGERS})
    """VMs that are not ours."""

    @property
    def names(self) -> list[str]:
        """Of the clusters that may be there."""
        return [self.shop.name]

    @property
    def made(self) -> list[tuple[str, str]]:
        """Names of machines and the tasks by which a VM was made for them, those that came to their end."""
        known = self.emulator.tasks.known
        ended = {upid for upid in self.clones if (known[upid].exitstatus or "").startswith(("OK", "WARNINGS"))}
        return [(name, upid) for upid, name in self.clones.items() if upid in ended]

    async def count_clones(self, request: Request, proceed: Proceed) -> Answer:
        """Stand at the innermost place before the emulator: what gets here is done."""
        answer = await proceed(request)
        if request.method == "POST" and request.path.endswith("/clone") and answer.status == 200:
            given = parameters.of_request(request.method, request.query, request.headers, request.body)
            self.clones[str(orjson.loads(answer.body)["data"])] = str(given["name"])
        return answer

    @property
    def datacenter(self) -> Datacenter:
        return self.emulator.datacenter

    async def start(self) -> None:
        """Start the controllers. They have not written anything yet when this returns."""
        mortal = self.mortal = Mortal(self.around(self.transport()))

        def host_transport() -> HostTransport:
            return MortalWay(Valid(ToEmulator(self.emulator)), self.ledger, mortal.death)

        self.plane = Plane(
            mortal,
            self.world,
            to_clusters(self.clusters),
            parts=self.parts,
            tenant_ports=False,
            proxmox=host_transport,
            dialers=to_clusters(self.clusters),
        )
        await self.plane.start()
        self.buried = asyncio.create_task(self._bury(mortal, self.plane), name="undertaker")

    async def begin(self) -> None:
        """Let the controllers work, and somebody watch."""
        self.witness.start()
        await self.start()

    async def apply(self) -> None:
        """A user writes all objects."""
        data = {"token": TOKEN, "secret": secret(self.datacenter)}
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        metadata = {"name": "pve", "namespace": self.namespace}
        await self.client.create(SECRETS, {"metadata": metadata, "data": encoded})
        await self.create(*self.shop.manifests())

    async def has(self, control_planes: int, workers: int, version: str = "") -> bool:
        """Whether all machines that should be are there and well, no others are, and everybody says so."""
        version = version or self.shop.version
        machines = await self.all("Machine")
        planes = [each for each in machines if CONTROL_PLANE in each.metadata.labels]
        if len(planes) != control_planes or len(machines) != control_planes + workers:
            return False
        if not all(holds(each, "Available") and each.spec.version == version for each in machines):
            return False
        cluster = await self.get("Cluster", self.shop.name)
        plane = await self.get("KubeadmControlPlane", self.shop.name)
        deployment = await self.get("MachineDeployment", self.shop.deployment)
        return (
            holds(cluster, "Available")
            and deployment.status.up_to_date_replicas == deployment.status.replicas == workers
            and plane.status.up_to_date_replicas == plane.status.replicas == control_planes
        )

    async def story(self) -> str:
        """What the objects say of themselves: for a test that waits in vain."""
        lines = []
        for kind in STORY:
            for obj in await self.all(kind):
                deleting = " deleting" if obj.metadata.deleting else ""
                lines.append(f"{kind}/{obj.metadata.name} {getattr(obj.status, 'phase', '')}{deleting}")
                lines += [
                    f"    {each.type}={each.status} {each.reason}: {each.message}"
                    for each in obj.status.conditions
                    if each.message or each.status == "Unknown"
                ]
        for vmid, guest in sorted(self.datacenter.guests.items()):
            if not guest.template:
                lines.append(f"VM {vmid} on {guest.node} {guest.config.get('name')} running={guest.running}")
        lines += [f"host {each.name} online={each.online}" for each in self.datacenter.nodes.values()]
        for controller in self.plane.manager.controllers:
            lines += [f"{controller.name} {key}: {why}" for key, why in controller.errors.items()]
        lines += ["last calls:", *(f"    {each}" for each in self.ledger.calls[-12:])]
        return "\n".join(lines)

    async def rest(self) -> None:
        """Wait until the controllers have not written for a while, or are dead."""
        loop = asyncio.get_running_loop()
        seen, since = len(self.mortal.writes), loop.time()
        while loop.time() < since + self.quiet and not self.mortal.dead:
            await asyncio.sleep(self.quiet / 12)
            if len(self.mortal.writes) != seen:
                seen, since = len(self.mortal.writes), loop.time()

    async def vm_of(self, machine: Any) -> int:
        """The VMID of a Machine."""
        found = await self.get("ProxmoxMachine", machine.spec.infrastructure_ref.name)
        return int(found.spec.virtual_machine_id)

    async def vanish(self, vmid: int) -> None:
        """Somebody destroys a VM, as root."""
        for method, path in (("POST", "/status/stop"), ("DELETE", "")):
            node = self.datacenter.guests[vmid].node
            headers = {"authorization": f"PVEAPIToken=root@pam!demo={root_secret(self.datacenter)}"}
            asked = Request(method, f"/api2/json/nodes/{node}/qemu/{vmid}{path}", "", headers, b"", node)
            answer = await self.emulator.answer(asked)
            task = self.emulator.tasks.known[str(orjson.loads(answer.body)["data"])]
            if task.worker is not None:
                await asyncio.wait([task.worker])


Around = Callable[[Transport], Transport]


@contextlib.asynccontextmanager
async def town(
    shop: Shop | None = None, *, seed: int = 1, hosts: int = 3, around: Around = lambda transport: transport
) -> AsyncIterator[Town]:
    """A town on the embedded server, without controllers yet, and without a cluster."""
    world = virtual_world(seed)
    server = await start_prepared(world)
    try:
        async with assembled(
            world, lambda: InProcessTransport(server), shop or Shop(), hosts=hosts, around=around
        ) as made:  # fmt: skip
            yield made
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def assembled(
    world: World,
    transport: Callable[[], Transport],
    shop: Shop,
    *,
    hosts: int = 3,
    around: Around = lambda transport: transport,
) -> AsyncIterator[Town]:
    """A town on some server."""
    emulator = Emulator(world, town_layout(world, hosts=hosts))
    clusters = Clusters(world)
    emulator.machines.backend = TenantGuests(world, emulator.pace, clusters, version_of=kubelet_version)
    made = Town(
        transport, world, shop.namespace, PARTS, real=False, around=around, emulator=emulator, clusters=clusters,
        shop=shop,
    )  # fmt: skip
    made.control = Control(emulator)
    emulator.around.append(made.count_clones)
    made.witness = Witness(made)
    made.untouched = foreign(emulator.datacenter)
    await made.open()
    try:
        yield made
    finally:
        await made.witness.stop()
        await made.stop()
        await made.control.close()
        await emulator.close()


def play(main: Coroutine[Any, Any, T]) -> T:
    """Run something on virtual time."""
    with asyncio.Runner(loop_factory=PassingLoop) as runner:
        return runner.run(main)


def kubelet_version(machine: Machine) -> str:
    """Which kubelet is on the disk of a machine: that of the template that it was cloned from, as its tag says."""
    found = _TAG.search(str(machine.options.get("tags") or ""))
    return found[1] if found is not None else ""
