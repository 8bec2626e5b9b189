"""Where the machines of a rollout would land: one after the other, by the provider's own placement. Pure.

What a machine takes is taken from the next one; what one that goes had is free again. So a rollout is seen to fit, or
not, at its fullest moment and not only at its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.infrastructure.proxmox.machine.network import claims
from nagaya.infrastructure.proxmox.machine.wish import wish, world
from nagaya.infrastructure.proxmox.placement import Inventory, Placed, Reservation, Wish, place
from nagaya.infrastructure.proxmox.placement.room import Room
from nagaya.insight.foresight.fleet import Fleet
from nagaya.insight.foresight.move import Move
from nagaya.insight.foresight.site import Site, proxmox_machine


@dataclass(frozen=True, slots=True)
class Landing:
    """A machine that would come."""

    machine: str
    host: str
    """Empty if no host could have it, or hosts are not known."""
    why: str
    """Why that host; or why none."""
    cpus: int = 0
    memory: int = 0
    disk: int = 0
    """Bytes, of all its disks."""
    missing: str = ""
    """In one word, why no host can have it."""
    remedy: str = ""
    """What would help then."""


@dataclass(frozen=True, slots=True)
class HostRoom:
    """A host before and at the fullest moment."""

    name: str
    online: bool
    machines: int
    """How many of the new machines would be made on it."""
    memory: int
    """Bytes that may be given away now."""
    least: int
    """The same at the fullest moment."""


@dataclass(slots=True)
class Landings:
    """What became of all of them."""

    machines: dict[str, Landing] = field(default_factory=dict)
    hosts: tuple[HostRoom, ...] = ()

    @property
    def homeless(self) -> frozenset[str]:
        """Machines that no host could have."""
        return frozenset(name for name, each in self.machines.items() if each.missing)


def land(site: Site, fleet: Fleet, moves: Iterable[Move]) -> Landings:
    """Place every machine that comes, in order. Hosts that are not known leave only what each machine needs."""
    found = Landings()
    now = None
    if site.snapshot is not None:
        now = world(site.snapshot, site.infrastructure, site.configs, site.owned, site.equipment)
    inventory, promised = now, dict[str, Reservation]()
    rooms: dict[str, list[int]] = {}
    for move in moves:
        machine = proxmox_machine(fleet, move.machine)
        if machine is None:
            continue
        if not move.made:
            if machine.status.proxmox_node:
                found.machines[move.machine] = Landing(move.machine, machine.status.proxmox_node, "it is there")
            promised.pop(machine.metadata.uid, None)
            if inventory is not None:
                inventory = _without(inventory, machine, _wish(site, fleet, move.machine, machine))
            continue
        landing, made = _landed(site, fleet, move.machine, machine, inventory, promised)
        found.machines[move.machine] = landing
        if made is not None:
            promised[machine.metadata.uid] = made
        if now is not None and inventory is not None:
            asked = replace(_wish(site, fleet, move.machine, machine), machine="")
            for host in now.hosts:
                rooms.setdefault(host.name, [Room(now, (), asked).memory(host)])
                rooms[host.name].append(Room(inventory, promised.values(), asked).memory(host))
    counted = Counter(each.host for each in found.machines.values() if each.host and each.cpus + each.memory)
    found.hosts = tuple(
        HostRoom(host.name, host.online, counted[host.name], rooms[host.name][0], min(rooms[host.name]))
        for host in sorted(() if now is None else now.hosts, key=lambda each: each.name)
        if host.name in rooms
    )
    return found


def _landed(
    site: Site,
    fleet: Fleet,
    name: str,
    machine: ProxmoxMachine,
    inventory: Inventory | None,
    promised: dict[str, Reservation],
) -> tuple[Landing, Reservation | None]:
    spec = machine.spec
    if inventory is None or site.snapshot is None:
        cpus = (spec.num_sockets or 1) * (spec.num_cores or 0)
        disks = spec.disks
        boot = disks.boot_volume.size_gb if disks is not None and disks.boot_volume is not None else 0
        memory = (spec.memory_mib or 0) << 20
        return Landing(name, "", "hosts are not known", cpus, memory, boot << 30), None
    asked = _wish(site, fleet, name, machine)
    decided = place(asked, inventory, promised.values())
    if isinstance(decided, Placed):
        space = sum(each.size for each in decided.reservation.spaces)
        landing = Landing(name, decided.host, decided.why, asked.cpus, asked.memory, space)
        return landing, decided.reservation
    helps = " ".join(decided.remedies)
    return Landing(name, "", str(decided), asked.cpus, asked.memory, asked.boot_size, decided.reason, helps), None


def _wish(site: Site, fleet: Fleet, name: str, machine: ProxmoxMachine) -> Wish:
    assert site.snapshot is not None
    return wish(
        machine,
        fleet.known.get(name),
        site.infrastructure,
        site.snapshot,
        storage=site.defaults.storage,
        selector=site.defaults.template_selector,
        bridge=site.defaults.bridge,
    )


def _without(inventory: Inventory, machine: ProxmoxMachine, had: Wish) -> Inventory:
    """The inventory once a VM is gone: its memory and processors are free, and about as much space as it asked for."""
    vmid = machine.spec.virtual_machine_id
    gone = [each for each in inventory.guests if each.vmid == vmid or each.machine == machine.metadata.uid]
    if not gone:
        return inventory
    host = gone[0].host
    copies = [each.disks[0] for each in inventory.templates if each.host == host and each.disks]
    usual = copies[0].storage if copies else ""
    storage = had.storage or (had.rules.storages[0] if had.rules.storages else usual)
    freed = max([had.boot_size, *(each.size for each in copies[:1])])
    return replace(
        inventory,
        guests=tuple(each for each in inventory.guests if each not in gone),
        storages=tuple(
            replace(each, free=each.free + freed) if (each.name, each.host) == (storage, host) else each
            for each in inventory.storages
        ),
    )


def pools_of(site: Site, fleet: Fleet, name: str) -> list[str]:
    """The pools that a machine takes an address from, once for each address."""
    machine = proxmox_machine(fleet, name)
    if machine is None:
        return []
    wanted = claims(machine, site.infrastructure)
    return [] if isinstance(wanted, str) else [each.pool.name for each in wanted]
