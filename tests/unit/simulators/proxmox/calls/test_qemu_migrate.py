from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from nagaya.simulators.proxmox.layouts.lab import lab as layout
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.state.guest import Process
from support.proxmox_lab import proxmox_lab
from support.virtual_run import run

MIGRATE = "/nodes/pve1/qemu/{}/migrate"


def two_hosts() -> Datacenter:
    made = layout()
    made.nodes["pve2"].online = True
    made.nodes["pve2"].kvm = False
    return made


def test_a_machine_moves_with_its_disks() -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts()) as lab:
            task = await lab.task("POST", MIGRATE.format(200), {"target": "pve2"})
            assert task.exitstatus == "OK", task.log
            guest = lab.datacenter.guests[200]
            assert (guest.node, guest.lock) == ("pve2", None)
            assert ("pve2", "store:200/vm-200-disk-0.qcow2") in lab.datacenter.volumes
            assert ("pve1", "store:200/vm-200-disk-0.qcow2") not in lab.datacenter.volumes
            assert (await lab.ask("GET", "/nodes/pve1/qemu/200/config")).status == 500
            assert (await lab.task("POST", "/nodes/pve2/qemu/200/status/start", node="pve2")).exitstatus == "OK"

    run(main())


def test_a_running_machine_needs_to_be_told_to_move_with_its_disks() -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts()) as lab:
            await lab.task("POST", "/nodes/pve1/qemu/400/status/start")
            answer = await lab.ask("POST", MIGRATE.format(400), {"target": "pve2"})
            assert answer.reason == "can't migrate running VM without --online"
            task = await lab.task("POST", MIGRATE.format(400), {"target": "pve2", "online": 1})
            assert task.exitstatus == "migration aborted"
            assert any("can't live migrate attached local disks without with-local-disks" in line for line in task.log)
            assert lab.datacenter.guests[400].lock is None
            process = lab.datacenter.guests[400].process
            wish = {"target": "pve2", "online": 1, "with-local-disks": 1}
            assert (await lab.task("POST", MIGRATE.format(400), wish)).exitstatus == "OK"
            assert lab.datacenter.guests[400].node == "pve2"
            assert lab.datacenter.guests[400].process is process

    run(main())


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"ide0": "store:iso/a.iso,media=cdrom"}, "can't migrate local disk 'store:iso/a.iso': local cdrom image"),
        (
            {"scsi1": "store:201/vm-201-disk-0.raw"},
            "can't migrate local disk 'store:201/vm-201-disk-0.raw': owned by other VM (owner = VM 201)",
        ),
    ],
)
def test_what_holds_a_machine_stands_in_the_log(config: dict[str, Any], why: str) -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts()) as lab:
            lab.datacenter.guests[200].config |= config
            task = await lab.task("POST", MIGRATE.format(200), {"target": "pve2"})
            assert task.exitstatus == "migration aborted"
            assert any(line.endswith(why) for line in task.log), task.log
            assert lab.datacenter.guests[200].lock is None

    run(main())


def test_a_linked_clone_does_not_move() -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts()) as lab:
            await lab.task("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 300})
            task = await lab.task("POST", MIGRATE.format(300), {"target": "pve2"})
            assert task.exitstatus == "migration aborted"
            assert any("as it's a clone of 'base-9000-disk-0.qcow2'" in line for line in task.log)

    run(main())


def test_a_host_that_is_off_cannot_be_moved_to() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = await lab.task("POST", MIGRATE.format(202), {"target": "pve2"})
            assert "Can't connect to destination address using public key" in task.log[2]
            assert "ssh: connect to host 192.0.2.12 port 22: No route to host" in task.log[1]
            for target, why in (("pve1", "Parameter verification failed."), ("pve9", "no such cluster node 'pve9'")):
                assert (await lab.ask("POST", MIGRATE.format(202), {"target": target})).reason == why

    run(main())


def test_preconditions_name_hosts_and_disks() -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts()) as lab:
            lab.datacenter.storages["images2"].options["nodes"] = "pve1"
            await lab.data("PUT", "/nodes/pve1/qemu/202/config", {"scsi0": "images2:1"})
            shown = await lab.data("GET", MIGRATE.format(202))
            assert shown["allowed_nodes"] == []
            assert shown["not_allowed_nodes"] == {"pve2": {"unavailable_storages": ["images2"]}}
            (disk,) = shown["local_disks"]
            assert (disk["volid"], disk["size"], disk["drivename"]) == (
                "images2:202/vm-202-disk-0.raw",
                1 << 30,
                "scsi0",
            )
            shown = await lab.data("GET", MIGRATE.format(201))
            assert (shown["allowed_nodes"], shown["not_allowed_nodes"]) == (["pve2"], {"pve2": {}})

    run(main())


def test_a_stopped_migration_gives_the_machine_back() -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts()) as lab:
            lab.datacenter.volumes["pve1", "store:201/vm-201-disk-0.raw"].size = 100 << 30
            upid = await lab.data("POST", MIGRATE.format(201), {"target": "pve2"})
            await asyncio.sleep(1)
            assert lab.datacenter.guests[201].lock == "migrate"
            await lab.data("DELETE", f"/nodes/pve1/tasks/{upid}")
            guest = lab.datacenter.guests[201]
            assert (guest.node, guest.lock, guest.process) == ("pve1", None, None)
            assert not [key for key in lab.datacenter.volumes if key[0] == "pve2"]

    run(main())


def test_a_managed_machine_is_moved_by_the_manager() -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts()) as lab:
            lab.datacenter.ha.resources["vm:202"] = {"sid": "vm:202", "type": "vm", "state": "started"}
            lab.datacenter.guests[202].process = Process(1, 0.0)
            task = await lab.task("POST", MIGRATE.format(202), {"target": "pve2", "online": 1})
            assert (task.upid.type, task.log[0]) == ("hamigrate", "Requesting HA migration for VM 202 to node pve2")

    run(main())


def test_devices_with_a_mapping_are_looked_for_on_the_other_host() -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts()) as lab:
            lab.datacenter.mappings["gpu"] = {"map": ["node=pve1,path=0000:01:00.0,id=10de:1234"]}
            lab.datacenter.guests[202].config |= {"hostpci0": "mapping=gpu", "parallel0": "/dev/parport0"}
            shown = await lab.data("GET", MIGRATE.format(202))
            assert shown["not_allowed_nodes"] == {"pve2": {"unavailable-resources": ["hostpci0"]}}
            assert (shown["mapped-resources"], shown["mapped-resource-info"]) == (
                ["hostpci0"],
                {"hostpci0": {"name": "gpu"}},
            )
            assert shown["local_resources"] == ["parallel0"]
            task = await lab.task("POST", MIGRATE.format(202), {"target": "pve2"})
            assert "can't migrate VM which uses local devices: parallel0" in task.log[-2]
            del lab.datacenter.guests[202].config["parallel0"]
            task = await lab.task("POST", MIGRATE.format(202), {"target": "pve2"})
            assert "can't migrate to 'pve2': missing mapped devices hostpci0" in task.log[-2]
            lab.datacenter.mappings["gpu"]["map"].append("node=pve2,path=0000:02:00.0,id=10de:1234")
            task = await lab.task("POST", MIGRATE.format(202), {"target": "pve2"})
            assert (task.exitstatus, lab.datacenter.guests[202].node) == ("OK", "pve2")

    run(main())


@pytest.mark.parametrize(
    ("storages", "why"),
    [
        ("store,images2", "default target ID can only be provided once.\n"),
        ("store:images2,store:store", "duplicate mapping for source 'store'.\n"),
    ],
)
def test_storages_that_contradict_each_other_are_refused(storages: str, why: str) -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts()) as lab:
            answer = await lab.ask("POST", MIGRATE.format(202), {"target": "pve2", "targetstorage": storages})
            assert orjson.loads(answer.body)["errors"] == {"targetstorage": f"failed to parse storage map: {why}"}

    run(main())


def test_a_drive_of_the_host_holds_a_machine() -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts()) as lab:
            lab.datacenter.guests[202].config |= {"ide2": "cdrom,media=cdrom", "scsi1": "/dev/sdz"}
            task = await lab.task("POST", MIGRATE.format(202), {"target": "pve2"})
            told = [line[20:] for line in task.log[1:5]]
            assert told == [
                "found local disk '/dev/sdz'",
                "can't migrate local disk '/dev/sdz': local file/device",
                "can't migrate local cdrom drive",
                "ERROR: Problem found while scanning volumes - can't migrate VM - check log",
            ]

    run(main())
