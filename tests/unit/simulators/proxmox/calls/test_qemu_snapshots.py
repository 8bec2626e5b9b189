from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar
from unittest.mock import patch

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.guests.backend import AgentError
from nagaya.simulators.proxmox.state.storage import Storage
from nagaya.simulators.proxmox.tasks.runner import Task
from support.proxmox_lab import proxmox_lab, token
from support.virtual_run import run

VM = "/nodes/pve1/qemu/200"


def test_a_machine_returns_to_a_snapshot() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", f"{VM}/snapshot", {"snapname": "s1", "description": "first"})
            await lab.data("PUT", f"{VM}/config", {"memory": 96, "scsi1": "store:1,format=qcow2", "tags": "a"})
            await lab.task("PUT", f"{VM}/resize", {"disk": "scsi0", "size": "+1G"})
            await lab.task("POST", f"{VM}/snapshot", {"snapname": "s2"})
            rows = {row["name"]: row for row in await lab.data("GET", f"{VM}/snapshot")}
            assert rows["s1"]["description"] == "first"
            assert (rows["s2"]["parent"], rows["current"]["parent"]) == ("s1", "s2")
            assert (await lab.task("POST", f"{VM}/snapshot/s1/rollback")).exitstatus == "OK"
            config = await lab.data("GET", f"{VM}/config")
            assert (config["memory"], config["parent"]) == ("64", "s1")
            assert config["unused0"] == "store:200/vm-200-disk-1.qcow2"
            assert "tags" not in config
            assert lab.datacenter.volumes["pve1", "store:200/vm-200-disk-0.qcow2"].size == 1 << 30

    run(main())


def test_the_parents_of_a_deleted_snapshot_are_joined() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for name in ("s1", "s2", "s3"):
                await lab.task("POST", f"{VM}/snapshot", {"snapname": name})
            assert (await lab.task("DELETE", f"{VM}/snapshot/s2")).exitstatus == "OK"
            guest = lab.datacenter.guests[200]
            assert guest.snapshots["s3"]["parent"] == "s1"
            assert (await lab.task("DELETE", f"{VM}/snapshot/s3")).exitstatus == "OK"
            assert guest.config["parent"] == "s1"
            assert "lock" not in guest.config
            assert (await lab.task("DELETE", f"{VM}/snapshot/s3")).exitstatus == "snapshot 's3' does not exist"

    run(main())


def test_a_snapshot_that_fails_is_undone() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:

            async def mishap(task: Task, step: str) -> None:
                if step == "snapshot":
                    raise Failure("qemu-img failed\n")

            lab.emulator.tasks.before_step = mishap
            task = await lab.task("POST", f"{VM}/snapshot", {"snapname": "s1"})
            assert task.exitstatus == "qemu-img failed "
            assert task.log[-2] == "snapshot create failed: starting cleanup"
            guest = lab.datacenter.guests[200]
            assert (guest.snapshots, guest.lock) == ({}, None)

    run(main())


def test_a_worker_that_dies_leaves_lock_and_mark() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            upid = await lab.data("POST", f"{VM}/snapshot", {"snapname": "s1"})
            await asyncio.sleep(0.05)
            lab.emulator.tasks.kill(lab.emulator.tasks.known[upid])
            await asyncio.sleep(1)
            guest = lab.datacenter.guests[200]
            assert (guest.lock, guest.snapshots["s1"]["snapstate"]) == ("snapshot", "prepare")

    run(main())


def test_the_memory_of_a_running_machine_is_saved_and_taken_up_again() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu/400/status/start")
            task = await lab.task("POST", "/nodes/pve1/qemu/400/snapshot", {"snapname": "s1", "vmstate": 1})
            assert task.exitstatus == "OK"
            state = lab.datacenter.guests[400].snapshots["s1"]["vmstate"]
            assert ("pve1", state) in lab.datacenter.volumes
            await lab.task("POST", "/nodes/pve1/qemu/400/status/stop")
            assert (await lab.task("POST", "/nodes/pve1/qemu/400/snapshot/s1/rollback")).exitstatus == "OK"
            assert lab.datacenter.guests[400].process is not None
            await lab.task("DELETE", "/nodes/pve1/qemu/400/snapshot/s1")
            assert ("pve1", state) not in lab.datacenter.volumes

    run(main())


def test_names_that_mean_something_else_are_refused() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for name in ("current", "pending"):
                answer = await lab.ask("POST", f"{VM}/snapshot", {"snapname": name})
                assert answer.reason == f"unable to use snapshot name '{name}' (reserved name)"

    run(main())


def test_a_description_can_be_changed() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", f"{VM}/snapshot", {"snapname": "s1"})
            await lab.data("PUT", f"{VM}/snapshot/s1/config", {"description": "new"})
            shown = await lab.data("GET", f"{VM}/snapshot/s1/config")
            assert (shown["description"], shown["memory"]) == ("new", "64")
            assert (await lab.ask("GET", f"{VM}/snapshot/s9/config")).reason == "snapshot 's9' does not exist"

    run(main())


def test_storages_are_made_ready_before_anything_is_said() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", f"{VM}/snapshot", {"snapname": "s1"})
            lab.datacenter.storages["store"].options["disable"] = 1
            why = "storage 'store' is disabled"
            task = await lab.task("POST", f"{VM}/snapshot", {"snapname": "s2"})
            assert task.log[0] == "snapshot create failed: starting cleanup"
            assert (task.exitstatus or "").strip() == why
            assert (await lab.task("POST", f"{VM}/snapshot/s1/rollback")).exitstatus == why
            assert (await lab.task("DELETE", f"{VM}/snapshot/s1")).exitstatus == why
            assert lab.datacenter.guests[200].lock is None

    run(main())


def test_a_snapshot_that_a_disk_lacks_goes_by_force_alone() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", f"{VM}/snapshot", {"snapname": "s1"})
            lab.datacenter.volumes["pve1", "store:200/vm-200-disk-0.qcow2"].snapshots.clear()
            task = await lab.task("DELETE", f"{VM}/snapshot/s1")
            command = "/usr/bin/qemu-img snapshot -d s1 /var/lib/store/images/200/vm-200-disk-0.qcow2"
            assert task.exitstatus == f"command '{command}' failed: exit code 1"
            guest = lab.datacenter.guests[200]
            assert (guest.lock, guest.snapshots["s1"]["snapstate"]) == ("snapshot-delete", "delete")
            del guest.config["lock"]
            assert (await lab.task("DELETE", f"{VM}/snapshot/s1", {"force": 1})).exitstatus == "OK"
            assert guest.snapshots == {}

    run(main())


def test_zfs_returns_to_the_newest_snapshot_only() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.storages["tank"] = Storage("tank", "zfspool", {"pool": "tank", "content": "images"})
            await lab.data("PUT", f"{VM}/config", {"scsi1": "tank:1"})
            for name in ("s1", "s2"):
                assert (await lab.task("POST", f"{VM}/snapshot", {"snapname": name})).exitstatus == "OK"
            task = await lab.task("POST", f"{VM}/snapshot/s1/rollback")
            assert task.exitstatus == "can't rollback, 's1' is not most recent snapshot on 'tank:vm-200-disk-0'"
            assert (await lab.task("POST", f"{VM}/snapshot/s2/rollback")).exitstatus == "OK"

    run(main())


def test_who_starts_a_machine_along_with_a_rollback_may_do_both() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            access, ops = lab.datacenter.access, token("ops@pve!k1")
            access.roles["Returner"] = frozenset({"VM.Snapshot.Rollback"})
            access.acl["/vms", "user", "ops@pve", "Returner"] = True
            await lab.task("POST", f"{VM}/snapshot", {"snapname": "s1"})
            rollback = f"{VM}/snapshot/s1/rollback"
            refused = await lab.ask("POST", rollback, {"start": 1}, headers=ops)
            assert refused.reason == "Permission check failed (/vms/200, VM.PowerMgmt)"
            assert (await lab.task("POST", rollback, {"start": 0}, headers=ops)).exitstatus == "OK"

    run(main())


def test_file_systems_that_are_frozen_already_are_let_be() -> None:
    class Frozen:
        asked: ClassVar[list[str]] = []

        async def ask(self, command: str, arguments: Mapping[str, Any]) -> Any:
            self.asked.append(command)
            return "frozen"

    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu/400/status/start")
            with patch.object(lab.emulator.machines, "agent", lambda guest: Frozen()):
                task = await lab.task("POST", "/nodes/pve1/qemu/400/snapshot", {"snapname": "s1"})
            assert task.log[0] == "skipping guest filesystem freeze - already frozen"
            assert Frozen.asked == ["fsfreeze-status"]

    run(main())


def test_an_agent_that_refuses_to_freeze_is_no_obstacle() -> None:
    class Refusing:
        async def ask(self, command: str, arguments: Mapping[str, Any]) -> Any:
            raise AgentError(f"no {command}")

    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu/400/status/start")
            with patch.object(lab.emulator.machines, "agent", lambda guest: Refusing()):
                task = await lab.task("POST", "/nodes/pve1/qemu/400/snapshot", {"snapname": "s1"})
            assert task.exitstatus == "OK"
            assert task.log[:2] == [
                "unable to check guest fs freeze status - Agent error: no fsfreeze-status",
                "unable to freeze guest fs - no fsfreeze-freeze",
            ]
            assert "guest-fsfreeze-thaw problems - Agent error: no fsfreeze-thaw" in task.log

    run(main())


def test_the_password_in_a_snapshot_is_shown_as_it_is_kept() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.guests[200].config["cipassword"] = "$5$salt$hash"
            await lab.task("POST", f"{VM}/snapshot", {"snapname": "s1"})
            assert (await lab.data("GET", f"{VM}/snapshot/s1/config"))["cipassword"] == "$5$salt$hash"
            assert (await lab.data("GET", f"{VM}/config", {"snapshot": "s1"}))["cipassword"] == "**********"

    run(main())
