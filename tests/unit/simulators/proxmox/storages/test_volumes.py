from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.storage import Storage
from nagaya.simulators.proxmox.storages.usage import usage_of
from nagaya.simulators.proxmox.storages.volume_name import parse
from nagaya.simulators.proxmox.storages.volumes import Volumes
from nagaya.simulators.proxmox.tasks.runner import Silence
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.virtual_run import run

GIB = 1 << 30


def _with(lab: ProxmoxLab, type: str, **options: object) -> Volumes:
    lab.datacenter.storages["disks"] = Storage("disks", type, {"content": "images", **options}, capacity=10 * GIB)
    return Volumes(lab.emulator, "pve1")


@given(st.integers(100, 999_999_999), st.integers(0, 99), st.sampled_from(["raw", "qcow2", "vmdk"]))
def test_a_name_says_who_owns_a_disk_and_what_it_is_linked_to(vmid: int, number: int, format: str) -> None:
    base = f"base-9000-disk-0.{format}"
    linked = parse("dir", f"9000/{base}/{vmid}/vm-{vmid}-disk-{number}.qcow2")
    assert (linked.vmid, linked.base, linked.base_vmid, linked.is_base) == (vmid, base, 9000, False)
    assert parse("zfspool", f"base-9000-disk-0/vm-{vmid}-disk-{number}").base_vmid == 9000
    assert parse("lvmthin", f"base-{vmid}-disk-{number}").is_base


@pytest.mark.parametrize("type", ["dir", "nfs", "lvmthin", "zfspool", "rbd"])
def test_disks_get_the_first_free_number(type: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            volumes = _with(lab, type, path="/srv/disks")
            made = [await volumes.allocate(Silence(), "disks", 100, "raw", GIB) for _ in range(3)]
            await volumes.free(Silence(), made[1].id)
            again = await volumes.allocate(Silence(), "disks", 100, "raw", GIB)
            assert again.id == made[1].id
            assert len({volume.id for volume in [*made, again]}) == 3

    run(main())


@pytest.mark.parametrize("type", ["dir", "zfspool", "rbd"])
def test_a_base_with_linked_clones_stays(type: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            volumes = _with(lab, type, path="/srv/disks")
            disk = await volumes.allocate(Silence(), "disks", 100, "raw", GIB)
            base = await volumes.make_base(Silence(), disk.id)
            clone = await volumes.clone(Silence(), base.id, 101)
            with pytest.raises(Failure, match="is still in use by linked clones"):
                await volumes.free(Silence(), base.id)
            await volumes.free(Silence(), clone.id)
            await volumes.free(Silence(), base.id)
            assert list(volumes.on(lab.datacenter.storages["disks"])) == []

    run(main())


def test_thick_storages_can_be_full() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            volumes = _with(lab, "lvm", vgname="v")
            await volumes.allocate(Silence(), "disks", 100, "raw", 8 * GIB)
            assert usage_of(lab.datacenter, lab.datacenter.storages["disks"], "pve1").free == 2 * GIB
            with pytest.raises(Failure) as refused:
                await volumes.allocate(Silence(), "disks", 100, "raw", 3 * GIB)
            assert refused.value.message == (
                "lvcreate 'v/vm-100-disk-1' error:   "
                'Volume group "v" has insufficient free space (512 extents): 768 required.\n'
            )

    run(main())


def test_a_thick_zfs_pool_can_be_full_and_a_sparse_one_not() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            volumes = _with(lab, "zfspool", pool="tank")
            with pytest.raises(Failure) as refused:
                await volumes.allocate(Silence(), "disks", 100, "raw", 11 * GIB)
            assert refused.value.message == "zfs error: cannot create 'tank/vm-100-disk-0': out of space\n"
            lab.datacenter.storages["disks"].options["sparse"] = 1
            await volumes.allocate(Silence(), "disks", 100, "raw", 11 * GIB)

    run(main())


def test_names_on_storages_without_folders_carry_the_number_of_the_machine() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            volumes = _with(lab, "lvmthin", vgname="v", thinpool="data")
            await volumes.allocate(Silence(), "disks", 100, "raw", GIB, "vm-100-disk-0")
            with pytest.raises(Failure) as foreign:
                await volumes.allocate(Silence(), "disks", 100, "raw", GIB, "vm-101-disk-0")
            assert foreign.value.message == "illegal name 'vm-101-disk-0' - should be 'vm-100-*'\n"
            with pytest.raises(Failure) as twice:
                await volumes.allocate(Silence(), "disks", 100, "raw", GIB, "vm-100-disk-0")
            assert twice.value.message == (
                "lvcreate 'v/vm-100-disk-0' error:   "
                'Logical Volume "vm-100-disk-0" already exists in volume group "v"\n'
            )

    run(main())


def test_a_local_volume_is_on_one_host_and_a_shared_one_on_all() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            here = _with(lab, "dir", path="/srv/disks")
            local = await here.allocate(Silence(), "disks", 100, "raw", GIB)
            there = Volumes(lab.emulator, "pve2")
            assert there.find(local.id) is None
            lab.datacenter.storages["far"] = Storage("far", "nfs", {"path": "/mnt/pve/far", "content": "images"})
            shared = await here.allocate(Silence(), "far", 100, "raw", GIB)
            assert there.find(shared.id) is shared
            assert here.at("/mnt/pve/far/images/100/vm-100-disk-0.raw") is shared

    run(main())


def test_a_storage_that_cannot_be_reached_is_named() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            volumes = _with(lab, "nfs", path="/mnt/pve/disks")
            lab.datacenter.storages["disks"].reachable = False
            with pytest.raises(Failure, match="storage 'disks' is not online"):
                await volumes.allocate(Silence(), "disks", 100, "raw", GIB)
            rows = {row["storage"]: row for row in await lab.data("GET", "/nodes/pve1/storage")}
            assert (rows["disks"]["enabled"], rows["disks"]["active"], rows["disks"]["total"]) == (1, 0, 0)

    run(main())


def test_a_copy_that_does_not_fit_fails_as_a_task_and_leaves_nothing() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            source = lab.datacenter.volumes["pve1", "store:201/vm-201-disk-0.raw"]
            source.used = 100 << 20
            target = lab.datacenter.storages["images2"]
            target.foreign = target.capacity - (50 << 20)
            given = {"newid": 950, "full": 1, "storage": "images2"}
            task = await lab.task("POST", "/nodes/pve1/qemu/201/clone", given)
            assert any(line.endswith("No space left on device") for line in task.log)
            assert (task.exitstatus or "").startswith("clone failed: copy failed: command '/usr/bin/qemu-img convert ")
            assert (task.exitstatus or "").endswith("failed: exit code 1")
            assert 950 not in lab.datacenter.guests
            assert not any(volume.storage == "images2" for volume in lab.datacenter.volumes.values())

    run(main())


def test_what_is_said_of_a_new_disk_depends_on_its_format() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = "/nodes/pve1/qemu/400/clone"
            task = await lab.task("POST", path, {"newid": 500, "full": 1, "format": "vmdk"})
            made = "Formatting '/var/lib/store/images/500/vm-500-disk-0.vmdk', fmt=vmdk size=1073741824"
            assert f"{made} compat6=off hwversion=undefined" in task.log

    run(main())


def test_only_raw_and_qcow2_disks_can_grow() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu", {"vmid": 500, "scsi0": "store:1,format=vmdk"})
            task = await lab.task("PUT", "/nodes/pve1/qemu/500/resize", {"disk": "scsi0", "size": "+1G"})
            assert task.exitstatus == "can't resize this image format"

    run(main())


def test_a_folder_on_a_storage_of_files_has_no_size() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path, name = "/nodes/pve1/storage/store/content", "subvol-200-disk-0.subvol"
            given = {"filename": name, "vmid": 200, "format": "subvol"}
            answer = await lab.ask("POST", path, {**given, "size": "1M"})
            assert answer.reason == "storage does not support subvol quotas"
            assert await lab.data("POST", path, {**given, "size": "0"}) == f"store:200/{name}"

    run(main())
