"""Disks that move, grow, become bases, or go with their machine."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.simulators.proxmox.state.guest import Process
from nagaya.simulators.proxmox.state.storage import Storage
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.subtest_cases import subtest_cases
from support.virtual_run import run

QEMU = "/nodes/pve1/qemu"


def volumes(lab: ProxmoxLab, vmid: int) -> set[str]:
    return {volume.id for volume in lab.datacenter.volumes.values() if volume.vmid == vmid}


def test_a_disk_moves_to_another_storage_and_format() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            given = {"disk": "scsi0", "storage": "images2", "format": "raw"}
            task = await lab.task("POST", f"{QEMU}/100/move_disk", given)
            assert (task.exitstatus, task.upid.type) == ("OK", "qmmove")
            config = lab.datacenter.guests[100].config
            assert config["scsi0"] == "images2:100/vm-100-disk-0.raw,size=1G"
            assert config["unused0"] == "store:100/vm-100-disk-0.qcow2"
            back = {"disk": "scsi0", "storage": "store", "delete": 1}
            await lab.task("POST", f"{QEMU}/100/move_disk", back)
            assert volumes(lab, 100) == {"store:100/vm-100-disk-0.qcow2", "store:100/vm-100-disk-1.raw"}

    run(main())


def test_a_disk_is_given_to_another_machine() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            given = {"disk": "scsi0", "target-vmid": 201, "target-disk": "scsi1"}
            task = await lab.task("POST", f"{QEMU}/100/move_disk", given)
            assert task.exitstatus == "OK"
            assert task.upid.id == "100-scsi0>201-scsi1"
            assert lab.datacenter.guests[201].config["scsi1"] == "store:201/vm-201-disk-1.qcow2,size=1G"
            assert "scsi0" not in lab.datacenter.guests[100].config
            assert volumes(lab, 100) == set()

    run(main())


@subtest_cases(
    ("parameters", "why"),
    [
        ({"disk": "scsi5", "storage": "images2"}, "disk 'scsi5' does not exist"),
        ({"disk": "scsi0", "target-vmid": 999}, "could not find target VM 999"),
        ({"disk": "scsi0", "target-vmid": 777}, "Both VMs need to be on the same node (pve1 != pve2)"),
        ({"disk": "scsi0", "target-vmid": 9000}, "Can't move disks from or to template VMs"),
        ({"disk": "scsi0", "target-vmid": 201}, "Target disk key 'scsi0' is already in use for VM '201'"),
        ({"disk": "scsi0", "storage": "images2", "digest": "0" * 40}, "detected modified configuration"),
        ({"disk": "scsi0"}, "Parameter verification failed."),
        ({"disk": "scsi0", "storage": "images2", "target-vmid": 201}, "Parameter verification failed."),
    ],
)
def test_what_cannot_move_is_refused_at_once(parameters: dict[str, Any], why: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert (await lab.ask("POST", f"{QEMU}/100/move_disk", parameters)).reason.startswith(why)

    run(main())


def test_a_template_turns_disks_into_bases_that_cannot_go_while_they_are_used() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert (await lab.task("POST", f"{QEMU}/200/template")).exitstatus == "OK"
            config = lab.datacenter.guests[200].config
            assert config["scsi0"] == "store:200/base-200-disk-0.qcow2,size=1G"
            assert config["ide2"] == "store:200/vm-200-cloudinit.qcow2,media=cdrom"
            await lab.task("POST", f"{QEMU}/200/clone", {"newid": 300})
            task = await lab.task("DELETE", f"{QEMU}/200")
            assert task.exitstatus == "base volume 'store:200/base-200-disk-0.qcow2' is still in use by linked cloned"
            await lab.task("DELETE", f"{QEMU}/300")
            assert (await lab.task("DELETE", f"{QEMU}/200")).exitstatus == "OK"
            assert volumes(lab, 200) == set()

    run(main())


def test_a_template_of_a_linked_clone_stays_linked() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 300})
            await lab.task("POST", "/nodes/pve1/qemu/300/template")
            base = "9000/base-9000-disk-0.qcow2/300/base-300-disk-0.qcow2"
            assert lab.datacenter.guests[300].config["scsi0"] == f"store:{base},size=1G"
            task = await lab.task("POST", "/nodes/pve1/qemu/300/clone", {"newid": 301})
            disk = "vm-301-disk-0.qcow2"
            assert f"clone {base}: images, {disk}, 301 to {disk} (base=../300/base-300-disk-0.qcow2)" in task.log
            assert lab.datacenter.guests[301].config["scsi0"] == f"store:300/base-300-disk-0.qcow2/301/{disk},size=1G"
            refused = await lab.task("DELETE", "/nodes/pve1/qemu/300")
            assert refused.exitstatus == f"base volume 'store:{base}' is still in use by linked cloned"

    run(main())


def test_destroying_takes_rights_and_pool_and_keeps_the_number_to_the_end() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            datacenter = lab.datacenter
            datacenter.access.acl["/vms/200", "user", "ops@pve", "PVEVMAdmin"] = True
            seen: list[Any] = []

            async def look(task: object, step: str) -> None:
                if step == "remove":
                    seen.append((datacenter.guests[200].config, 200 in datacenter.pools["dev"].vms))

            lab.emulator.tasks.before_step = look
            assert (await lab.task("DELETE", f"{QEMU}/200")).exitstatus == "OK"
            assert seen == [({"lock": "destroyed"}, False)]
            assert 200 not in datacenter.guests
            assert datacenter.access.acl == {}

    run(main())


def test_only_what_a_machine_owns_goes_with_it() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.guests[100].config["scsi1"] = "store:201/vm-201-disk-0.raw"
            assert (await lab.task("DELETE", f"{QEMU}/100")).exitstatus == "OK"
            assert volumes(lab, 100) == set()
            assert volumes(lab, 201) == {"store:201/vm-201-disk-0.raw"}

    run(main())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "storage 'dead' is not online"),
        (
            {"is_mountpoint": "yes", "path": "/mnt/dead"},
            "unable to activate storage 'dead' - directory is expected to be a mount point but is not mounted: "
            "'/mnt/dead'",
        ),
    ],
    ids=["a share that does not answer", "a directory that is not mounted"],
)
def test_destroying_with_unreferenced_disks_activates_every_storage_for_disks_after_the_own_disks_are_gone(
    options: dict[str, Any], said: str
) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            content = {"content": "images", **options}
            lab.datacenter.storages["dead"] = dead = Storage("dead", "dir", content, reachable=False)
            task = await lab.task("DELETE", f"{QEMU}/100", {"destroy-unreferenced-disks": 1})
            assert task.exitstatus == said
            assert volumes(lab, 100) == set()
            assert "scsi0" in lab.datacenter.guests[100].config, "the configuration stays as it was"
            assert (await lab.task("DELETE", f"{QEMU}/100", {"destroy-unreferenced-disks": 0})).exitstatus == "OK"
            assert 100 not in lab.datacenter.guests
            for vmid, harmless in ((200, {"content": "iso"}), (201, {"content": "images", "nodes": "pve2"})):
                dead.options = harmless
                task = await lab.task("DELETE", f"{QEMU}/{vmid}", {"destroy-unreferenced-disks": 1})
                assert task.exitstatus == "OK"

    run(main())


def test_a_disk_grows_and_never_shrinks() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for size, status in (("+1G", "OK"), ("2G", "OK"), ("1G", "shrinking disks is not supported")):
                task = await lab.task("PUT", f"{QEMU}/100/resize", {"disk": "scsi0", "size": size})
                assert task.exitstatus == status
            assert lab.datacenter.guests[100].config["scsi0"].endswith("size=2G")
            task = await lab.task("PUT", f"{QEMU}/200/resize", {"disk": "ide2", "size": "+1G"})
            assert task.exitstatus == "you can't resize a cdrom"

    run(main())


def test_a_qcow2_disk_that_is_off_grows_by_whole_sectors() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = await lab.task("PUT", f"{QEMU}/200/resize", {"disk": "scsi0", "size": "+0.1G"})
            command = "/usr/bin/qemu-img resize '--preallocation=metadata' -f qcow2"
            path = "/var/lib/store/images/200/vm-200-disk-0.qcow2"
            assert task.exitstatus == f"command '{command} {path} 1181116006' failed: exit code 1"
            assert task.log[0] == "qemu-img: The new size must be a multiple of 512"
            assert (await lab.task("PUT", f"{QEMU}/201/resize", {"disk": "scsi0", "size": "+0.1G"})).exitstatus == "OK"

    run(main())


def test_features_depend_on_format_and_snapshot() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for vmid, feature, has in ((200, "snapshot", 1), (201, "snapshot", 0), (200, "clone", 0), (201, "copy", 1)):
                shown = await lab.data("GET", f"{QEMU}/{vmid}/feature", {"feature": feature})
                assert (shown["hasFeature"], shown["nodes"]) == (has, ["pve1"])
            assert (await lab.data("GET", f"{QEMU}/202/feature", {"feature": "copy"}))["nodes"] == ["pve1", "pve2"]

    run(main())


def test_a_given_disk_becomes_a_change_of_the_other_machine() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            given = {"disk": "scsi0", "target-vmid": 201, "target-disk": "scsi1"}
            task = await lab.task("POST", f"{QEMU}/100/move_disk", given)
            assert task.log == [
                "reassign disk 'scsi0' from VM '100' as 'scsi1' to VM '201'",
                "removing disk 'scsi0' from boot order config",
                "removing disk 'scsi0' from VM '100' config",
                "update VM 201: -scsi1 store:201/vm-201-disk-1.qcow2,size=1G",
                "TASK OK",
            ]
            assert lab.datacenter.guests[201].config["scsi1"] == "store:201/vm-201-disk-1.qcow2,size=1G"

    run(main())


def test_the_drive_with_boot_data_moves_and_leaves_nothing() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = await lab.task("POST", f"{QEMU}/200/move_disk", {"disk": "ide2", "storage": "images2"})
            assert task.exitstatus == "OK"
            assert "found unused cloudinit disk 'store:200/vm-200-cloudinit.qcow2', removing it" in task.log
            config = lab.datacenter.guests[200].config
            assert config["ide2"] == "images2:200/vm-200-cloudinit.qcow2,media=cdrom,size=4M"
            assert "unused0" not in config
            assert "store:200/vm-200-cloudinit.qcow2" not in volumes(lab, 200)

    run(main())


def test_drives_for_firmware_and_tpm_stay_what_they_are() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", f"{QEMU}/200/config", {"efidisk0": "store:1,efitype=4m", "tpmstate0": "store:1"})
            efi, tpm = (lab.datacenter.guests[200].config[key].partition(",")[0] for key in ("efidisk0", "tpmstate0"))
            for key, source, why in (
                ("scsi1", efi, "cloning from/to EFI disk requires EFI disk"),
                ("scsi1", tpm, "cloning from/to TPM state requires TPM state"),
            ):
                answer = await lab.ask("PUT", f"{QEMU}/201/config", {key: f"store:0,import-from={source}"})
                assert answer.reason == f"cannot import from '{source}' - {why}"
            task = await lab.task("POST", f"{QEMU}/200/clone", {"newid": 300, "full": 1, "format": "qcow2"})
            assert task.exitstatus == "OK"
            assert sum(line.startswith("transferred") and "528.0 KiB" in line for line in task.log) == 0
            config = lab.datacenter.guests[300].config
            assert config["tpmstate0"].partition(",")[0].endswith(".qcow2")
            assert config["efidisk0"].partition(",")[0].endswith(".qcow2")
            lab.datacenter.guests[200].process = Process(1, 0.0)
            task = await lab.task("POST", f"{QEMU}/200/move_disk", {"disk": "tpmstate0", "storage": "images2"})
            assert task.exitstatus == "storage migration failed: cannot move TPM state while VM is running"

    run(main())


def test_a_machine_goes_though_the_storage_of_its_disk_is_gone() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            del lab.datacenter.storages["store"]
            disk = "store:200/vm-200-disk-0.qcow2"
            task = await lab.task("DELETE", f"{QEMU}/200")
            assert f"WARN: failed to get path and owner of volume '{disk}': storage 'store' does not exist" in task.log
            assert task.exitstatus.startswith("WARNINGS:")
            task = await lab.task("DELETE", f"{QEMU}/9000")
            base = "store:9000/base-9000-disk-0.qcow2"
            reason = f"failed to check if volume '{base}' is used by linked clones: storage 'store' does not exist"
            assert task.log[0] == f"WARN: {reason}"
            assert not {200, 9000} & lab.datacenter.guests.keys()

    run(main())
