"""How much of each host is left, by the rules: what guests have and what is promised, each counted once.

As CAPMOX counts: VMs and containers that are off count, templates do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nagaya.infrastructure.proxmox.placement.inventory import Guest, Host, Inventory, Storage
from nagaya.infrastructure.proxmox.placement.reservation import Clone, Reservation
from nagaya.infrastructure.proxmox.placement.wish import Rules, Wish


class Room:
    """What is left for a machine."""

    def __init__(self, inventory: Inventory, reservations: Iterable[Reservation], wish: Wish) -> None:
        self._rules: Rules = wish.rules
        self._storages = {(each.host, each.name): each for each in inventory.storages}
        self._cpus: Counter[str] = Counter()
        self._memory: Counter[str] = Counter()
        self._devices: Counter[tuple[str, str]] = Counter()
        self._promised: Counter[tuple[str, str]] = Counter()
        self._alike: Counter[str] = Counter()
        self._kind = (wish.cluster, wish.role) if wish.role else None
        others = [each for each in reservations if each.machine != wish.machine]
        self._count(inventory.guests, others, wish.machine)
        shared = {each.name for each in inventory.storages if each.shared}
        for reservation in others:
            for space in reservation.spaces:
                self._promised[space.storage, "" if space.storage in shared else reservation.host] += space.size
        self._alike_in: Counter[str] = Counter()
        for host in inventory.hosts:
            self._alike_in[host.failure_domain] += self._alike[host.name]

    def storage(self, host: str, name: str) -> Storage | None:
        """A storage as a host has it."""
        return self._storages.get((host, name))

    def memory(self, host: Host) -> int:
        """Memory that may still be given away. Below nothing where more was given away than the rules allow."""
        percent = self._rules.memory_percent or 100
        return host.memory * percent // 100 - self._rules.memory_reserve - self._memory[host.name]

    def cpus(self, host: Host) -> int:
        """Processors that may still be given away."""
        return host.cpus * (self._rules.cpu_percent or 100) // 100 - self._cpus[host.name]

    def space(self, storage: Storage) -> int:
        """Space that may still be given away."""
        return storage.free - self._rules.storage_reserve - self._promised[storage.place]

    def devices(self, host: Host, mapping: str) -> int:
        """PCI devices of a mapping that nobody has."""
        return host.devices.get(mapping, 0) - self._devices[host.name, mapping]

    def alike(self, host: Host) -> int:
        """How many machines of the same role and cluster a host has."""
        return self._alike[host.name]

    def alike_in_domain(self, host: Host) -> int:
        """How many of them the host's failure domain has."""
        return self._alike_in[host.failure_domain]

    def _count(self, guests: Iterable[Guest], reservations: Iterable[Reservation], except_for: str) -> None:
        """Count everybody but one machine. A machine with a guest and a reservation counts once."""
        by_machine = {each.machine: each for each in reservations}
        by_vmid = {each.vmid: each for each in by_machine.values() if each.vmid}
        counted: set[str] = set()
        for guest in guests:
            if guest.template or (except_for and guest.machine == except_for):
                continue
            reservation = by_vmid.get(guest.vmid) or by_machine.get(guest.machine)
            if reservation is None or reservation.machine in counted:
                self._take(guest.host, guest.cpus, guest.memory, (guest.cluster, guest.role), guest.devices)
                continue
            counted.add(reservation.machine)
            self._take(
                # Until a clone is done its configuration is on the template's host, wherever it will be.
                guest.host if reservation.clone is Clone.DONE else reservation.host,
                max(guest.cpus, reservation.cpus),
                max(guest.memory, reservation.memory),
                (reservation.cluster, reservation.role),
                max(guest.devices, reservation.devices, key=len),
            )
        for each in by_machine.values():
            if each.machine not in counted:
                self._take(each.host, each.cpus, each.memory, (each.cluster, each.role), each.devices)

    def _take(self, host: str, cpus: int, memory: int, kind: tuple[str, str], devices: tuple[str, ...]) -> None:
        self._cpus[host] += cpus
        self._memory[host] += memory
        if devices:
            self._devices.update((host, device) for device in devices)
        if kind == self._kind:
            self._alike[host] += 1
