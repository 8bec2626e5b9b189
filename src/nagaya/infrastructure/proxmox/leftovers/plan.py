"""Which leftovers are provably ours, and why the rest is not touched. Pure.

A VM is ours if its marker has the uid of the reservation and names this management API, its name and pool are those of
the reservation, and the machine was seen being deleted here: one that has vanished may have been moved. A volume
without a VM is ours if it bears a VMID that is reserved here, nobody has the VMID, and it was made after it was
reserved: storages keep disks of VMs that are long gone, and a VMID is given out again. The entry of the HA manager goes
with the VMID. A reservation goes when nothing of ours can be under its VMID any more, which takes a look at every host.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from nagaya.api.proxmox.proxmox_virtual_machine import DELETED, ProxmoxVirtualMachine
from nagaya.clusters.leftovers import Leftover, Untouched
from nagaya.infrastructure.proxmox.leftovers.seen import Ownerless, Placed, Seen, Stranger
from nagaya.infrastructure.proxmox.virtual_machine import removal
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence


@dataclass(frozen=True, slots=True)
class Orphan:
    """A reservation whose machine is gone, with all that goes with it."""

    reservation: ProxmoxVirtualMachine
    leftovers: tuple[Leftover, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What can go from one data center."""

    where: str
    orphans: tuple[Orphan, ...] = ()
    untouched: tuple[Untouched, ...] = ()
    incomplete: tuple[str, ...] = ()

    @property
    def leftovers(self) -> tuple[Leftover, ...]:
        """All that goes."""
        return tuple(each for orphan in self.orphans for each in orphan.leftovers)


def plan(seen: Seen) -> Plan:
    """Judge."""
    if seen.problem:
        return Plan(seen.where, incomplete=(seen.problem,))
    orphans: list[Orphan] = []
    untouched: list[Untouched] = []
    for each in seen.ownerless:
        going, staying = _reserved(each)
        untouched += staying
        if going:
            orphans.append(Orphan(each.reservation, going))
    untouched += [_stranger(each) for each in seen.strangers]
    untouched += [_image(each) for each in seen.images]
    return Plan(seen.where, tuple(orphans), tuple(untouched), seen.incomplete)


def proven(held: Ownerless) -> tuple[Placed, ...]:
    """The volumes under a free VMID that were made for its last VM."""
    return tuple(each for each in held.volumes if not _doubt(held.reservation, each))


def _reserved(held: Ownerless) -> tuple[tuple[Leftover, ...], tuple[Untouched, ...]]:
    found, spec = held.found, held.reservation.spec
    vm = f"VM {spec.vmid} ({spec.name}){f' on {found.node}' if found.node else ''}"
    if held.doubt:
        what = vm if found.presence is not Presence.ABSENT else _named(held.reservation)
        return (), (Untouched(what, held.doubt, _confirmation(held)),)
    match found.presence:
        case Presence.OURS:
            if why := _in_the_way(found):
                return (), (Untouched(vm, why),)
            return _with_reservation(held, Leftover(f"{vm} with its disks", _vm_proof(held))), ()
        case Presence.ABSENT:
            return _free(held)
        case Presence.FOREIGN:
            gone = Leftover(_named(held.reservation), f"{_gone(held)}; the VMID is that of another VM")
            return (gone,), (Untouched(f"VM {spec.vmid} on {found.node}", found.why),)
        case Presence.BEING_MADE:
            return (), (Untouched(vm, f"It is a clone that has not ended. {removal.UNFINISHED}"),)
        case Presence.UNREACHABLE:
            why = f"{_gone(held)}, but what it left cannot be looked at: {found.why}"
            return (), (Untouched(vm, why, waits=True),)
        case Presence.HIDDEN:
            # A clone comes into its pool last: one that was killed is outside, where the token may not read it.
            return (), (Untouched(vm, f"{_gone(held)}, but {found.why} {removal.UNFINISHED}", waits=True),)


def _confirmation(held: Ownerless) -> str:
    """What lets `nagaya gc` go on where nobody has seen the machine being deleted."""
    if held.reservation.status.phase in DELETED or held.found.presence is not Presence.OURS:
        return ""
    patch = '{"status": {"phase": "Abandoned"}}'
    name = held.reservation.metadata.name
    return (
        f"kubectl patch proxmoxvirtualmachine {name} --subresource=status --type=merge -p '{patch}'"
        "   # `nagaya gc` destroys the VM then: only if its cluster was not moved"
    )


def _in_the_way(found: Found) -> str:
    if found.stranger:
        return f"It has our marker, but {found.stranger}."
    if found.lock and found.lock != "destroyed":
        return f"It is locked ({found.lock}) by another operation. If none runs any more, `qm unlock` frees it."
    return ""


def _free(held: Ownerless) -> tuple[tuple[Leftover, ...], tuple[Untouched, ...]]:
    """Nobody has the VMID."""
    reservation, going, staying = held.reservation, list[Leftover](), list[Untouched]()
    for each in held.volumes:
        what = f"{each.volume.id} on {each.node}"
        if doubt := _doubt(reservation, each):
            free = f"pvesm free {shlex.quote(each.volume.id)}   # on {each.node}"
            staying.append(
                Untouched(what, f"VMID {reservation.spec.vmid} is reserved here and free, but {doubt}.", free)
            )
        else:
            proof = (
                f"it bears VMID {reservation.spec.vmid}, which is reserved by {reservation.metadata.name} and which no "
                f"VM has; {_gone(held)}; it was made after the VMID was reserved"
            )
            going.append(Leftover(what, proof))
    if held.managed:
        sid = f"HA resource vm:{reservation.spec.vmid}"
        going.append(Leftover(sid, f"its VMID is reserved by {reservation.metadata.name}, and no VM has it"))
    if held.unseen:
        why = f"{_gone(held)}, but disks may be left where nobody can look now: {'; '.join(held.unseen)}."
        staying.append(Untouched(_named(reservation), why, waits=True))
        return tuple(going), tuple(staying)
    return (*going, Leftover(_named(reservation), f"{_gone(held)}, and no VM has the VMID")), tuple(staying)


def _with_reservation(held: Ownerless, vm: Leftover) -> tuple[Leftover, ...]:
    images = [
        Leftover(f"{each.volume.id} on {each.node}", f"it is the boot image of VM {held.reservation.spec.vmid}")
        for each in proven(held)
        if each.volume.content == "iso"
    ]
    entry = [Leftover(f"HA resource vm:{held.reservation.spec.vmid}", "it is that of the VM")] if held.managed else []
    return (vm, *images, *entry, Leftover(_named(held.reservation), _gone(held)))


def _vm_proof(held: Ownerless) -> str:
    spec = held.reservation.spec
    pool = f"; it is in pool {spec.pool}" if spec.pool else ""
    return (
        f"its marker has uid {spec.machine_ref.uid}, as reservation {held.reservation.metadata.name} says; it is "
        f"called {spec.name}{pool}; {_gone(held)}"
    )


def _doubt(reservation: ProxmoxVirtualMachine, placed: Placed) -> str:
    """Why a volume under a VMID of ours may be older than our VM; empty if it is not."""
    since, made = reservation.metadata.creation_timestamp, placed.volume.made
    if made is None or since is None:
        return "its host or storage does not tell when it was made: it may be that of an earlier VM"
    if made < since:
        return f"it was made at {made:%Y-%m-%d %H:%M:%S} UTC, before the VMID was reserved: it is that of an earlier VM"
    return ""


def _stranger(stranger: Stranger) -> Untouched:
    vmid, marker = stranger.vmid, stranger.marker
    what = f"VM {vmid} ({stranger.name or 'no name'}) on {stranger.node}"
    if marker is None:
        return Untouched(what, f"It is a clone that has not ended, of whom nobody knows. {removal.UNFINISHED}")
    from_where = (
        "this management API made it, and may have been restored from a backup that is older. The VM may be in use"
        if marker.plane
        else "it is another Nagaya's, or somebody removed its reservation"
    )
    why = (
        f"Its marker says that it is that of machine {marker.machine} (uid {marker.uid}), which this management API "
        f"does not have, and no reservation here is for it: {from_where}."
    )
    return Untouched(
        what,
        why,
        f"qm stop {vmid} && qm destroy {vmid} --purge   # on {stranger.node}: its data goes; only if it is nobody's",
    )


def _image(placed: Placed) -> Untouched:
    why = (
        "It has the name of a boot image, no VM has its VMID, and no reservation here is for it: it is another "
        "Nagaya's, or was made by CAPMOX, which names its images the same."
    )
    free = f"pvesm free {shlex.quote(placed.volume.id)}   # on {placed.node}, if it is nobody's"
    return Untouched(f"{placed.volume.id} on {placed.node}", why, free)


def _named(reservation: ProxmoxVirtualMachine) -> str:
    return f"ProxmoxVirtualMachine {reservation.metadata.name}"


def _gone(held: Ownerless) -> str:
    whose = held.reservation.spec.machine_ref
    machine = f"ProxmoxMachine {whose.namespace}/{whose.name} (uid {whose.uid})"
    return f"{machine} goes on with another VMID" if held.goes_on else f"{machine} is gone"
