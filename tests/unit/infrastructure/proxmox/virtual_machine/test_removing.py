"""Nothing is stopped or destroyed that is not ours at that very moment."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import msgspec
import pytest

from nagaya.infrastructure.proxmox.boot import iso9660
from nagaya.infrastructure.proxmox.client import Upload
from nagaya.infrastructure.proxmox.client.errors import TaskFailed, WrongState
from nagaya.infrastructure.proxmox.virtual_machine.found import Identity, Presence, Strays, find
from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker, marked
from nagaya.infrastructure.proxmox.virtual_machine.removal import Destroy, Stop
from nagaya.infrastructure.proxmox.virtual_machine.removing import boot_image, look, remove, strays
from nagaya.simulators.proxmox import request as emulated
from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.emulator import Proceed
from nagaya.simulators.proxmox.state.storage import Storage
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


def die(there: DataCenter, **options: str) -> None:
    """A storage for disks that none of our VMs use, and that no host can activate."""
    given = {"content": "images", "path": "/mnt/dead", "is_mountpoint": "yes", **options}
    there.emulator.datacenter.storages["dead"] = Storage("dead", "dir", given, reachable=False)


def test_a_storage_that_the_vm_does_not_use_keeps_nobody_from_destroying_it() -> None:
    async def main() -> None:
        async with data_center() as there:
            await made(there)
            die(there)
            config = {"scsi0": "local-lvm:1", "ide3": "dead:iso/debian.iso,media=cdrom"}
            there.emulator.datacenter.guests[100].config["ide3"] = config.pop("ide3")
            await there.client.calls.put("/nodes/pve1/qemu/100/config", config)
            task = await remove(there.client, OURS, Destroy("pve1"))
            assert task is not None
            assert (await there.client.tasks.wait(task)).exitstatus == "OK"
            assert 100 not in there.emulator.datacenter.guests
            sent = [request for _, request in there.transport.sent if request.method == "DELETE"]
            assert ["destroy-unreferenced-disks=0" in each.query for each in sent] == [True]

    run(main())


def test_a_vm_whose_disks_an_earlier_version_has_destroyed_without_it_is_destroyed() -> None:
    async def main() -> None:
        async with data_center() as there:
            await made(there)
            die(there)
            await there.client.calls.put("/nodes/pve1/qemu/100/config", {"scsi0": "local-lvm:1"})
            half = {"destroy-unreferenced-disks": True, "purge": True}
            task = await there.client.calls.begin("DELETE", "/nodes/pve1/qemu/100", half)
            with pytest.raises(TaskFailed, match="expected to be a mount point"):
                await there.client.tasks.wait(task)
            assert "scsi0" in there.emulator.datacenter.guests[100].config
            assert not [each for each in there.emulator.datacenter.volumes.values() if each.vmid == 100]
            task = await remove(there.client, OURS, Destroy("pve1"))
            assert task is not None
            await there.client.tasks.wait(task)
            assert (await look(there.client, OURS, "pve1"))[0].presence is Presence.ABSENT

    run(main())


def test_disks_without_a_vm_are_ours_only_if_they_were_made_after_the_vmid_was_reserved() -> None:
    async def main() -> None:
        async with data_center() as there:
            die(there)

            async def disk(name: str) -> str:
                given = {"vmid": 100, "filename": name, "size": "1G"}
                return str(await there.client.calls.post("/nodes/pve1/storage/local-lvm/content", given))

            await disk("vm-100-disk-0")
            await asyncio.sleep(60)
            ours = replace(OURS, since=there.client.calls.world.clock.now().replace(microsecond=0))
            half_copied, cloud_init = await disk("vm-100-disk-1"), await disk("vm-100-cloudinit")
            found, listed = await look(there.client, ours, "pve1")
            assert (found.presence, set(listed)) == (Presence.ABSENT, {half_copied, cloud_init})
            for each in there.emulator.datacenter.volumes.values():
                each.ctime = 0 if each.id == half_copied else each.ctime
            assert (await look(there.client, ours, "pve1"))[1] == (cloud_init,), "a storage that tells no age"

    run(main())


@pytest.mark.parametrize("seconds", [3600, -3600, None], ids=["ahead", "behind", "silent"])
def test_the_age_of_disks_is_compared_on_one_clock(seconds: int | None) -> None:
    """A disk of an earlier VM on a host whose clock is ahead looks newer than the reservation."""

    async def main() -> None:
        async with data_center() as there:

            async def late(request: emulated.Request, proceed: Proceed) -> emulated.Answer:
                answer = await proceed(request)
                if not request.path.endswith("/nodes/pve1/time"):
                    return answer
                if seconds is None:
                    return replace(answer, status=501)
                told = msgspec.json.decode(answer.body)
                told["data"]["time"] += seconds
                return replace(answer, body=msgspec.json.encode(told))

            async def disk(name: str) -> str:
                given = {"vmid": 100, "filename": name, "size": "1G"}
                made = str(await there.client.calls.post("/nodes/pve1/storage/local-lvm/content", given))
                (volume,) = [each for each in there.emulator.datacenter.volumes.values() if each.id == made]
                volume.ctime += seconds or 0
                return made

            there.emulator.around.append(late)
            await disk("vm-100-disk-0")
            await asyncio.sleep(60)
            ours = replace(OURS, since=there.client.calls.world.clock.now().replace(microsecond=0))
            await asyncio.sleep(2)
            mine = await disk("vm-100-disk-1")
            assert (await look(there.client, ours, "pve1"))[1] == (() if seconds is None else (mine,))

    run(main())


async def left(there: DataCenter, node: str, storage: str = "local") -> str:
    """The CD image with the boot data of VM 100, on a storage of a host."""
    file = Upload(
        boot_image(100), iso9660.image("cidata", {"user-data": b"secret"}, there.client.calls.world.clock.now())
    )
    await there.client.tasks.wait(await there.client.storages.upload(node, storage, "iso", file))
    return f"{storage}:iso/{boot_image(100)}"


def test_the_image_of_a_vm_is_found_on_hosts_that_it_may_be_on() -> None:
    async def main() -> None:
        async with data_center() as there:
            image = await left(there, "pve2")
            assert await strays(there.client, 100, ("pve1", "pve2", "gone")) == Strays((("pve2", image),))
            assert await strays(there.client, 101, ("pve2",)) == Strays()
            there.transport.sent.clear()
            assert await strays(there.client, 100, ()) == Strays()
            assert there.transport.sent == [], "who has left no host behind asks nobody"

    run(main())


def test_a_host_that_is_off_and_a_storage_that_does_not_answer_are_told_as_unseen() -> None:
    async def main() -> None:
        async with data_center() as there:
            await left(there, "pve2")
            Control(there.emulator).power_off("pve1")
            await asyncio.sleep(15)
            there.emulator.datacenter.storages["local"].reachable = False
            found = await strays(there.client, 100, ("pve1", "pve2"))
            assert found.images == ()
            assert found.hosts == ("pve1", "pve2")
            assert "host pve1 is off" in found.warning
            assert "storage local of pve2 cannot be listed" in found.warning

    run(main())


def test_what_a_vm_that_is_gone_has_left_on_other_hosts_is_found_after_what_is_on_its_own() -> None:
    async def main() -> None:
        async with data_center() as there:
            image = await left(there, "pve1")
            await left(there, "pve2")
            found, listed = await look(there.client, OURS, "pve2", ("pve2", "pve1"))
            assert (found.presence, found.node, listed) == (Presence.ABSENT, "pve2", (image,))
            await there.client.tasks.wait(await there.client.storages.delete("pve2", image))
            found, listed = await look(there.client, OURS, "pve2", ("pve2", "pve1"))
            assert (found.node, found.strays, listed) == ("pve2", Strays((("pve1", image),)), ())

    run(main())
