"""Nothing is stopped or destroyed that is not ours at that very moment."""

from __future__ import annotations

import asyncio

import pytest

from nagaya.infrastructure.proxmox.client.errors import WrongState
from nagaya.infrastructure.proxmox.virtual_machine.found import Identity, find
from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker, marked
from nagaya.infrastructure.proxmox.virtual_machine.removal import Destroy, Stop
from nagaya.infrastructure.proxmox.virtual_machine.removing import remove
from support.proxmox_transport import DataCenter, data_center
from support.virtual_run import run

OURS = Identity(100, "a", "u-1", "nagaya")


async def made(there: DataCenter) -> None:
    """Our VM 100 on pve1, as it was last seen."""
    created = await there.client.machines.create(
        "pve1", 100, {"name": "a", "memory": 512, "description": marked("", Marker("fleet/a", "u-1"))}, pool="nagaya"
    )
    await there.client.tasks.wait(created)
    await asyncio.sleep(15)  # until the host has told of it
    await find(there.client, OURS)


@pytest.mark.parametrize("step", [Stop("pve1", 0), Destroy("pve1")], ids=["stop", "destroy"])
def test_a_vm_that_has_just_left_the_pool_is_left_alone(step: Stop | Destroy) -> None:
    async def main() -> None:
        async with data_center() as there:
            await made(there)
            await there.client.calls.put("/pools/nagaya", {"vms": 100, "delete": True})
            assert await remove(there.client, OURS, step) is None
            assert 100 in there.emulator.datacenter.guests

    run(main())


def test_a_vm_that_is_ours_in_all_respects_is_destroyed() -> None:
    async def main() -> None:
        async with data_center() as there:
            await made(there)
            task = await remove(there.client, OURS, Destroy("pve1"))
            assert task is not None
            await there.client.tasks.wait(task)
            assert 100 not in there.emulator.datacenter.guests

    run(main())


def test_a_vm_is_not_destroyed_while_a_storage_of_its_disks_cannot_be_reached() -> None:
    """PVE would destroy it with a warning, and leave the disks behind."""

    async def main() -> None:
        async with data_center() as there:
            await made(there)
            await there.client.calls.put("/nodes/pve1/qemu/100/config", {"scsi0": "local-lvm:1"})
            there.emulator.datacenter.storages["local-lvm"].reachable = False
            with pytest.raises(WrongState, match=r"local-lvm cannot be reached from pve1.*when the storage is back"):
                await remove(there.client, OURS, Destroy("pve1"))
            assert 100 in there.emulator.datacenter.guests
            there.emulator.datacenter.storages["local-lvm"].reachable = True
            task = await remove(there.client, OURS, Destroy("pve1"))
            assert task is not None
            await there.client.tasks.wait(task)
            assert not [each for each in there.emulator.datacenter.volumes.values() if each.vmid == 100]

    run(main())
