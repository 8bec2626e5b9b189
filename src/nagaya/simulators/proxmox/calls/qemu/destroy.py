"""Destroying machines, with the volumes that are theirs.

The number stays taken until the very end, by a file with nothing but a lock. Rights on the machine and its place in a
pool go before that. A volume that cannot be removed is only a warning. With destroy-unreferenced-disks every storage
for disks that the host has is activated after the machine's own volumes are removed: if one cannot be, the task fails
there and leaves a machine without disks.
"""

from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of, only_root, start_task
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.actions.disks import referenced_volumes
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.storages.volume_name import split_id
from nagaya.simulators.proxmox.tasks.runner import Task

handlers = Handlers()


@handlers("DELETE", "/nodes/{node}/qemu/{vmid}")
async def destroy(call: Call) -> str:
    """Destroy a machine."""
    only_root(call, "skiplock")
    host, vmid = host_of(call), call["vmid"]
    purge = bool(call.get("purge"))
    _check(host, vmid, purge)

    async def work(task: Task) -> None:
        async with host.lock(vmid, task):
            managed = _check(host, vmid, purge)
            await _destroy(host, vmid, bool(call.get("skiplock")), bool(call.get("destroy-unreferenced-disks")), task)
            datacenter = call.emulator.datacenter
            datacenter.access.forget_path(f"/vms/{vmid}")
            for pool in datacenter.pools.values():
                pool.vms.discard(vmid)
            if purge:
                task.say(f"purging VM {vmid} from related configurations..")
                if managed:
                    del datacenter.ha.resources[f"vm:{vmid}"]
                    task.say(f"NOTE: removed VM {vmid} from HA resource configuration.")
            await task.step("remove")
            host.remove(vmid)

    return start_task(call, "qmdestroy", vmid, work)


def _check(host: Host, vmid: int, purge: bool) -> bool:
    """Refuse what must not be destroyed; say whether the HA manager looks after it."""
    configuration = host.load(vmid)
    configuration.check_protection(f"can't remove VM {vmid}")
    managed = f"vm:{vmid}" in host.emulator.datacenter.ha.resources
    if managed and not purge:
        raise Failure(f"unable to remove VM {vmid} - used in HA resources and purge parameter not set.\n")
    if host.process(vmid) is not None:
        raise Failure(f"VM {vmid} is running - destroy failed\n")
    return managed


async def _destroy(host: Host, vmid: int, skip_lock: bool, unreferenced: bool, task: Task) -> None:
    configuration = host.load(vmid)
    if not skip_lock and configuration.lock != "suspended":
        configuration.check_lock()
    if configuration.template:
        _check_bases(host, configuration, task)
    await task.step("destroy")
    await asyncio.sleep(host.emulator.pace.destroy)
    await _free(host, configuration, task)
    if unreferenced:
        for left in host.volumes.all_images(vmid):
            try:
                await host.volumes.free(task, left.id)
            except Failure as failure:
                task.warn(failure.text)
    host.write(Configuration(vmid, {"lock": "destroyed"}), task)


async def _free(host: Host, configuration: Configuration, task: Task) -> None:
    freed: set[str] = set()
    for volume in referenced_volumes(configuration):
        if volume in freed:
            continue
        try:
            owner = host.volumes.owner(volume)
        except Failure as failure:
            task.warn(f"failed to get path and owner of volume '{volume}': {failure.text}")
            continue
        if owner != configuration.vmid:
            continue
        freed.add(volume)
        try:
            await host.volumes.free(task, volume)
        except Failure as failure:
            task.warn(f"Could not remove disk '{volume}', check manually: {failure.text}")


def _check_bases(host: Host, configuration: Configuration, task: Task) -> None:
    """Refuse to take away what linked clones stand on; where that cannot be found out, removing it fails later."""
    files = [drive.file for drive in configuration.drives() if not drive.cdrom]
    files += [str(value) for name, value in configuration.options.items() if options.family(name) == "unused"]
    for volume in filter(split_id, files):
        try:
            used = host.volumes.base_in_use(volume)
        except Failure as failure:
            task.warn(f"failed to check if volume '{volume}' is used by linked clones: {failure.text}")
            continue
        if used:
            raise Failure(f"base volume '{volume}' is still in use by linked cloned\n")
