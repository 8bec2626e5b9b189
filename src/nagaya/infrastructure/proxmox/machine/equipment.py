"""What is asked of hosts before a machine gets one: no more than the machine needs, and of no host that is off.

A host that does not tell gets no machine, and stops nobody.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.infrastructure.proxmox.client import Snapshot
from nagaya.infrastructure.proxmox.client.equipment import PATIENCE, Devices
from nagaya.infrastructure.proxmox.client.equipment import Equipment as Reader
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError, Unauthorized
from nagaya.infrastructure.proxmox.machine.wish import Equipment, Whose, bridges
from nagaya.infrastructure.proxmox.virtual_machine.link import Link

log = logging.getLogger(__name__)


async def equipment_for(
    machine: ProxmoxMachine, link: Link, snapshot: Snapshot, owned: Mapping[int, Whose]
) -> Equipment:
    """Bridges if the machine has devices on some, mappings if it has devices from some. Raises Unauthorized."""
    reader = link.proxmox.inventory.equipment
    found: dict[str, frozenset[str]] = {}
    silent: dict[str, str] = {}
    if bridges(machine, link.bridge):
        online = [host.name for host in snapshot.hosts.values() if host.online and not host.maintenance]
        for host, told in (await reader.bridges(online)).items():
            if isinstance(told, Unauthorized):
                raise told  # that is no fault of the host
            if isinstance(told, frozenset):
                found[host] = told
            else:
                silent[host] = f"no answer within {PATIENCE:g} s" if told is None else told.why
    mappings, taken = await _devices(machine, reader, snapshot, owned)
    return Equipment(found, silent, mappings, taken)


async def _devices(
    machine: ProxmoxMachine, reader: Reader, snapshot: Snapshot, owned: Mapping[int, Whose]
) -> tuple[Mapping[str, Devices], Mapping[int, tuple[str, ...]]]:
    """The mappings, and who else has devices of those that the machine needs. What our own machines have is known."""
    wanted = {each.mapping for each in machine.spec.pci_devices}
    if not wanted:
        return {}, {}
    try:
        mappings = await reader.mappings()
    except ProxmoxError as error:
        # Then no host has such a device, which is told for each.
        log.info("machine %s: PCI mappings cannot be read: %s", machine.metadata.name, error)
        return {}, {}
    hosts = {host for name in wanted & mappings.keys() for host in mappings[name].paths}
    others = [
        row
        for row in snapshot.machines.values()
        if row.vmid not in owned
        and not row.template
        and row.node in hosts
        and (host := snapshot.hosts.get(row.node)) is not None
        and host.online
    ]
    return mappings, await reader.taken(others, mappings)
