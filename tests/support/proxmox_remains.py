"""A management API and an emulated data center in which machines have left something behind. No controllers run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import (
    FINALIZER,
    PROXMOX_VIRTUAL_MACHINES,
    ProxmoxVirtualMachine,
    reservation_name,
)
from nagaya.cli.gc import remove
from nagaya.cli.in_process import InProcessTransport
from nagaya.infrastructure.proxmox.client import Endpoint, Facts, Proxmox, Token, Trust
from nagaya.infrastructure.proxmox.client.multipart import Upload
from nagaya.infrastructure.proxmox.client.transport import Transport
from nagaya.infrastructure.proxmox.connection.findings import datacenter_id
from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker, marked
from nagaya.infrastructure.proxmox.virtual_machine.removing import boot_image
from nagaya.insight.leftovers.gathering import Leftovers, gathered
from nagaya.kube.client import Client
from nagaya.kube.patches import Merge
from nagaya.simulators.proxmox.cluster.certificates import AUTHORITY_FILE
from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.layouts.demo import demo, secret
from nagaya.world import World
from support.passing_time import PassingLoop
from support.prepared import start_prepared
from support.proxmox_plane import KINDS, NAMESPACE, connection
from support.proxmox_transport import ToEmulator, Valid
from support.virtual_run import virtual_world

Wrap = Callable[[Transport], Transport]


@dataclass(slots=True)
class Remains:
    """What a scenario acts on."""

    client: Client
    controllers: Client
    """The same API as controllers write to it."""
    emulator: Emulator
    proxmox: Proxmox
    """As root."""
    control: Control
    world: World
    wrap: Wrap = lambda transport: transport
    """What stands between `nagaya gc` and Proxmox VE."""
    told: list[str] = field(default_factory=list)

    @property
    def datacenter_id(self) -> str:
        return datacenter_id("demo", self.emulator.tickets.fingerprint(AUTHORITY_FILE))

    @property
    def vms(self) -> set[int]:
        """The VMIDs of VMs that are no templates."""
        return {vmid for vmid, guest in self.emulator.datacenter.guests.items() if not guest.template}

    @property
    def volumes(self) -> set[str]:
        """What is on storages and is not a template's."""
        return {each.id for each in self.emulator.datacenter.volumes.values() if (each.vmid or 0) < 9000}

    async def connect(self, *, pool: str = "nagaya", **data: str) -> None:
        """Store a token, and a connection that uses it: that of root unless told otherwise."""
        content = {"token": "root@pam!demo", "secret": secret(self.emulator.datacenter), **data}
        metadata = {"name": "pve", "namespace": NAMESPACE}
        await self.client.create(KINDS["Secret"], {"metadata": metadata, "stringData": content})
        await self.client.create(KINDS["ProxmoxConnection"], connection(pool=pool, insecure=True))

    async def vm(
        self,
        vmid: int,
        *,
        uid: str = "",
        name: str = "a",
        node: str = "pve1",
        pool: str = "nagaya",
        start: bool = False,
    ) -> None:
        """Make a VM; with a uid it has the marker of that machine."""
        description = marked("", Marker(f"{NAMESPACE}/{name}", uid, f"{NAMESPACE}/shop")) if uid else "made by hand"
        options = {"name": name, "memory": 512, "description": description, "scsi0": "local-lvm:4"}
        await self.proxmox.tasks.wait(await self.proxmox.machines.create(node, vmid, options, pool=pool))
        if start:
            await self.proxmox.tasks.wait(await self.proxmox.machines.start(node, vmid))

    async def boot_image(self, vmid: int, node: str = "pve1", storage: str = "local") -> str:
        """Upload one."""
        upload = await self.proxmox.storages.upload(node, storage, "iso", Upload(boot_image(vmid), b"boot"))
        await self.proxmox.tasks.wait(upload)
        return f"{storage}:iso/{boot_image(vmid)}"

    async def reserve(
        self, vmid: int, *, uid: str, name: str = "a", node: str = "pve1", pool: str = "nagaya", **status: str
    ) -> ProxmoxVirtualMachine:
        """The reservation that a machine made before it was gone."""
        content: Mapping[str, Any] = {
            "metadata": {
                "name": reservation_name(self.datacenter_id, vmid),
                "finalizers": [FINALIZER],
                "labels": {"cluster.x-k8s.io/cluster-name": "shop"},
            },
            "spec": {
                "datacenter": self.datacenter_id,
                "vmid": vmid,
                "machineRef": {"namespace": NAMESPACE, "name": name, "uid": uid},
                "connectionRef": {"namespace": NAMESPACE, "name": "pve"},
                "name": name,
                **({"pool": pool} if pool else {}),
            },
        }
        made = await self.controllers.create(PROXMOX_VIRTUAL_MACHINES, content)
        told = Merge({"status": {"node": node, "phase": "Abandoned", **status}})
        return await self.client.patch(PROXMOX_VIRTUAL_MACHINES, "", made.metadata.name, told, subresource="status")

    async def machine(self, name: str = "a", **spec: Any) -> str:
        """A ProxmoxMachine; its uid."""
        network = {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}
        content = {"templateSelector": {"matchTags": ["kubernetes"]}, "network": network, **spec}
        made = await self.client.create(
            PROXMOX_MACHINES, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": content}
        )
        return made.metadata.uid

    async def orphan(self, vmid: int = 100, uid: str = "u-1", *, name: str = "a", start: bool = True) -> None:
        """A machine's VM and reservation, without the machine."""
        await self.reserve(vmid, uid=uid, name=name)
        await asyncio.sleep(2)
        await self.vm(vmid, uid=uid, name=name, start=start)
        await asyncio.sleep(11)  # hosts have reported

    async def reservations(self) -> list[str]:
        return [each.metadata.name for each in (await self.client.list(PROXMOX_VIRTUAL_MACHINES)).items]

    def open(self, facts: Facts) -> Proxmox:
        """How `nagaya gc` reaches the data center."""
        return Proxmox(facts, self.world, transport=self.wrap(Valid(ToEmulator(self.emulator))))

    @asynccontextmanager
    async def found(self) -> AsyncIterator[Leftovers]:
        """What `nagaya gc` finds."""
        async with gathered(self.client, self.world, self.open) as found:
            yield found

    async def collect(self) -> list[str]:
        """What `nagaya gc --yes` does; what it says that stays."""
        async with self.found() as found:
            return await remove(self.client, found, self.told.append)


def play(scenario: Callable[[Remains], Awaitable[None]], *, hosts: int = 3) -> None:
    """Run a scenario on virtual time."""

    async def main() -> None:
        async with _remains(hosts) as made:
            await scenario(made)

    with asyncio.Runner(loop_factory=PassingLoop) as runner:
        runner.run(main())


@asynccontextmanager
async def _remains(hosts: int) -> AsyncIterator[Remains]:
    world = virtual_world()
    server = await start_prepared(world)
    emulator = Emulator(world, demo(world, hosts=hosts))
    client = Client(InProcessTransport(server), world=world, field_manager="test")
    controllers = Client(InProcessTransport(server), world=world)
    facts = Facts((Endpoint("pve1"),), Token("root@pam!demo", secret(emulator.datacenter)), Trust(insecure=True))
    proxmox = Proxmox(facts, world, transport=ToEmulator(emulator))
    control = Control(emulator)
    try:
        yield Remains(client, controllers, emulator, proxmox, control, world)
    finally:
        await proxmox.close()
        await control.close()
        await controllers.close()
        await client.close()
        await emulator.close()
        await server.stop()
