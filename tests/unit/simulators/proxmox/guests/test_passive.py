from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from nagaya.simulators.proxmox.guests.backend import AgentError, Machine
from nagaya.simulators.proxmox.guests.passive import RESULT, PassiveGuests
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from support.virtual_run import run, virtual_world

DATA = BootData("#cloud-config\nhostname: node1\n", "", "instance-id: a\n")
OPTIONS = {"name": "vm-name.example", "cores": 2, "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"}


def machine(off: list[int] | None = None, **facts: Any) -> Machine:
    noted = off if off is not None else []
    given = {"system": "debian", "boot_data": DATA, **facts}
    return Machine(100, "pve1", OPTIONS, powered_off=lambda: noted.append(100), **given)


async def awake(guests: PassiveGuests, booted: Machine) -> Any:
    guests.power_on(booted)
    await asyncio.sleep(10)
    agent = guests.agent(100)
    assert agent is not None
    return agent


def guests() -> PassiveGuests:
    return PassiveGuests(virtual_world(), Pace())


def test_the_agent_answers_once_the_machine_has_booted() -> None:
    async def main() -> None:
        passive = guests()
        passive.power_on(machine())
        assert passive.agent(100) is None
        await asyncio.sleep(Pace().boot)
        agent = passive.agent(100)
        assert agent is not None
        assert await agent.ask("ping", {}) == {}
        passive.reset(100)
        assert passive.agent(100) is None
        passive.power_off(100)
        await asyncio.sleep(100)
        assert passive.agent(100) is None

    run(main())


def test_a_machine_without_a_system_does_nothing() -> None:
    async def main() -> None:
        passive, off = guests(), list[int]()
        passive.power_on(machine(off, system=""))
        await asyncio.sleep(100)
        passive.press_power_button(100)
        await asyncio.sleep(100)
        assert passive.agent(100) is None
        assert off == []

    run(main())


def test_a_system_switches_the_machine_off_when_it_is_asked_to() -> None:
    async def main() -> None:
        for ask in ("button", "agent"):
            passive, off = guests(), list[int]()
            agent = await awake(passive, machine(off))
            if ask == "button":
                passive.press_power_button(100)
            else:
                assert await agent.ask("shutdown", {}) is None
            assert off == []
            await asyncio.sleep(Pace().shutdown)
            assert off == [100]

    run(main())


def test_a_machine_that_lost_its_power_does_not_switch_itself_off_later() -> None:
    async def main() -> None:
        passive, off = guests(), list[int]()
        await awake(passive, machine(off))
        passive.press_power_button(100)
        passive.power_off(100)
        await asyncio.sleep(100)
        assert off == []

    run(main())


def test_the_agent_knows_name_system_and_addresses() -> None:
    async def main() -> None:
        agent = await awake(guests(), machine())
        assert await agent.ask("get-host-name", {}) == {"host-name": "node1"}
        assert (await agent.ask("get-osinfo", {}))["id"] == "debian"
        assert [cpu["logical-id"] for cpu in await agent.ask("get-vcpus", {})] == [0, 1]
        loopback, device = await agent.ask("network-get-interfaces", {})
        assert loopback["name"] == "lo"
        assert device["hardware-address"] == "bc:24:11:00:00:01"
        assert device["ip-addresses"] == [{"ip-address": "192.0.2.50", "ip-address-type": "ipv4", "prefix": 24}]

    run(main())


def test_the_first_boot_is_over_a_while_after_the_agent_answers() -> None:
    async def main() -> None:
        passive = guests()
        passive.power_on(machine())
        await asyncio.sleep(Pace().boot)
        agent = passive.agent(100)
        assert agent is not None
        pid = (await agent.ask("exec", {"path": "cloud-init", "arg": ["status"]}))["pid"]
        assert (await agent.ask("exec-status", {"pid": pid}))["out-data"] == "status: running\n"
        with pytest.raises(AgentError, match="No such file"):
            await agent.ask("file-read", {"path": RESULT})
        await asyncio.sleep(Pace().boot)
        pid = (await agent.ask("exec", {"path": "/usr/bin/cloud-init", "arg": ["status"]}))["pid"]
        assert (await agent.ask("exec-status", {"pid": pid}))["out-data"] == "status: done\n"
        assert json.loads(await agent.ask("file-read", {"path": RESULT}))["v1"]["errors"] == []

    run(main())


def test_programs_run_as_long_as_they_take_and_are_told_once() -> None:
    async def main() -> None:
        agent = await awake(guests(), machine())
        script = "echo out; echo err >&2; false && echo never; sleep 3; nosuch; exit 3"
        pid = (await agent.ask("exec", {"path": "/bin/sh", "arg": ["-c", script]}))["pid"]
        assert await agent.ask("exec-status", {"pid": pid}) == {"exited": False}
        await asyncio.sleep(3)
        done = await agent.ask("exec-status", {"pid": pid})
        assert (done["exitcode"], done["out-data"]) == (3, "out\n")
        assert done["err-data"] == "err\nsh: 1: nosuch: not found\n"
        with pytest.raises(AgentError, match="Invalid parameter 'pid'"):
            await agent.ask("exec-status", {"pid": pid})
        with pytest.raises(AgentError, match="Failed to execute child process"):
            await agent.ask("exec", {"path": "/bin/nosuch"})

    run(main())


def test_files_are_kept_where_there_is_a_folder() -> None:
    async def main() -> None:
        agent = await awake(guests(), machine())
        await agent.ask("file-write", {"path": "/etc/motd", "content": b"hello"})
        assert await agent.ask("file-read", {"path": "/etc/motd"}) == b"hello"
        with pytest.raises(AgentError, match="No such file or directory"):
            await agent.ask("file-write", {"path": "/nosuch/x", "content": b""})
        with pytest.raises(AgentError, match="has not been found"):
            await agent.ask("dance", {})

    run(main())


def test_who_has_no_file_system_on_a_disk_stays_thawed() -> None:
    async def main() -> None:
        agent = await awake(guests(), machine())
        asked = ("status", "freeze", "status", "thaw", "status")
        assert [await agent.ask(f"fsfreeze-{command}", {}) for command in asked] == ["thawed", 0, "thawed", 0, "thawed"]

    run(main())


def test_the_agent_tells_its_oldest_commands_last() -> None:
    async def main() -> None:
        agent = await awake(guests(), machine())
        told = (await agent.ask("info", {}))["supported_commands"]
        assert [command["name"] for command in (told[0], told[-1])] == ["guest-get-cpustats", "guest-sync-delimited"]
        silent = {command["name"] for command in told if not command["success-response"]}
        assert silent == {"guest-shutdown", "guest-suspend-disk", "guest-suspend-hybrid", "guest-suspend-ram"}

    run(main())


@pytest.mark.parametrize("how", ["disk", "ram", "hybrid"])
def test_a_guest_that_cannot_sleep_says_so(how: str) -> None:
    async def main() -> None:
        agent = await awake(guests(), machine())
        with pytest.raises(AgentError, match="the requested suspend mode is not supported by the guest"):
            await agent.ask(f"suspend-{how}", {})

    run(main())


def test_memory_comes_in_blocks() -> None:
    async def main() -> None:
        given = machine()
        agent = await awake(guests(), replace(given, options={**given.options, "memory": "300"}))
        size = (await agent.ask("get-memory-block-info", {}))["size"]
        blocks = await agent.ask("get-memory-blocks", {})
        assert (size, [block["phys-index"] for block in blocks]) == (128 << 20, [0, 1, 2])
        assert all(block["online"] for block in blocks)

    run(main())
