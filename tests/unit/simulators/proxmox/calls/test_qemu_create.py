from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.storage import Volume
from nagaya.simulators.proxmox.tasks.runner import Task
from support.proxmox_lab import proxmox_lab, token
from support.virtual_run import run

QEMU = "/nodes/pve1/qemu"


def test_a_machine_is_made_from_an_image() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            image = Volume(
                "local", "import/debian.qcow2", "import", "qcow2", 2 << 30, 0, "pve1", used=1 << 29, system="debian"
            )
            lab.datacenter.volumes["pve1", image.id] = image
            given = {
                "vmid": 300,
                "name": "node1",
                "memory": 2048,
                "kvm": 0,
                "agent": 1,
                "scsi0": f"images2:0,import-from={image.id},format=qcow2",
                "ide2": "store:cloudinit",
                "net0": "virtio,bridge=vmbr0",
                "ipconfig0": "ip=192.0.2.77/24,gw=192.0.2.1",
                "tags": "Blue,red",
                "pool": "dev",
                "start": 1,
            }
            task = await lab.task("POST", QEMU, given)
            assert task.exitstatus == "OK", task.log
            config = await lab.data("GET", f"{QEMU}/300/config")
            assert config["scsi0"] == "images2:300/vm-300-disk-0.qcow2,size=2G"
            assert config["ide2"] == "store:300/vm-300-cloudinit.qcow2,media=cdrom"
            assert config["boot"] == "order=scsi0;ide2;net0"
            assert config["tags"] == "blue;red"
            assert 300 in lab.datacenter.pools["dev"].vms
            await asyncio.sleep(10)
            answer = await lab.data("GET", f"{QEMU}/300/agent/network-get-interfaces")
            assert answer["result"][1]["ip-addresses"][0]["ip-address"] == "192.0.2.77"
            assert (await lab.data("GET", f"{QEMU}/300/agent/get-host-name"))["result"] == {"host-name": "node1"}

    run(main())


def test_a_disk_is_made_from_the_disk_of_another_machine_which_is_not_changed_meanwhile() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            disk = lab.datacenter.volumes["pve1", "store:200/vm-200-disk-0.qcow2"]
            disk.size = disk.used = 60 << 30
            upid = await lab.data("POST", QEMU, {"vmid": 300, "scsi0": f"store:0,import-from={disk.id}"})
            task = lab.emulator.tasks.known[upid]
            await asyncio.sleep(5)
            assert task.worker is not None
            assert task.log[0] == f"create full clone of drive scsi0 ({disk.id})"
            answer = await lab.ask("PUT", f"{QEMU}/200/config", {"cores": 2})
            assert answer.status == 500
            assert answer.reason == "can't lock file '/var/lock/qemu-server/lock-200.conf' - got timeout"
            await asyncio.wait([task.worker])
            assert task.exitstatus == "OK"
            lab.datacenter.guests[202].node = "pve2"
            other = Volume("store", "202/vm-202-disk-0.qcow2", "images", "qcow2", 1 << 30, 0, "pve1", 202)
            lab.datacenter.volumes["pve1", other.id] = other
            for source, reason in (
                ("store:200/vm-200-cloudinit.qcow2", "cannot import from cloudinit disk"),
                (other.id, "owner VM 202 not on local node"),
            ):
                task = await lab.task("POST", QEMU, {"vmid": 301, "scsi0": f"store:0,import-from={source}"})
                assert task.exitstatus == f"unable to create VM 301 - cannot import from '{source}' - {reason}"
                assert 301 not in lab.datacenter.guests

    run(main())


def test_a_disk_is_made_from_a_file_of_the_host() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            file = Volume("local", "import/debian.raw", "import", "raw", 1 << 30, 0, "pve1", system="debian")
            lab.datacenter.volumes["pve1", file.id] = file
            given = {"vmid": 300, "scsi0": "store:0,import-from=/var/lib/vz/import/debian.raw,format=qcow2"}
            task = await lab.task("POST", QEMU, given)
            assert task.exitstatus == "OK"
            assert lab.datacenter.volumes["pve1", "store:300/vm-300-disk-0.qcow2"].system == "debian"
            task = await lab.task("POST", QEMU, {**given, "vmid": 302, "template": 1})
            assert task.exitstatus == "OK"
            assert lab.datacenter.guests[302].config["scsi0"].startswith("store:302/base-302-disk-0.qcow2,")
            given = {"vmid": 301, "scsi0": "store:0,import-from=/var/lib/vz/import/nosuch.raw"}
            task = await lab.task("POST", QEMU, given)
            assert task.exitstatus == "unable to create VM 301 - can't find file '/var/lib/vz/import/nosuch.raw'"

    run(main())


def test_a_machine_that_cannot_be_made_leaves_neither_number_nor_disk() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            before = set(lab.datacenter.volumes)
            task = await lab.task("POST", QEMU, {"vmid": 300, "scsi0": "store:1", "scsi1": "off:1"})
            assert task.exitstatus == "unable to create VM 300 - storage 'off' is disabled"
            assert 300 not in lab.datacenter.guests
            assert set(lab.datacenter.volumes) == before

    run(main())


def test_a_stopped_creation_cleans_up_and_a_killed_one_leaves_its_lock() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            image = Volume("local", "import/big.raw", "import", "raw", 100 << 30, 0, "pve1", used=100 << 30)
            lab.datacenter.volumes["pve1", image.id] = image
            before = set(lab.datacenter.volumes)

            async def begun(vmid: int) -> Task:
                given = {"vmid": vmid, "scsi0": "store:1", "scsi1": f"store:0,import-from={image.id}"}
                upid = await lab.data("POST", QEMU, given)
                await asyncio.sleep(5)
                return lab.emulator.tasks.known[upid]

            task = await begun(300)
            await lab.data("DELETE", f"/nodes/pve1/tasks/{task.upid}")
            assert task.exitstatus is not None
            assert task.exitstatus.startswith(
                f"unable to create VM 300 - cannot import from '{image.id}' - copy failed"
            )
            assert task.exitstatus.endswith("failed: interrupted by signal")
            assert 300 not in lab.datacenter.guests
            assert set(lab.datacenter.volumes) == before
            task = await begun(301)
            lab.emulator.tasks.kill(task)
            await asyncio.sleep(5)
            assert lab.datacenter.guests[301].config == {"lock": "create"}
            assert len(lab.datacenter.volumes) == len(before) + 2

    run(main())


def test_the_number_is_taken_before_anything_else_happens() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:

            async def mishap(task: Task, step: str) -> None:
                if step == "allocate":
                    await asyncio.sleep(100)
                    raise Failure("no space left on device\n")

            lab.emulator.tasks.before_step = mishap
            upid = await lab.data("POST", QEMU, {"vmid": 300, "scsi0": "store:1"})
            assert lab.datacenter.guests[300].lock == "create"
            answer = await lab.ask("POST", QEMU, {"vmid": 300})
            assert answer.reason.startswith("unable to create VM 300 - ")
            task = await lab.ended(upid)
            assert task.exitstatus == "unable to create VM 300 - no space left on device"
            assert 300 not in lab.datacenter.guests

    run(main())


def test_a_managed_machine_is_left_to_the_manager() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = await lab.task("POST", QEMU, {"vmid": 300, "ha-managed": 1, "start": 1})
            assert task.log == ["Add as HA resource", "Execute autostart", "TASK OK"]
            assert lab.datacenter.ha.resources["vm:300"]["state"] == "started"
            answer = await lab.ask("DELETE", f"{QEMU}/300")
            assert answer.reason == "unable to remove VM 300 - used in HA resources and purge parameter not set."

    run(main())


def test_a_pool_is_enough_to_make_machines_in() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.access.roles["Maker"] = frozenset({"VM.Allocate", "VM.Config.Memory"})
            lab.datacenter.access.acl["/pool/dev", "user", "ops@pve", "Maker"] = True
            ops = token("ops@pve!k1")
            assert (await lab.ask("POST", QEMU, {"vmid": 300}, headers=ops)).reason == "Permission check failed"
            task = await lab.task("POST", QEMU, {"vmid": 300, "pool": "dev", "memory": 64}, headers=ops)
            assert (task.exitstatus, task.upid.user) == ("OK", "ops@pve!k1")

    run(main())


def test_who_starts_a_machine_along_with_making_it_may_do_both() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            access, ops = lab.datacenter.access, token("ops@pve!k1")
            access.roles["Maker"] = frozenset({"VM.Allocate", "VM.Config.HWType"})
            access.roles["Starter"] = frozenset({"VM.PowerMgmt"})
            access.acl["/pool/dev", "user", "ops@pve", "Maker"] = True
            given = {"vmid": 300, "pool": "dev", "kvm": 0, "start": 1}
            refused = await lab.ask("POST", QEMU, given, headers=ops)
            assert refused.reason == "Permission check failed (/vms/300, VM.PowerMgmt)"
            access.acl["/pool/dev", "user", "ops@pve", "Starter"] = True
            assert (await lab.task("POST", QEMU, given, headers=ops)).exitstatus == "OK"

    run(main())


def test_who_may_use_the_backups_of_a_machine_may_put_one_in_its_place() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            access, ops = lab.datacenter.access, token("ops@pve!k1")
            access.roles["Saver"] = frozenset({"VM.Backup", "Datastore.AllocateSpace"})
            access.acl["/", "user", "ops@pve", "Saver"] = True
            archive = "local:backup/vzdump-qemu-200-2026_01_01-00_00_00.vma.zst"
            for given, why in (
                ({"vmid": 200}, "Permission check failed"),
                ({"vmid": 300, "force": 1}, "Permission check failed"),
                ({"vmid": 200, "force": 1}, f"volume '{archive}' does not exist"),
            ):
                answer = await lab.ask("POST", QEMU, {**given, "archive": archive}, headers=ops)
                assert answer.reason == why

    run(main())


def test_disks_of_a_new_template_are_bases() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = await lab.task("POST", QEMU, {"vmid": 300, "template": 1, "scsi0": "store:1,format=qcow2"})
            assert task.exitstatus == "OK"
            config = await lab.data("GET", f"{QEMU}/300/config")
            assert (config["template"], config["scsi0"]) == (1, "store:300/base-300-disk-0.qcow2,size=1G")

    run(main())


def test_an_archive_that_is_not_there_is_refused_at_once() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            archive = "local:backup/vzdump-qemu-100-2026_01_01-00_00_00.vma.zst"
            for given, why in (
                (archive, f"volume '{archive}' does not exist"),
                ("/tmp/x.vma", "can't find file '/tmp/x.vma'"),
                ("-", "pipe requires cli environment"),
            ):
                assert (await lab.ask("POST", QEMU, {"vmid": 300, "archive": given})).reason == why
            assert 300 not in lab.datacenter.guests

    run(main())


def test_a_new_machine_that_is_managed_is_started_by_the_manager() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", QEMU, {"vmid": 300, "kvm": 0, "ha-managed": 1, "start": 1})
            (started,) = [task for task in lab.emulator.tasks.known.values() if task.upid.type == "hastart"]
            assert (await lab.ended(str(started.upid))).log[0] == "Requesting HA start for VM 300"
            assert lab.datacenter.ha.resources["vm:300"]["state"] == "started"

    run(main())
