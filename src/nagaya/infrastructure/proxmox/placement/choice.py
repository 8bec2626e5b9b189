"""The choice of a host: a pure function of the inventory, of what is promised and of what is asked for.

For every host it is found out what speaks against it, all of it and not only the first thing. Of those that nothing
speaks against, the one with the fewest machines of the same role and cluster is taken; then the one whose failure
domain has the fewest; then the one with most free memory; then the first by name. The same question has the same answer
whatever order things come in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from nagaya.infrastructure.proxmox.placement import disks, templates
from nagaya.infrastructure.proxmox.placement.amounts import gib, lacking
from nagaya.infrastructure.proxmox.placement.decision import Decision, Placed, Refused, WhyNot
from nagaya.infrastructure.proxmox.placement.inventory import Host, Inventory, Template
from nagaya.infrastructure.proxmox.placement.lack import (
    BRIDGE,
    MEMORY,
    MORE_PROCESSORS_THAN_THERE_ARE,
    PROCESSORS,
    SPREAD,
    TEMPLATE,
    Lack,
    remedies,
)
from nagaya.infrastructure.proxmox.placement.reservation import Reservation, turn
from nagaya.infrastructure.proxmox.placement.room import Room
from nagaya.infrastructure.proxmox.placement.wish import Spread, TemplateById, Wish


@dataclass(frozen=True, slots=True)
class _Fit:
    """A host that nothing speaks against."""

    host: Host
    template: Template
    disks: disks.DiskPlan
    alike: int
    alike_in_domain: int
    memory: int

    def order(self, spread: Spread) -> tuple[int, int, int, str]:
        if spread is Spread.NONE:
            return (0, 0, -self.memory, self.host.name)
        return (self.alike, self.alike_in_domain, -self.memory, self.host.name)


def place(wish: Wish, inventory: Inventory, reservations: Iterable[Reservation] = ()) -> Decision:
    """Which host a machine goes to, or why it can go to none now."""
    promised = tuple(reservations)
    copies = templates.meant(wish, inventory)
    if isinstance(copies, templates.NoTemplate):
        return Refused(copies.reason, copies.why, _without_template(wish, inventory), (copies.remedy,))
    room = Room(inventory, promised, wish)
    allowed = _allowed(wish, copies)
    why_not = [
        WhyNot(name, "allowed, but there is no such host")
        for name in sorted(wish.allowed - {host.name for host in inventory.hosts})
    ]
    fits: list[_Fit] = []
    lacks: list[Lack] = []
    for host in sorted(inventory.hosts, key=lambda each: each.name):
        found = _fit(wish, host, copies, room, allowed)
        if isinstance(found, _Fit):
            fits.append(found)
        else:
            lacks += found
            why_not.append(WhyNot(host.name, "; ".join(each.why for each in found)))
    if not fits:
        told = tuple(sorted(why_not, key=_name))
        return Refused("NoHostFits", "no host can have the machine now", told, remedies(lacks))
    best, *others = sorted(fits, key=lambda each: each.order(wish.rules.spread))
    why_not += [WhyNot(each.host.name, _behind(each, best, wish)) for each in others]
    return _placed(wish, best, others, inventory, promised, tuple(sorted(why_not, key=_name)))


def _without_template(wish: Wish, inventory: Inventory) -> tuple[WhyNot, ...]:
    allowed = wish.allowed or None
    hosts = sorted(inventory.hosts, key=lambda each: each.name)
    return tuple(WhyNot(host.name, _closed(wish, host, allowed) or "no template to clone from") for host in hosts)


def _fit(
    wish: Wish, host: Host, copies: templates.Copies, room: Room, allowed: frozenset[str] | None
) -> _Fit | tuple[Lack, ...]:
    """What the machine would have on this host, or everything that speaks against it."""
    if closed := _closed(wish, host, allowed):
        return (Lack(closed),)
    complaints = _against(wish, host, room)
    template = copies.usable(host)
    if isinstance(template, str):
        complaints.append(Lack(template, TEMPLATE))
    else:
        planned = disks.plan(wish, template, host, room)
        if isinstance(planned, disks.DiskPlan) and not complaints:
            alike, in_domain = room.alike(host), room.alike_in_domain(host)
            return _Fit(host, template, planned, alike, in_domain, room.memory(host))
        if not isinstance(planned, disks.DiskPlan):
            complaints += planned
    return tuple(complaints)


def _allowed(wish: Wish, copies: templates.Copies) -> frozenset[str] | None:
    """The hosts that come into question; None: all."""
    if wish.allowed:
        return wish.allowed
    return copies.hosts if isinstance(wish.template, TemplateById) else None


def _closed(wish: Wish, host: Host, allowed: frozenset[str] | None) -> str:
    """Why a host does not come into question at all; empty if it does."""
    if allowed is not None and host.name not in allowed:
        if wish.allowed:
            return "not among the allowed hosts"
        return f"no hosts are allowed by name, so the machine stays with its template on {', '.join(sorted(allowed))}"
    if host.name in wish.denied:
        return "denied"
    if wish.failure_domain and host.failure_domain != wish.failure_domain:
        return f"in failure domain {host.failure_domain or 'none'}, not in {wish.failure_domain}"
    if not host.online:
        return f"off since {host.off_since}" if host.off_since else "off"
    if host.maintenance:
        return "in maintenance"
    return f"does not answer: {host.silent}" if host.silent else ""


def _against(wish: Wish, host: Host, room: Room) -> list[Lack]:
    """What a host that is open lacks."""
    complaints: list[Lack] = []
    if wish.rules.memory_percent and (left := room.memory(host)) < wish.memory:
        complaints.append(Lack(f"memory: {lacking(left, wish.memory)}", MEMORY))
    if host.cpus and wish.cpus > host.cpus:
        why = f"processors: it has {host.cpus}, {wish.cpus} needed, and Proxmox VE starts no machine with more"
        complaints.append(Lack(why, MORE_PROCESSORS_THAN_THERE_ARE))
    elif wish.rules.cpu_percent and (cpus := room.cpus(host)) < wish.cpus:
        complaints.append(Lack(f"processors: {max(0, cpus)} free, {wish.cpus} needed", PROCESSORS))
    if host.bridges is not None and (missing := wish.bridges - host.bridges):
        there = ", ".join(sorted(host.bridges)) or "none"
        why = f"no bridge {', '.join(sorted(missing))} that may be used (there are: {there})"
        complaints.append(Lack(why, BRIDGE))
    wanted = Counter(wish.devices)
    complaints += [
        Lack(f"no PCI device of mapping {mapping} that may be used (Mapping.Use)")
        for mapping in sorted({*wanted, *wish.mediated})
        if not host.devices.get(mapping)
    ]
    for mapping, count in sorted(wanted.items()):
        if host.devices.get(mapping) and (free := room.devices(host, mapping)) < count:
            complaints.append(Lack(f"PCI devices of mapping {mapping}: {max(0, free)} free, {count} needed"))
    if wish.rules.spread is Spread.REQUIRED and room.alike(host):
        why = f"has {_alike(room.alike(host), wish)} already, and they must be on different hosts"
        complaints.append(Lack(why, SPREAD))
    return complaints


def _placed(
    wish: Wish,
    best: _Fit,
    others: list[_Fit],
    inventory: Inventory,
    promised: tuple[Reservation, ...],
    why_not: tuple[WhyNot, ...],
) -> Placed:
    reservation = Reservation(
        machine=wish.machine,
        host=best.host.name,
        cpus=wish.cpus,
        memory=wish.memory,
        cluster=wish.cluster,
        role=wish.role,
        spaces=best.disks.spaces,
        devices=wish.devices,
        clone_storage=best.disks.boot,
    )
    shared = frozenset(each.name for each in inventory.storages if each.shared)
    mine = turn(reservation, promised, wish.rules.clones, shared)
    why = _because(best, others[0], wish) if others else "the only host that can have it"
    return Placed(best.host.name, why, best.template, best.disks, mine, reservation, why_not)


def _because(best: _Fit, second: _Fit, wish: Wish) -> str:
    if wish.rules.spread is not Spread.NONE:
        if best.alike != second.alike:
            return f"fewest machines of this role: {best.alike}"
        if best.alike_in_domain != second.alike_in_domain:
            domain = best.host.failure_domain or "none"
            return f"its failure domain {domain} has the fewest machines of this role: {best.alike_in_domain}"
    if best.memory != second.memory:
        return f"most free memory: {gib(best.memory)}"
    return "the first by name of equal hosts"


def _behind(fit: _Fit, best: _Fit, wish: Wish) -> str:
    """Why a host that could have the machine does not get it."""
    if wish.rules.spread is not Spread.NONE:
        if fit.alike != best.alike:
            return f"possible, but has {_alike(fit.alike, wish)}, {best.host.name} has {best.alike}"
        if fit.alike_in_domain != best.alike_in_domain:
            domain = fit.host.failure_domain or "none"
            return f"possible, but its failure domain {domain} has {_alike(fit.alike_in_domain, wish)}"
    if fit.memory != best.memory:
        return f"possible, but {gib(fit.memory)} memory free, {best.host.name} has {gib(best.memory)}"
    return f"possible, but {best.host.name} comes first by name and is equal"


def _alike(count: int, wish: Wish) -> str:
    noun = "machine" if count == 1 else "machines"
    return f"{count} {wish.role or 'other'} {noun} of cluster {wish.cluster}"


def _name(why_not: WhyNot) -> str:
    return why_not.host
