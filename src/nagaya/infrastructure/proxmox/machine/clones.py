"""Clones that run and that this process has not begun: those of an earlier one of ours, and those of other people.

They take the same storages, so they count where the number of clones at a time is limited (CAPMOX and others run into
Proxmox VE's lock timeouts instead). A task tells only which VM is copied. Of a clone of ours its machine says where to;
of any other it is taken to go where its source is.
"""

from __future__ import annotations

import logging
from typing import Final

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.infrastructure.proxmox.client import Snapshot, Upid
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.hardware import DEFAULT_DISKS
from nagaya.infrastructure.proxmox.machine.memory import TEMPLATE_AGE, Memory
from nagaya.infrastructure.proxmox.placement import Clone, Reservation
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

CLONES_AGE: Final = 10.0
"""Seconds for which the clones that run on a host are taken to be those that ran there."""
_CLONE: Final = "qmclone"


async def running_clones(
    rt: Runtime, memory: Memory, link: Link, snapshot: Snapshot, machine: str
) -> tuple[Reservation, ...]:
    """What they take, in the words of placement, as far as a machine (its uid) has to know. A host that cannot tell has
    none."""
    found: list[Upid] = []
    for host in _hosts(snapshot, memory.promises.get(machine)):
        found += [each for each in await _on(rt, memory, link, host) if each.text not in memory.begun]
    if not found:
        return ()
    ours = {each.status.task_ref: each for each in rt.cache.list(PROXMOX_MACHINES) if each.status.task_ref}
    return tuple(
        [
            Reservation(
                f"task {each}",
                _host(each, ours.get(each.text)),
                clone=Clone.RUNNING,
                clone_storage=await _storage(rt, memory, link, each, ours.get(each.text)),
            )
            for each in found
        ]
    )


def _hosts(snapshot: Snapshot, promised: Reservation | None) -> list[str]:
    """Who has to be asked: whoever waits for a storage of one host needs to know of no other."""
    online = sorted(each.name for each in snapshot.hosts.values() if each.online)
    if promised is None or promised.host not in online:
        return online
    storage = snapshot.storages.get((promised.host, promised.clone_storage))
    return [promised.host] if storage is not None and not storage.shared else online


async def _on(rt: Runtime, memory: Memory, link: Link, host: str) -> tuple[Upid, ...]:
    key = (link.datacenter, host)
    async with memory.one_at_a_time(("clones", *key)):
        held, now = memory.clones.get(key), rt.world.clock.monotonic()
        if held is None or now - held[0] > CLONES_AGE:
            try:
                held = now, await link.proxmox.tasks.running(host, _CLONE)
            except ProxmoxError as error:
                log.info("the clones that run on %s are not known: %s", host, error)
                held = now, ()
            memory.clones[key] = held
    return held[1]


def _host(task: Upid, machine: ProxmoxMachine | None) -> str:
    return (machine.status.proxmox_node if machine is not None else "") or task.node


async def _storage(rt: Runtime, memory: Memory, link: Link, task: Upid, machine: ProxmoxMachine | None) -> str:
    if machine is not None and machine.spec.full is not False and (named := machine.spec.storage or link.storage):
        return named
    config = await _source(rt, memory, link, task)
    disks = config.disks if config is not None else {}
    first = next((disks[each] for each in DEFAULT_DISKS if each in disks), None)
    return (first.leading or "").partition(":")[0] if first is not None else ""


async def _source(rt: Runtime, memory: Memory, link: Link, task: Upid) -> MachineConfig | None:
    if not task.id.isdigit():
        return None
    key = (link.datacenter, int(task.id))
    async with memory.one_at_a_time(("template", *key)):
        held, now = memory.templates.get(key), rt.world.clock.monotonic()
        if held is None or now - held[0] > TEMPLATE_AGE:
            try:
                held = now, await link.proxmox.machines.config(task.node, int(task.id))
            except ProxmoxError as error:
                log.info("VM %s, which is being cloned on %s, cannot be read: %s", task.id, task.node, error)
                return None
            memory.templates[key] = held
    return held[1]
