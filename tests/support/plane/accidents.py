"""What befalls a data center and its tenants: hosts off, tasks that fail, VMs that others stop, move or destroy,
storages that are full, numbers that somebody takes, rights that are missing, APIs that hang; and the computer of hosted
control planes: programs that die, a store that is away, a reboot.

Nothing that cannot be mended is done to a cluster: of its control plane only what etcd can lose is taken away for ever.
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.simulators.proxmox.faults.fault import Steps, TaskFault, TaskKind, When
from nagaya.simulators.proxmox.state.guest import Guest
from support.plane.act import Act
from support.plane.scene import Scene
from support.proxmox_town_layout import TOKEN, taken

FIRST: Final = 100
"""The lowest number of a VM."""
FAILURE: Final = "an accident, as it is told in the story"


@dataclass(frozen=True, slots=True)
class HostOff(Act):
    """A host has no power for a while, or no network."""

    host: str
    lasts: float
    cut_off: bool = False

    async def happen(self, scene: Scene) -> None:
        scene.tell(f"host {self.host} {'is cut off' if self.cut_off else 'goes off'}")
        (scene.control.cut_off if self.cut_off else scene.control.power_off)(self.host)
        await asyncio.sleep(self.lasts)
        scene.tell(f"host {self.host} is back")
        scene.control.power_on(self.host)


@dataclass(frozen=True, slots=True)
class HostSlow(Act):
    """Calls to a host take long for a while, or its daemon does not run."""

    host: str
    lasts: float
    slowness: float

    async def happen(self, scene: Scene) -> None:
        scene.tell(f"host {self.host} " + ("is slow" if self.slowness else "has no daemon"))
        scene.control.change_host(self.host, slowness=self.slowness, daemon=bool(self.slowness))
        await asyncio.sleep(self.lasts)
        scene.tell(f"host {self.host} is well again")
        scene.control.change_host(self.host, slowness=0.0, daemon=True)


@dataclass(frozen=True, slots=True)
class TasksFail(Act):
    """Tasks of a type fail for a while: some, or all."""

    type: str
    kind: TaskKind
    times: int
    lasts: float

    async def happen(self, scene: Scene) -> None:
        scene.tell(f"{self.times} tasks {self.type} {self.kind}")
        fault = TaskFault(self.kind, Steps(self.type), When(times=self.times), text=FAILURE)
        number = scene.control.faults.set(fault)
        await asyncio.sleep(self.lasts)
        scene.control.faults.remove(number)


@dataclass(frozen=True, slots=True)
class Vanish(Act):
    """Somebody destroys a VM."""

    number: int

    async def happen(self, scene: Scene) -> None:
        found = await _one(scene, self.number, spare=True)
        if found is not None:
            scene.tell(f"somebody destroys VM {found.vmid} ({found.config.get('name')})")
            await scene.as_root("POST", f"/nodes/{found.node}/qemu/{found.vmid}/status/stop")
            await scene.as_root("DELETE", f"/nodes/{found.node}/qemu/{found.vmid}")


@dataclass(frozen=True, slots=True)
class Stop(Act):
    """Somebody switches a VM off."""

    number: int

    async def happen(self, scene: Scene) -> None:
        found = await _one(scene, self.number)
        if found is not None:
            scene.tell(f"somebody stops VM {found.vmid} ({found.config.get('name')})")
            await scene.as_root("POST", f"/nodes/{found.node}/qemu/{found.vmid}/status/stop")


@dataclass(frozen=True, slots=True)
class Migrate(Act):
    """Somebody moves a VM to another host."""

    number: int
    host: str

    async def happen(self, scene: Scene) -> None:
        found = await _one(scene, self.number)
        if found is None or found.node == self.host or not scene.datacenter.nodes[self.host].online:
            return
        online = {"online": 1} if found.running else {}
        path = f"/nodes/{found.node}/qemu/{found.vmid}/migrate"
        done = await scene.as_root("POST", path, target=self.host, **{"with-local-disks": 1}, **online)
        scene.tell(f"somebody moves VM {found.vmid} to {self.host}: {'done' if done else 'in vain'}")


@dataclass(frozen=True, slots=True)
class StorageFull(Act):
    """Others have filled a storage, on all hosts; or it cannot be reached."""

    storage: str
    lasts: float
    unreachable: bool = False

    async def happen(self, scene: Scene) -> None:
        storage = scene.control.storage(self.storage)
        scene.tell(f"storage {self.storage} {'cannot be reached' if self.unreachable else 'is full'}")
        if self.unreachable:
            scene.control.reach(self.storage, False)
        else:
            storage.foreign += storage.capacity
        await asyncio.sleep(self.lasts)
        scene.tell(f"storage {self.storage} is well again")
        if self.unreachable:
            scene.control.reach(self.storage, True)
        else:
            storage.foreign -= storage.capacity


@dataclass(frozen=True, slots=True)
class TakeNumber(Act):
    """Somebody makes a VM with a number that was meant for one of ours, or would be the next."""

    async def happen(self, scene: Scene) -> None:
        reserved = (await scene.client.list(PROXMOX_VIRTUAL_MACHINES)).items
        meant = sorted(each.spec.vmid for each in reserved if each.spec.vmid not in scene.datacenter.guests)
        vmid = (
            meant[0] if meant else next(each for each in itertools.count(FIRST) if each not in scene.datacenter.guests)
        )
        host = next(each.name for each in scene.datacenter.nodes.values())
        scene.tell(f"somebody makes VM {vmid} on {host}")
        guest = Guest(vmid, host, {"name": f"somebodys-{vmid}", "memory": "512", "tags": "nagaya"})
        scene.datacenter.guests[vmid] = guest
        scene.strangers.add(vmid)
        scene.taken[vmid] = repr(guest)


@dataclass(frozen=True, slots=True)
class RightMissing(Act):
    """The token lacks a privilege for a while."""

    path: str
    privilege: str
    lasts: float

    async def happen(self, scene: Scene) -> None:
        scene.tell(f"{TOKEN} loses {self.privilege} on {self.path}")
        taken(scene.datacenter, self.path, self.privilege)
        await asyncio.sleep(self.lasts)
        scene.tell(f"{TOKEN} has {self.privilege} on {self.path} again")
        taken(scene.datacenter, self.path, self.privilege, back=True)


@dataclass(frozen=True, slots=True)
class TenantHangs(Act):
    """The API of a cluster does not answer for a while."""

    cluster: str
    lasts: float

    async def happen(self, scene: Scene) -> None:
        found = [each for each in scene.clusters if each.tenant.settings.name == self.cluster]
        if not found:
            return
        scene.tell(f"the API of {self.cluster} hangs")
        found[0].hang()
        await asyncio.sleep(self.lasts)
        scene.tell(f"the API of {self.cluster} answers again")
        await found[0].answer_again()
        await scene.room.look(again=True)


@dataclass(frozen=True, slots=True)
class ProgramDies(Act):
    """A program of a hosted control plane, or its store, is killed."""

    number: int

    async def happen(self, scene: Scene) -> None:
        programs = [scene.room.programs[name] for name in sorted(scene.room.programs)]
        if programs:
            program = programs[self.number % len(programs)]
            scene.tell(f"somebody kills {program.spec.name}")
            scene.room.kill(program)


@dataclass(frozen=True, slots=True)
class StoreAway(Act):
    """The store of hosted control planes does not answer for a while."""

    lasts: float

    async def happen(self, scene: Scene) -> None:
        scene.tell("the data store is away")
        scene.room.store.away = True
        await scene.room.look()
        await asyncio.sleep(self.lasts)
        scene.tell("the data store is back")
        scene.room.store.away = False
        await scene.room.look()


@dataclass(frozen=True, slots=True)
class Reboot(Act):
    """The computer of hosted control planes and of the controllers is started anew."""

    downtime: float

    async def happen(self, scene: Scene) -> None:
        scene.tell("the computer of hosted control planes is started anew")
        scene.die(self.downtime)
        for program in [*scene.room.programs.values()]:
            scene.room.kill(program)


async def _one(scene: Scene, number: int, *, spare: bool = False) -> Guest | None:
    """One of our VMs that is on a host that is on; with `spare` one that its cluster can do without for ever."""
    reserved = {each.spec.vmid for each in (await scene.client.list(PROXMOX_VIRTUAL_MACHINES)).items}
    machines: dict[str, Any] = {each.metadata.name: each for each in await scene.all("Machine")}
    found = []
    for vmid in sorted(reserved & {*scene.datacenter.guests} - scene.strangers):
        guest = scene.datacenter.guests[vmid]
        machine = machines.get(str(guest.config.get("name")))
        if machine is None or not scene.datacenter.nodes[guest.node].online or guest.lock is not None:
            continue
        if not spare or CONTROL_PLANE not in machine.metadata.labels or _can_lose_one(scene, machine):
            found.append(guest)
    return found[number % len(found)] if found else None


def _can_lose_one(scene: Scene, machine: Any) -> bool:
    """Whether etcd of a machine's cluster has a member too many, and all that it should have run."""
    for cluster in scene.clusters:
        members = cluster.tenant.etcd.cluster
        if cluster.tenant.settings.name == machine.spec.cluster_name and members is not None:
            voters = [each for each in members.members if not each.learner]
            return len(voters) >= 3 and all(members.is_up(each) for each in voters)
    return False
