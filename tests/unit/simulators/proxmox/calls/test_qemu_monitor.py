from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.layouts.lab import lab as layout
from support.proxmox_lab import ProxmoxLab, proxmox_lab, token
from support.virtual_run import run

VM = "/nodes/pve1/qemu/200"
ALICE = token("alice@pve!full")


async def granted(lab: ProxmoxLab, path: str, privileges: str) -> None:
    role = path.strip("/").replace("/", "-") or "root"
    await lab.data("POST", "/access/roles", {"roleid": role, "privs": privileges})
    await lab.data("PUT", "/access/acl", {"path": path, "roles": role, "users": "alice@pve", "propagate": 0})


def test_a_machine_is_run_from_its_console() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:

            async def said(command: str) -> str:
                text: str = await lab.data("POST", f"{VM}/monitor", {"command": command})
                return text

            assert await said("info status") == "ERROR: VM 200 not running\n"
            await lab.task("POST", f"{VM}/status/start")
            assert await said("info status") == "VM status: running\r\n"
            assert await said("info name") == "plain\r\n"
            assert await said("stop") == ""
            assert await said("info status") == "VM status: paused\r\n"
            assert await said("cont") == ""
            assert (await lab.data("GET", f"{VM}/status/current"))["qmpstatus"] == "running"
            assert await said("dance") == "unknown command: 'dance'\r\n"
            assert await said("quit") == ""
            assert (await lab.data("GET", f"{VM}/status/current"))["status"] == "stopped"

    run(main())


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("info status", "OK"),
        ("stop", "Permission check failed (/, Sys.Modify)"),
        ("device_add x", "root-only command 'device_add'"),
        (
            "dance",
            "command 'dance' non-existent or not assigned a required permission yet, limiting to root user",
        ),
        (" ", "unexpected command ' '"),
        ("0", "no command specified"),
    ],
)
def test_each_command_asks_for_its_right(command: str, why: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await granted(lab, "/vms/200", "Sys.Audit")
            answer = await lab.ask("POST", f"{VM}/monitor", {"command": command}, headers=ALICE)
            assert answer.reason == why
            await granted(lab, "/", "Sys.Modify")
            answer = await lab.ask("POST", f"{VM}/monitor", {"command": "stop"}, headers=ALICE)
            assert answer.reason == "OK"

    run(main())


def test_what_only_reads_needs_no_more_in_version_8() -> None:
    async def main() -> None:
        datacenter = layout()
        datacenter.version = "8.4.1"
        async with proxmox_lab(datacenter) as lab:
            await granted(lab, "/vms/200", "VM.Monitor")
            for command, why in (("info status", "OK"), ("stop", "Permission check failed (/, Sys.Modify)")):
                answer = await lab.ask("POST", f"{VM}/monitor", {"command": command}, headers=ALICE)
                assert answer.reason == why

    run(main())
