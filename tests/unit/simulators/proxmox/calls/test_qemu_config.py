from __future__ import annotations

from typing import Any

import orjson
import pytest

from nagaya.simulators.proxmox.request import Request
from nagaya.simulators.proxmox.state.storage import Volume
from support.proxmox_lab import ProxmoxLab, proxmox_lab, token
from support.subtest_cases import subtest_cases
from support.virtual_run import run

CONFIG = "/nodes/pve1/qemu/200/config"


async def refused(lab: ProxmoxLab, parameters: dict[str, Any], **rest: Any) -> Any:
    answer = await lab.ask("PUT", CONFIG, parameters, **rest)
    body = orjson.loads(answer.body)
    assert answer.status >= 400, answer
    return body.get("errors") or body["message"].strip()


def iso(lab: ProxmoxLab, name: str = "a.iso") -> None:
    lab.datacenter.volumes["pve1", f"store:iso/{name}"] = Volume(
        "store", f"iso/{name}", "iso", "iso", 1 << 20, 0, "pve1"
    )


@subtest_cases(
    ("parameters", "why"),
    [
        ({"delete": "nonsense"}, {"delete": "unknown option 'nonsense'"}),
        ({"revert": "nonsense"}, {"revert": "unknown option 'nonsense'"}),
        (
            {"delete": "memory", "memory": 64},
            {"delete": "you can't use '-memory' and -delete memory' at the same time"},
        ),
        (
            {"delete": "memory", "revert": "memory"},
            {"revert": "you can't use '-delete memory' and -revert memory' at the same time"},
        ),
        ({"balloon": 128}, "balloon value too large (must be smaller than assigned memory)"),
        ({"scsi1": "nosuch:1"}, "storage 'nosuch' does not exist"),
        ({"scsi1": "local:1"}, {"storage": "storage 'local' does not support vm images"}),
        ({"scsi1": "store:iso/a.iso"}, {"scsi1": "explicit 'media=cdrom' is required for iso images"}),
        ({"scsi1": "store:200/vm-200-disk-9.raw"}, "volume 'store:200/vm-200-disk-9.raw' does not exist"),
        ({"scsi1": "store:nonsense"}, "unable to parse directory volume name 'nonsense'"),
        ({"scsi1": "/dev/sdz"}, "volume /dev/sdz does not exist"),
        ({"ide3": "store:cloudinit"}, "ide3 - cloud-init drive is already attached at 'ide2'"),
        (
            {"scsi1": "store:5,import-from=store:import/disk.qcow2"},
            {"scsi1": "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>"},
        ),
        (
            {"hookscript": "store:snippets/nosuch.sh"},
            {"hookscript": "script 'store:snippets/nosuch.sh' does not exist\n"},
        ),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(parameters: dict[str, Any], why: Any) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            iso(lab)
            before, volumes = dict(lab.datacenter.guests[200].config), set(lab.datacenter.volumes)
            assert await refused(lab, parameters) == why
            assert (lab.datacenter.guests[200].config, set(lab.datacenter.volumes)) == (before, volumes)
            assert not lab.datacenter.guests[200].pending

    run(main())


def test_a_digest_guards_against_changes_of_others() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            digest = (await lab.data("GET", CONFIG))["digest"]
            await lab.data("PUT", CONFIG, {"memory": 80, "digest": digest})
            assert (
                await refused(lab, {"memory": 96, "digest": digest}) == "checksum mismatch (file change by other user?)"
            )
            assert (await lab.data("GET", CONFIG))["memory"] == "80"

    run(main())


def test_a_disk_is_made_detached_attached_again_and_removed() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", CONFIG, {"scsi1": "store:2,format=qcow2,discard=on"})
            config = await lab.data("GET", CONFIG)
            assert config["scsi1"] == "store:200/vm-200-disk-1.qcow2,discard=on,size=2G"
            await lab.data("PUT", CONFIG, {"delete": "scsi1"})
            assert (await lab.data("GET", CONFIG))["unused0"] == "store:200/vm-200-disk-1.qcow2"
            await lab.data("PUT", CONFIG, {"virtio0": "store:200/vm-200-disk-1.qcow2"})
            config = await lab.data("GET", CONFIG)
            assert config["virtio0"] == "store:200/vm-200-disk-1.qcow2,size=2G"
            assert "unused0" not in config
            await lab.data("PUT", CONFIG, {"delete": "virtio0", "force": 1})
            assert ("pve1", "store:200/vm-200-disk-1.qcow2") not in lab.datacenter.volumes

    run(main())


def test_a_new_cdrom_is_appended_to_the_boot_order_and_a_removed_device_leaves_it() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            iso(lab)
            await lab.data("PUT", CONFIG, {"ide0": "store:iso/a.iso,media=cdrom"})
            config = await lab.data("GET", CONFIG)
            assert config["boot"] == "order=scsi0;ide2;net0;ide0"
            assert config["ide0"] == "store:iso/a.iso,media=cdrom,size=1M"
            await lab.data("PUT", CONFIG, {"delete": "net0,ide0"})
            assert (await lab.data("GET", CONFIG))["boot"] == "order=scsi0;ide2"

    run(main())


def test_changes_of_a_running_machine_wait_or_are_made_and_a_stop_makes_the_rest() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu/200/status/start")
            await lab.data("PUT", CONFIG, {"memory": 96, "name": "other", "scsi1": "store:1", "sata0": "store:1"})
            guest = lab.datacenter.guests[200]
            assert set(guest.pending) == {"memory", "sata0"}
            assert guest.config["name"] == "other"
            assert "scsi1" in guest.config
            assert (await lab.data("GET", CONFIG))["memory"] == "96"
            assert (await lab.data("GET", CONFIG, {"current": 1}))["memory"] == "64"
            await lab.data("PUT", CONFIG, {"revert": "sata0"})
            assert set(guest.pending) == {"memory"}
            assert guest.config["unused0"] == "store:200/vm-200-disk-1.raw"
            await lab.task("POST", "/nodes/pve1/qemu/200/status/stop")
            assert (guest.pending, guest.config["memory"]) == ({}, "96")

    run(main())


def test_a_task_that_ends_in_time_is_not_named() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert await lab.data("POST", CONFIG, {"memory": 80, "background_delay": 5}) is None
            answer = await lab.ask("POST", CONFIG, {"boot": "order=scsi9", "background_delay": 5})
            assert answer.reason == "failed to update VM 200: invalid bootorder: device 'scsi9' does not exist'"

    run(main())


def test_a_protected_machine_keeps_its_disks() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", CONFIG, {"protection": 1})
            assert await refused(lab, {"delete": "scsi0"}) == "can't remove drive 'scsi0' - protection mode enabled"

    run(main())


def test_the_drive_with_boot_data_is_filled_when_it_comes() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", "/nodes/pve1/qemu/201/config", {"ide0": "store:cloudinit", "ciuser": "me"})
            volume = lab.datacenter.volumes["pve1", "store:201/vm-201-cloudinit.qcow2"]
            assert volume.data is not None
            assert b"user: me\n" in volume.data
            await lab.data("PUT", "/nodes/pve1/qemu/201/config", {"delete": "ide0"})
            assert ("pve1", volume.id) not in lab.datacenter.volumes

    run(main())


def test_rights_follow_the_option() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.access.roles["Some"] = frozenset({"VM.Config.Memory"})
            lab.datacenter.access.acl["/vms/200", "user", "ops@pve", "Some"] = True
            ops = token("ops@pve!k1")
            assert (await lab.ask("PUT", CONFIG, {"memory": 80}, headers=ops)).status == 200
            for parameters, why in (
                ({"cores": 2}, "Permission check failed (/vms/200, VM.Config.CPU)"),
                ({"tags": "a"}, "Permission check failed (/vms/200, VM.Config.Options)"),
                ({"scsi0": "store:1"}, "Permission check failed (/storage/store, Datastore.AllocateSpace)"),
                ({"startup": "order=1"}, "Permission check failed (/vms/200, VM.Config.Options)"),
                ({"args": "-S"}, "only root can set 'args' config"),
                ({"skiplock": 1, "memory": 80}, {"skiplock": "Only root may use this option."}),
            ):
                assert await refused(lab, parameters, headers=ops) == why

    run(main())


def test_a_disk_that_was_to_be_kept_unused_can_be_removed_before_it_is() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu/200/status/start")
            await lab.data("PUT", CONFIG, {"unused0": "store:100/vm-100-disk-0.qcow2"})
            await lab.data("PUT", CONFIG, {"delete": "unused0"})
            assert "unused0" not in await lab.data("GET", CONFIG)
            assert ("pve1", "store:100/vm-100-disk-0.qcow2") in lab.datacenter.volumes

    run(main())


def test_a_drive_that_is_no_cdrom_is_written_as_one_and_not_read() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", CONFIG, {"efidisk0": "none"})
            assert "efidisk0" not in await lab.data("GET", CONFIG)
            task = await lab.task("POST", "/nodes/pve1/qemu", {"vmid": 320, "tpmstate0": "none"})
            assert str(task.exitstatus).startswith("unable to create VM 320 - unable to parse value of 'tpmstate0'")

    run(main())


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("boot", "unable to parse value of 'boot' - got undefined value"),
        ("cdrom", "unable to parse value of 'cdrom' - got undefined value"),
        ("unused0", {"unused0": "failed to parse value ''"}),
        ("scsi1", {"scsi1": "unable to parse drive options"}),
    ],
)
def test_an_option_without_a_value_is_refused(option: str, why: Any) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            headers = {**lab.ticket(), "content-type": "application/json"}
            body = orjson.dumps({option: None})
            answer = await lab.emulator.answer(Request("PUT", f"/api2/json{CONFIG}", "", headers, body, "pve1"))
            told = orjson.loads(answer.body)
            assert (told.get("errors") or told["message"].strip()) == why

    run(main())
