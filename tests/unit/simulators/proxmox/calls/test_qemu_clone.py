from __future__ import annotations

import asyncio
from typing import Any

import orjson

from nagaya.simulators.proxmox.layouts.lab import lab as layout
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.state.storage import Storage, Volume
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.subtest_cases import subtest_cases
from support.virtual_run import run

CLONE = "/nodes/pve1/qemu/9000/clone"


def shared_layout() -> Datacenter:
    """Both hosts are on, and the template's disks are on a storage that both have."""
    made = layout()
    made.nodes["pve2"].online = True
    made.storages["nas"] = Storage("nas", "nfs", {"content": "images,iso", "server": "192.0.2.9", "export": "/x"})
    disk = Volume(
        "nas", "9000/base-9000-disk-0.qcow2", "images", "qcow2", 1 << 30, 0, None, 9000, 5 << 20, system="debian"
    )
    made.volumes[None, disk.id] = disk
    config = made.guests[9000].config
    config["scsi0"] = f"{disk.id},size=1G"
    del config["ide2"]
    return made


async def refused(lab: ProxmoxLab, parameters: dict[str, Any]) -> str:
    answer = await lab.ask("POST", CLONE, parameters)
    assert answer.status >= 400
    body = orjson.loads(answer.body)
    return str(body.get("errors") or body["message"].strip())


def test_a_clone_shows_what_it_is_only_bit_by_bit() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            seen: list[set[str]] = []
            upid = await lab.data("POST", CLONE, {"newid": 300, "name": "new", "pool": "dev", "full": 1})
            while lab.emulator.tasks.known[upid].running:
                await asyncio.sleep(0.01)
                keys = set(lab.datacenter.guests[300].config)
                if not seen or seen[-1] != keys:
                    seen.append(keys)
            assert seen[0] == {"lock", "description"}
            assert "name" in seen[1]
            assert "scsi0" not in seen[1]
            assert "scsi0" in seen[-1]
            assert "lock" not in seen[-1]
            assert 300 in lab.datacenter.pools["dev"].vms

    run(main())


def test_a_clone_shares_no_identity_with_its_template() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.guests[9000].config |= {"protection": 1, "tags": "a;b", "unused0": "store:9000/x.raw"}
            await lab.task("POST", CLONE, {"newid": 300})
            old, new = lab.datacenter.guests[9000].config, lab.datacenter.guests[300].config
            for option in ("net0", "smbios1", "vmgenid"):
                assert old[option] != new[option]
            for option in ("tags", "protection", "ciuser", "ipconfig0"):
                assert old[option] == new[option]
            assert not {"template", "unused0", "lock"} & new.keys()
            assert new["name"] == "Copy-of-VM-tmpl"

    run(main())


def test_a_clone_can_be_made_for_another_host_when_its_disks_are_shared() -> None:
    async def main() -> None:
        async with proxmox_lab(shared_layout()) as lab:
            task = await lab.task("POST", CLONE, {"newid": 300, "target": "pve2"})
            assert task.exitstatus == "OK"
            assert task.upid.node == "pve1"
            assert lab.datacenter.guests[300].node == "pve2"
            assert (
                lab.datacenter.volumes[None, "nas:9000/base-9000-disk-0.qcow2/300/vm-300-disk-0.qcow2"].system
                == "debian"
            )
            assert (await lab.data("GET", "/nodes/pve2/qemu/300/config"))["name"] == "Copy-of-VM-tmpl"

    run(main())


@subtest_cases(
    ("parameters", "message"),
    [
        ({"target": "pve2"}, "can't clone VM to node 'pve2' (VM uses local storage)"),
        ({"target": "pve9"}, "no such cluster node 'pve9'"),
        ({"storage": "store"}, "parameter 'storage' not allowed for linked clones"),
        ({"full": 1, "storage": "local"}, "{'storage': \"storage 'local' does not support vm images\"}"),
        ({"full": 1, "storage": "off"}, "storage 'off' is disabled"),
        ({"full": 1, "storage": "onlypve2"}, "storage 'onlypve2' is not available on node 'pve1'"),
        ({"full": 1, "storage": "images2", "target": "pve2"}, "can't clone to non-shared storage 'images2'"),
        ({"snapname": "nosuch"}, "snapshot 'nosuch' does not exist"),
        ({"pool": "nosuch"}, "Permission check failed (pool 'nosuch' does not exist)"),
        ({"newid": 100}, "unable to create VM 100: config file already exists"),
    ],
)
def test_what_cannot_be_cloned_is_refused_at_once(parameters: dict[str, Any], message: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert await refused(lab, {"newid": 300, **parameters}) == message
            assert 300 not in lab.datacenter.guests

    run(main())


def test_a_number_that_another_host_has_is_noticed_only_by_the_task() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = await lab.task("POST", CLONE, {"newid": 777})
            assert task.exitstatus == (
                "close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/777.conf' failed: File exists"
            )
            assert lab.datacenter.guests[777].node == "pve2"

    run(main())


def test_a_clone_that_fails_leaves_nothing() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            before = set(lab.datacenter.volumes)
            del lab.datacenter.volumes["pve1", "store:9000/base-9000-disk-0.qcow2"]
            task = await lab.task("POST", CLONE, {"newid": 300})
            assert task.exitstatus == "clone failed: volume 'store:9000/base-9000-disk-0.qcow2' does not exist"
            assert 300 not in lab.datacenter.guests
            assert set(lab.datacenter.volumes) < before

    run(main())


def test_a_host_that_dies_leaves_a_locked_half() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.volumes["pve1", "store:9000/base-9000-disk-0.qcow2"].used = 1 << 30
            upid = await lab.data("POST", CLONE, {"newid": 300, "full": 1, "bwlimit": 1000})
            await asyncio.sleep(60)
            lab.emulator.tasks.kill_all("pve1")
            await asyncio.sleep(60)
            assert lab.emulator.tasks.known[upid].exitstatus == "unexpected status"
            assert lab.datacenter.guests[300].lock == "clone"
            assert ("pve1", "store:300/vm-300-disk-0.qcow2") in lab.datacenter.volumes
            task = await lab.task("DELETE", "/nodes/pve1/qemu/300")
            assert task.exitstatus == "VM is locked (clone)"

    run(main())


def test_clones_of_one_template_run_side_by_side_and_one_of_a_running_machine_holds_it() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            upids = [await lab.data("POST", CLONE, {"newid": 300 + number}) for number in range(3)]
            assert [(await lab.ended(upid)).exitstatus for upid in upids] == ["OK"] * 3
            lab.datacenter.volumes["pve1", "store:400/vm-400-disk-0.qcow2"].used = 1 << 30
            await lab.task("POST", "/nodes/pve1/qemu/400/status/start")
            first = await lab.data("POST", "/nodes/pve1/qemu/400/clone", {"newid": 310, "bwlimit": 100000})
            await asyncio.sleep(0.01)
            second = await lab.task("POST", "/nodes/pve1/qemu/400/clone", {"newid": 311})
            assert second.exitstatus == "can't lock file '/var/lock/qemu-server/lock-400.conf' - got timeout"
            assert (await lab.ended(first)).exitstatus == "OK"

    run(main())


def test_a_copy_knows_what_its_drive_with_boot_data_lacks() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu/200/status/start")
            await lab.data("PUT", "/nodes/pve1/qemu/200/config", {"ciuser": "debian"})
            await lab.task("POST", "/nodes/pve1/qemu/200/status/stop")
            await lab.task("POST", "/nodes/pve1/qemu/200/clone", {"newid": 300, "full": 1})
            shown = await lab.data("GET", "/nodes/pve1/qemu/300/cloudinit")
            assert shown == [{"key": "ciuser", "pending": "debian"}]

    run(main())


def test_disks_of_a_running_machine_are_finished_in_the_same_moment() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", "/nodes/pve1/qemu/200/config", {"scsi1": "store:1"})
            await lab.task("POST", "/nodes/pve1/qemu/200/status/start")
            task = await lab.task("POST", "/nodes/pve1/qemu/200/clone", {"newid": 300, "full": 1})
            assert task.exitstatus == "OK"
            assert task.log[-9:] == [
                "all 'mirror' jobs are ready",
                "skipping guest filesystem freeze - disabled in VM options",
                "suspend vm",
                "mirror-scsi0: Cancelling block job",
                "mirror-scsi1: Cancelling block job",
                "mirror-scsi0: Done.",
                "mirror-scsi1: Done.",
                "resume vm",
                "TASK OK",
            ]
            assert task.log.count("all 'mirror' jobs are ready") == 2

    run(main())


def test_the_agent_of_a_running_machine_holds_its_file_systems_still() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu/400/status/start")
            early = await lab.task("POST", "/nodes/pve1/qemu/400/clone", {"newid": 300, "bwlimit": 4096})
            assert "drive mirror is starting for drive-scsi0 with bandwidth limit: 4096 KiB/s" in early.log
            reason = "skipping guest filesystem freeze - agent configured but not running?"
            assert early.log[early.log.index(reason) + 1] == "suspend vm"
            await asyncio.sleep(10)
            asked = await lab.task("POST", "/nodes/pve1/qemu/400/clone", {"newid": 301})
            cut = asked.log.index("issuing guest agent 'guest-fsfreeze-freeze' command")
            assert asked.log[cut + 1 : cut + 4] == [
                "mirror-scsi0: Cancelling block job",
                "mirror-scsi0: Done.",
                "issuing guest agent 'guest-fsfreeze-thaw' command",
            ]
            lab.datacenter.guests[400].config["agent"] = "1,freeze-fs=0"
            kept = await lab.task("POST", "/nodes/pve1/qemu/400/clone", {"newid": 302})
            assert "skipping guest filesystem freeze - disabled in VM options" in kept.log

    run(main())


def test_a_format_that_the_storage_does_not_have_is_replaced_by_its_own() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.storages["thin"] = Storage("thin", "lvmthin", {"content": "images", "vgname": "pve"})
            given = {"newid": 300, "full": 1, "storage": "thin", "format": "qcow2"}
            task = await lab.task("POST", "/nodes/pve1/qemu/100/clone", given)
            assert task.exitstatus == "OK"
            said = "format 'qcow2' is not supported by the target storage 'thin' - using 'raw' instead"
            assert said in task.log

    run(main())
