from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from nagaya.simulators.proxmox.guests.backend import Machine
from nagaya.simulators.proxmox.guests.disk import INSTANCE, SEED, GuestDisk
from nagaya.simulators.proxmox.guests.passive import BOOT_ID, RESULT, PassiveGuests
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from support.virtual_run import run, virtual_world

SWITCH = "/etc/cloud/cloud.cfg.d/99-mine.cfg"
DRIVE = BootData("#cloud-config\nhostname: from-drive\n", "", "instance-id: drive\n")
MACHINE = Machine(100, "pve1", {"name": "vm", "smbios1": "uuid=one"}, "debian", DRIVE)


async def wrote(guests: PassiveGuests, path: str, content: bytes) -> None:
    await guests.machines[100].ask("file-write", {"path": path, "content": content})


async def ran(guests: PassiveGuests, *command: str) -> dict[str, Any]:
    machine = guests.machines[100]
    pid = (await machine.ask("exec", {"path": command[0], "arg": list(command[1:])}))["pid"]
    done: dict[str, Any] = await machine.ask("exec-status", {"pid": pid})
    return done


async def read(guests: PassiveGuests, path: str) -> str:
    content: bytes = await guests.machines[100].ask("file-read", {"path": path})
    return content.decode().strip()


def test_boot_data_written_by_the_agent_count_after_a_restart_without_power_being_lost() -> None:
    async def main() -> None:
        guests = PassiveGuests(virtual_world(), Pace())
        ended: list[bool] = []
        guests.power_on(replace(MACHINE, powered_off=lambda: ended.append(True)))
        await asyncio.sleep(10)
        boot = await read(guests, BOOT_ID)
        assert (await read(guests, INSTANCE), guests.machines[100].hostname) == ("drive", "from-drive")
        assert (await ran(guests, "mkdir", "-p", SEED))["exitcode"] == 0
        await wrote(guests, f"{SEED}/user-data", b"#cloud-config\nhostname: from-disk\n")
        await wrote(guests, f"{SEED}/meta-data", b"instance-id: disk\n")
        await wrote(guests, SWITCH, b"datasource:\n  NoCloud:\n    fs_label: null\n")
        await ran(guests, "cloud-init", "clean", "--logs", "--reboot")
        await asyncio.sleep(2)
        assert guests.agent(100) is None, "it boots"
        await asyncio.sleep(10)
        assert (await read(guests, INSTANCE), guests.machines[100].hostname) == ("disk", "from-disk")
        assert f"seed={SEED}" in await read(guests, RESULT)
        assert await read(guests, BOOT_ID) != boot
        assert not ended

    run(main())


def test_a_drive_goes_before_the_folder_unless_told_otherwise() -> None:
    seed = {f"{SEED}/user-data": b"#cloud-config\n", f"{SEED}/meta-data": b"instance-id: x\n"}
    assert GuestDisk(dict(seed)).seed() is None
    assert GuestDisk({**seed, SWITCH: b"datasource: {NoCloud: {fs_label: null}}"}).seed() is not None


def test_another_machine_of_the_same_number_has_an_empty_disk() -> None:
    async def main() -> None:
        guests = PassiveGuests(virtual_world(), Pace())
        guests.power_on(MACHINE)
        await asyncio.sleep(10)
        await wrote(guests, "/etc/mine", b"x")
        guests.power_off(100)
        guests.power_on(MACHINE)
        await asyncio.sleep(10)
        assert await read(guests, "/etc/mine") == "x"
        guests.power_off(100)
        guests.power_on(replace(MACHINE, options={**MACHINE.options, "smbios1": "uuid=two"}))
        assert "/etc/mine" not in guests.machines[100].disk.files

    run(main())


def test_programs_do_to_files_what_their_names_say() -> None:
    async def main() -> None:
        guests = PassiveGuests(virtual_world(), Pace())
        guests.power_on(MACHINE)
        await asyncio.sleep(10)
        await wrote(guests, "/etc/a", bytes(range(256)))
        await wrote(guests, "/etc/b", b"end\n")
        await ran(guests, "sh", "-c", 'cat "$@" > "$0"', "/etc/whole", "/etc/a", "/etc/b")
        files = guests.machines[100].disk.files
        assert files["/etc/whole"] == bytes(range(256)) + b"end\n"
        assert (await ran(guests, "tail", "-n", "1", "/etc/b"))["out-data"] == "end\n"
        await ran(guests, "install", "-m", "0644", "/etc/b", "/etc/c")
        await ran(guests, "rm", "-f", "/etc/b")
        assert ("/etc/b" in files, files["/etc/c"]) == (False, b"end\n")
        assert (await ran(guests, "chmod", "0600", "/etc/b"))["exitcode"] == 1
        assert (await ran(guests, "sha256sum", "/etc/c"))["out-data"].endswith("  /etc/c\n")

    run(main())
