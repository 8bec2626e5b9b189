"""What must be so in a town at rest: nothing without an owner, no owner without its VM, nothing of others touched."""

from __future__ import annotations

from collections import Counter
from typing import Any

from nagaya.api.ipam.ip_address import IP_ADDRESSES
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.infrastructure.proxmox.virtual_machine import marker
from nagaya.simulators.proxmox.layouts.demo import POOL
from support.proxmox_town import Town
from support.proxmox_town_layout import foreign

STRAY = 777


async def disorder(town: Town) -> list[str]:
    """Everything that is not as it must be."""
    machines = await town.all("ProxmoxMachine")
    reservations = (await town.client.list(PROXMOX_VIRTUAL_MACHINES)).items
    uids = _known_by(machines, reservations)
    return [
        *_of_vms(town, uids),
        *_of_volumes(town),
        *_of_reservations(reservations, uids),
        *await _of_addresses(town, machines),
        *await _of_nodes(town),
        *_of_clones(town),
        *_of_others(town),
    ]


def _known_by(machines: list[Any], reservations: list[Any]) -> dict[str, Any]:
    """Machines by the uid that their VM knows them by: the one that they had when it was made, also after a move."""
    made = {(each.spec.machine_ref.namespace, each.spec.machine_ref.name): each for each in reservations}
    found = {}
    for each in machines:
        reservation = made.get((each.metadata.namespace, each.metadata.name))
        found[each.metadata.uid if reservation is None else reservation.spec.machine_ref.uid] = each
    return found


def _of_vms(town: Town, uids: dict[str, Any]) -> list[str]:
    datacenter = town.datacenter
    ours: dict[str, int] = {}
    found = []
    for vmid, guest in datacenter.guests.items():
        if guest.template or vmid in town.strangers:
            continue
        marked = marker.read(str(guest.config.get("description") or ""))
        if marked is None or marked.uid not in uids:
            found.append(f"VM {vmid} ({guest.config.get('name')}) has no owner")
        elif marked.uid in ours:
            found.append(f"VMs {vmid} and {ours[marked.uid]} are both those of {marked.machine}")
        else:
            ours[marked.uid] = vmid
        if vmid not in datacenter.pools[POOL].vms:
            found.append(f"VM {vmid} is not in the pool")
    for uid, machine in uids.items():
        if ours.get(uid) != machine.spec.virtual_machine_id or uid not in ours:
            found.append(f"ProxmoxMachine {machine.metadata.name} has no VM: {machine.spec.virtual_machine_id}")
    known = {f"vm:{vmid}" for vmid in datacenter.guests}
    found += [f"HA resource {sid} has no VM" for sid in datacenter.ha.resources if sid not in known]
    gone = sorted(vmid for vmid in datacenter.pools[POOL].vms if vmid not in datacenter.guests)
    return found + [f"VM {vmid} is in the pool and does not exist" for vmid in gone]


def _of_volumes(town: Town) -> list[str]:
    datacenter, found = town.datacenter, []
    referenced = {
        str(value).partition(",")[0] for guest in datacenter.guests.values() for value in guest.config.values()
    }
    for volume in datacenter.volumes.values():
        if volume.vmid is not None and volume.vmid != STRAY and volume.id not in referenced:
            found.append(f"volume {volume.id} on {volume.node} is in no VM")
        elif "user-data-" in volume.name:
            found.append(f"boot data {volume.id} on {volume.node} were not removed")
    return found


def _of_reservations(reservations: list[Any], uids: dict[str, Any]) -> list[str]:
    wanted = {uid: each.spec.virtual_machine_id for uid, each in uids.items()}
    found = [
        f"reservation {each.metadata.name} has no machine ({each.status.phase}: {each.status.message})"
        for each in reservations
        if wanted.get(each.spec.machine_ref.uid) != each.spec.vmid
    ]
    reserved = {each.spec.machine_ref.uid for each in reservations}
    return found + [
        f"ProxmoxMachine {each.metadata.name} has no reservation" for uid, each in uids.items() if uid not in reserved
    ]


async def _of_addresses(town: Town, machines: list[Any]) -> list[str]:
    uids = {each.metadata.uid for each in machines}
    claims = await town.all("IPAddressClaim")
    found = [
        f"IPAddressClaim {each.metadata.name} has no machine"
        for each in claims
        if not any(owner.uid in uids for owner in each.metadata.owner_references)
    ]
    names = {each.metadata.name for each in claims}
    addresses = (await town.client.list(IP_ADDRESSES, town.namespace)).items
    found += [
        f"IPAddress {each.metadata.name} has no claim" for each in addresses if each.spec.claim_ref.name not in names
    ]
    twice = [key for key, count in Counter(each.spec.address for each in addresses).items() if count > 1]
    return found + [f"address {each} was given twice" for each in twice]


async def _of_nodes(town: Town) -> list[str]:
    machines = await town.all("Machine")
    wanted = {each.status.node_ref.name for each in machines if each.status.node_ref is not None}
    nodes = {
        each.metadata.name
        for name in town.names
        if any(machine.spec.cluster_name == name for machine in machines)
        for each in await town.nodes(name)
    }
    return [f"Node {each} has no Machine" for each in sorted(nodes - wanted)] + [
        f"Node {each} of a Machine does not exist" for each in sorted(wanted - nodes)
    ]


def _of_clones(town: Town) -> list[str]:
    """No machine ever had a second VM: its name is that of one clone that came to its end."""
    made = Counter(name for name, _ in town.made)
    return [f"{count} VMs were made for {name}" for name, count in made.items() if count > 1]


def _of_others(town: Town) -> list[str]:
    now = foreign(town.datacenter)
    if now == town.untouched:
        return []
    before, after = town.untouched.splitlines(), now.splitlines()
    return [f"was: {each}" for each in before if each not in after] + [
        f"is: {each}" for each in after if each not in before
    ]
