from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.subtest_cases import subtest_cases
from support.virtual_run import run

STATUS = "/nodes/pve1/qemu/400/status"


async def booted(lab: ProxmoxLab) -> None:
    await lab.task("POST", f"{STATUS}/start")
    await asyncio.sleep(10)


async def state(lab: ProxmoxLab) -> tuple[str, str]:
    shown = await lab.data("GET", f"{STATUS}/current")
    return shown["status"], shown["qmpstatus"]


def test_a_machine_is_started_paused_resumed_and_stopped() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            assert await state(lab) == ("running", "running")
            assert (await lab.task("POST", f"{STATUS}/start")).exitstatus == "VM 400 already running"
            await lab.task("POST", f"{STATUS}/suspend")
            assert await state(lab) == ("running", "paused")
            assert (await lab.ask("POST", f"{STATUS}/shutdown")).reason == "VM is paused - cannot shutdown"
            assert (await lab.ask("POST", f"{STATUS}/reboot")).reason == "VM is paused - cannot shutdown"
            await lab.task("POST", f"{STATUS}/resume")
            assert await state(lab) == ("running", "running")
            await lab.task("POST", f"{STATUS}/stop")
            assert await state(lab) == ("stopped", "stopped")

    run(main())


def test_a_system_that_listens_shuts_down_and_is_started_again_by_a_reboot() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            first = lab.datacenter.guests[400].process
            assert (await lab.task("POST", f"{STATUS}/reboot")).exitstatus == "OK"
            await asyncio.sleep(5)
            second = lab.datacenter.guests[400].process
            assert first is not None
            assert second is not None
            assert first.pid != second.pid
            await asyncio.sleep(10)
            assert (await lab.task("POST", f"{STATUS}/shutdown")).exitstatus == "OK"
            assert await state(lab) == ("stopped", "stopped")

    run(main())


def test_changes_wait_until_the_machine_switches_itself_off() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            await lab.data("PUT", "/nodes/pve1/qemu/400/config", {"memory": 300})
            guest = lab.datacenter.guests[400]
            assert guest.pending == {"memory": "300"}
            await lab.data("POST", "/nodes/pve1/qemu/400/agent/shutdown")
            await asyncio.sleep(5)
            assert guest.process is None
            assert (guest.pending, guest.config["memory"]) == ({}, "300")

    run(main())


def test_a_machine_saved_to_disk_goes_on_with_its_next_start() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            task = await lab.task("POST", f"{STATUS}/suspend", {"todisk": 1})
            assert (task.exitstatus, task.upid.type) == ("OK", "qmsuspend")
            assert task.log[-2:] == ["State saved, quitting", "TASK OK"]
            guest = lab.datacenter.guests[400]
            assert (guest.lock, guest.process) == ("suspended", None)
            saved = guest.config["vmstate"]
            assert ("pve1", saved) in lab.datacenter.volumes
            guest.pending["memory"] = "96"
            task = await lab.task("POST", f"{STATUS}/resume")
            assert "Resumed VM, removing state" in task.log
            assert guest.process is not None
            assert not {"lock", "vmstate", "runningmachine"} & guest.config.keys()
            assert guest.pending == {"memory": "96"}
            assert ("pve1", saved) not in lab.datacenter.volumes

    run(main())


def test_a_managed_machine_is_started_by_the_manager() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            resource: dict[str, Any] = {"sid": "vm:400", "type": "vm", "state": "stopped"}
            lab.datacenter.ha.resources["vm:400"] = resource
            task = await lab.task("POST", f"{STATUS}/start")
            assert (task.upid.type, task.log[0]) == ("hastart", "Requesting HA start for VM 400")
            assert resource["state"] == "started"
            task = await lab.task("POST", f"{STATUS}/shutdown", {"timeout": 7})
            assert (task.upid.type, resource["stop"]) == ("hastop", 7)
            answer = await lab.ask("POST", f"{STATUS}/stop", {"overrule-shutdown": 1})
            assert answer.status == 400
            resource["state"] = "ignored"
            assert (await lab.task("POST", f"{STATUS}/stop")).upid.type == "qmstop"

    run(main())


@subtest_cases(
    ("config", "message"),
    [
        (
            {"kvm": 1},
            "KVM virtualisation configured, but not available. Either disable in VM configuration or enable in BIOS.",
        ),
        ({"cores": 3}, "MAX 2 vcpus allowed per VM on this node"),
        ({"net0": "virtio=BC:24:11:00:00:04,bridge=vmbr9"}, "bridge 'vmbr9' does not exist"),
        ({"scsi1": "store:400/vm-400-disk-9.raw"}, "volume 'store:400/vm-400-disk-9.raw' does not exist"),
        ({"scsi1": "off:400/vm-400-disk-9.raw"}, "storage 'off' is disabled"),
        ({"args": "-nonsense"}, "start failed: QEMU exited with code 1"),
        ({"memory": "999999"}, "start failed: QEMU exited with code 1"),
        ({"net0": "e1000=BC:24:11:00:00:04,bridge=vmbr9"}, "start failed: QEMU exited with code 1"),
        ({"serial1": "/dev/ttyS9"}, "no such serial device"),
        (
            {"rng0": "source=/dev/hwrng"},
            "cannot create VirtIO RNG device: source file '/dev/hwrng' doesn't exist",
        ),
        ({"lock": "backup"}, "VM is locked (backup)"),
        ({"template": 1}, "you can't start a vm if it's a template"),
    ],
)
def test_what_cannot_start_fails_in_its_task(config: dict[str, Any], message: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.guests[400].config |= config
            assert (await lab.task("POST", f"{STATUS}/start")).exitstatus == message
            assert lab.datacenter.guests[400].process is None

    run(main())


def test_a_host_that_dies_takes_its_machines_with_it() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            await lab.data("PUT", "/nodes/pve1/qemu/400/config", {"memory": 300})
            lab.emulator.machines.host_down("pve1")
            await asyncio.sleep(5)
            guest = lab.datacenter.guests[400]
            assert guest.process is None
            assert guest.pending == {"memory": "300"}

    run(main())


def test_an_option_without_effect_is_only_a_warning() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.guests[400].config["scsi0"] += ",iothread=1"
            task = await lab.task("POST", f"{STATUS}/start")
            assert task.exitstatus == "WARNINGS: 1"
            assert lab.datacenter.guests[400].process is not None

    run(main())


def test_a_machine_that_runs_need_not_be_resumed_whatever_it_is_locked_for() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            lab.datacenter.guests[400].config["lock"] = "snapshot"
            assert (await lab.task("POST", f"{STATUS}/resume")).exitstatus == "OK"
            process = lab.datacenter.guests[400].process
            assert process is not None
            process.status = "paused"
            assert (await lab.task("POST", f"{STATUS}/resume")).exitstatus == "VM is locked (snapshot)"
            answer = await lab.ask("POST", "/nodes/pve1/qemu/100/status/resume", {"nocheck": 1})
            assert answer.reason == "VM 100 not running"

    run(main())


def test_memory_that_devices_hold_back_is_not_saved() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            lab.datacenter.guests[400].config["virtiofs0"] = "dirid=share"
            why = "Cannot live-migrate, snapshot (with RAM), or hibernate a VM with: virtiofs"
            assert (await lab.task("POST", f"{STATUS}/suspend", {"todisk": 1})).exitstatus == why
            answer = await lab.ask("POST", "/nodes/pve1/qemu/400/snapshot", {"snapname": "s1", "vmstate": 1})
            assert answer.reason == why
            assert (await lab.task("POST", "/nodes/pve1/qemu/400/snapshot", {"snapname": "s1"})).exitstatus == "OK"

    run(main())


def test_a_start_with_another_type_of_machine_is_checked() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = await lab.task("POST", f"{STATUS}/start", {"machine": "pc-i440fx-99.0"})
            assert "is too old to run machine type 'pc-i440fx-99.0+pve0'" in str(task.exitstatus)

    run(main())


def test_a_machine_that_the_manager_ignores_is_not_managed() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.ha.resources["vm:400"] = {"sid": "vm:400", "type": "vm", "state": "ignored"}
            assert (await lab.data("GET", f"{STATUS}/current"))["ha"] == {"managed": 0}
            assert (await lab.task("POST", f"{STATUS}/start")).upid.type == "qmstart"

    run(main())


def test_the_manager_takes_no_orders_for_a_machine_that_it_has_given_up_on() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.ha.resources["vm:400"] = {"type": "vm", "state": "started", "crm": "error"}
            for action, kind, order in (
                ("stop", "stop", "crm-command stop vm:400 0"),
                ("shutdown", "stop", "crm-command stop vm:400 60"),
                ("start", "start", "set vm:400 --state started"),
            ):
                task = await lab.ended(await lab.data("POST", f"{STATUS}/{action}"))
                assert task.exitstatus == f"command 'ha-manager {order}' failed: exit code 255"
                assert task.log[:2] == [
                    f"Requesting HA {kind} for VM 400",
                    "service 'vm:400' in error state, must be disabled and fixed first",
                ]

    run(main())


def test_a_machine_that_the_manager_lets_be_meanwhile_is_not_started_by_it() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for action, exitstatus in (
                ("start", "command 'ha-manager set vm:400 --state started' failed: exit code 255"),
                ("stop", "OK"),
            ):
                lab.datacenter.ha.resources["vm:400"] = {"type": "vm", "state": "stopped"}
                upid = await lab.data("POST", f"{STATUS}/{action}")
                del lab.datacenter.ha.resources["vm:400"]
                assert (await lab.ended(upid)).exitstatus == exitstatus

    run(main())


def test_an_order_to_stop_waits_for_the_manager() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("POST", "/cluster/ha/resources", {"sid": "vm:400", "state": "started"})
            await lab.task("POST", f"{STATUS}/stop")
            declared = await lab.data("GET", "/cluster/ha/resources/vm:400")
            assert declared == {"sid": "vm:400", "type": "vm", "state": "started", "digest": declared["digest"]}

    run(main())


@pytest.mark.parametrize(("startup", "patience"), [("order=1,down=5", 5), ("up=3", 60), ("2", 60), ("down=0", 60)])
def test_how_long_a_shutdown_waits_is_an_option_of_the_machine(startup: str, patience: int) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", "/nodes/pve1/qemu/100/config", {"startup": startup})
            await lab.task("POST", "/nodes/pve1/qemu/100/status/start")
            began = asyncio.get_running_loop().time()
            task = await lab.task("POST", "/nodes/pve1/qemu/100/status/shutdown")
            assert task.exitstatus == "VM quit/powerdown failed - got timeout"
            assert asyncio.get_running_loop().time() - began == pytest.approx(patience)

    run(main())


@pytest.mark.parametrize(("timeout", "said"), [(0, True), (1, True), (2, False)])
def test_a_stop_without_a_second_to_spare_does_not_see_the_end(timeout: int, said: bool) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            task = await lab.task("POST", f"{STATUS}/stop", {"timeout": timeout})
            assert (task.log[0] == "VM still running - terminating now with SIGTERM") is said
            assert task.exitstatus == "OK"
            assert await state(lab) == ("stopped", "stopped")

    run(main())


def test_what_happens_in_the_last_second_of_a_shutdown_is_not_seen() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            task = await lab.task("POST", f"{STATUS}/shutdown", {"timeout": 1})
            assert task.exitstatus == "VM quit/powerdown failed - got timeout"
            assert await state(lab) == ("stopped", "stopped")

    run(main())


def test_arguments_with_a_quote_that_is_never_closed_are_none() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", "/nodes/pve1/qemu/100/config", {"args": "-nonsense '"})
            assert (await lab.task("POST", "/nodes/pve1/qemu/100/status/start")).exitstatus == "OK"

    run(main())


@pytest.mark.parametrize("held_back", [{"freeze": 1}, {"args": "-S"}])
def test_a_machine_that_is_held_back_goes_on_when_it_is_resumed(held_back: dict[str, Any]) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            vm = "/nodes/pve1/qemu/100"
            await lab.data("PUT", f"{vm}/config", held_back)
            await lab.task("POST", f"{vm}/status/start")
            assert (await lab.data("GET", f"{vm}/status/current"))["qmpstatus"] == "prelaunch"
            said = await lab.data("POST", f"{vm}/monitor", {"command": "info status"})
            assert said == "VM status: paused (prelaunch)\r\n"
            assert (await lab.ask("POST", f"{vm}/status/reboot")).reason == "VM is paused - cannot shutdown"
            await lab.task("POST", f"{vm}/status/resume")
            assert (await lab.data("GET", f"{vm}/status/current"))["qmpstatus"] == "running"

    run(main())


def test_firmware_with_old_keys_is_warned_of_at_every_start() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            efi = "store:1,efitype=4m,pre-enrolled-keys=1"
            await lab.data("PUT", "/nodes/pve1/qemu/200/config", {"bios": "ovmf", "efidisk0": efi})
            config = lab.datacenter.guests[200].config
            assert config["efidisk0"].endswith(",efitype=4m,ms-cert=2023k,pre-enrolled-keys=1,size=528K")
            start = "/nodes/pve1/qemu/200/status/start"
            assert (await lab.task("POST", start)).exitstatus == "OK"
            await lab.task("POST", "/nodes/pve1/qemu/200/status/stop")
            config["efidisk0"] = config["efidisk0"].replace("ms-cert=2023k,", "")
            task = await lab.task("POST", start)
            assert task.exitstatus == "WARNINGS: 1"
            assert task.log[1:3] == [
                "WARN: EFI disk without 'ms-cert=2023k' option, suggesting that not all UEFI 2023",
                "certificates from Microsoft are enrolled yet.",
            ]

    run(main())
