"""Machines that run for real, with a host that only pretends: what is asked of it, and what is told of it."""

from __future__ import annotations

import asyncio
import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from nagaya.simulators.netns import cloud_config
from nagaya.simulators.netns.boot import Booted
from nagaya.simulators.netns.command import Done
from nagaya.simulators.proxmox.guests.backend import AgentError, Machine
from nagaya.simulators.proxmox.guests.disk import INSTANCE, SEED
from nagaya.simulators.proxmox.guests.first_boot import LOG, SCRIPT_FAILED
from nagaya.simulators.proxmox.guests.namespaces import NamespaceGuests
from nagaya.simulators.proxmox.guests.passive import RESULT
from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from support.virtual_run import run

MAC = "bc:24:11:00:00:01"
OPTIONS = {"name": "vm-name", "net0": f"virtio={MAC.upper()},bridge=vmbr0"}
ADDRESSES = [
    {"ifname": "lo", "address": "00:00:00:00:00:00", "addr_info": []},
    {"ifname": "eth0", "address": MAC, "addr_info": [{"family": "inet", "local": "198.18.0.10", "prefixlen": 24}]},
]


@dataclass
class Box:
    codes: tuple[tuple[str, int], ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    destroyed: int = 0

    async def finished(self) -> Booted:
        await asyncio.sleep(5)
        return Booted(self.codes, ())

    async def run(self, command: Sequence[str], stdin: bytes = b"", **options: Any) -> Done:
        if command[0] == "ip":
            return Done(0, json.dumps(ADDRESSES).encode())
        if command[0] == "fails":
            return Done(3, b"out\n", b"err\n")
        if command[:2] == ["tar", "--create"]:
            await asyncio.sleep(1)
            return Done(0, _archive(self.files, tuple(command[4:])))
        if command[:2] == ["tar", "--extract"]:
            self.files |= _unpacked(stdin)
            return Done(0, b"")
        if command[:2] == ["sh", "-ec"]:
            self.files[command[4]] = stdin
            return Done(0, b"")
        if command[:2] == ["sh", "-c"]:
            if "cat >" in command[2]:
                self.files[command[4]] = stdin
            known = command[4] in self.files or command[4] in ("fails", "cloud-init")
            return Done(0 if known else 1, self.files.get(command[4], b""))
        return Done(127, b"", b"not found")

    async def destroy(self) -> None:
        await asyncio.sleep(1)
        self.destroyed += 1


def _archive(files: dict[str, bytes], folders: tuple[str, ...]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path, content in files.items():
            if path.startswith(tuple(f"/{each}/" for each in folders)):
                entry = tarfile.TarInfo(path[1:])
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def _unpacked(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        return {f"/{each.name}": found.read() for each in files if (found := files.extractfile(each)) is not None}


@dataclass
class Host:
    codes: tuple[tuple[str, int], ...] = ()
    made: list[tuple[Any, ...]] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)

    async def create(self, name: str, address: Any, user: bytes, meta: Any = None, hardware_address: str = "") -> Box:
        cloud_config.read(user, {})
        assert all(box.destroyed for box in self.boxes), "a name is not free before its machine is gone"
        await asyncio.sleep(1)
        self.made.append((name, None if address is None else str(address), user, hardware_address))
        self.boxes.append(Box(self.codes))
        return self.boxes[-1]


def machine(user: str = "#cloud-config\n", network: str = "", off: list[int] | None = None, **facts: Any) -> Machine:
    noted = off if off is not None else []
    data = BootData(user, network, "instance-id: a\nlocal-hostname: ship-1\n")
    given: dict[str, Any] = {"system": "debian", "boot_data": data, **facts}
    return Machine(100, "pve1", OPTIONS, powered_off=lambda: noted.append(100), **given)


def guests(host: Host) -> NamespaceGuests:
    return NamespaceGuests(host)  # type: ignore[arg-type]  # a host that pretends


def test_a_machine_boots_with_its_name_its_addresses_and_its_data() -> None:
    async def main() -> None:
        host = Host()
        network = {"version": 2, "ethernets": {"eth0": {"match": {"macaddress": MAC}, "addresses": ["198.18.0.9/24"]}}}
        for text in ("", json.dumps(network)):
            ours = guests(host)
            ours.power_on(machine(network=text))
            await asyncio.sleep(10)
            await ours.close()
        assert host.made == [
            ("ship-1", None, b"#cloud-config\n", MAC),
            ("ship-1", "198.18.0.9/24", b"#cloud-config\n", MAC),
        ]
        assert [box.destroyed for box in host.boxes] == [1, 1]

    run(main())


def test_the_result_of_the_first_boot_stands_in_a_file_when_it_is_over() -> None:
    async def main() -> None:
        for codes, errors in (((), []), ((("write /x (1 bytes)", 0), ("runcmd", 1)), [SCRIPT_FAILED])):
            host = Host(codes)
            ours = guests(host)
            ours.power_on(machine())
            await asyncio.sleep(3)
            assert RESULT not in host.boxes[0].files
            await asyncio.sleep(10)
            assert json.loads(host.boxes[0].files[RESULT])["v1"]["errors"] == errors
            await ours.close()

    run(main())


def test_data_that_nobody_understands_are_left_out_and_told_of() -> None:
    async def main() -> None:
        for user, errors, logged in (
            ("#cloud-config\nruncmd: {a: 1}\n", 1, False),
            ("hello\n", 0, True),
        ):
            host = Host()
            ours = guests(host)
            ours.power_on(machine(user))
            await asyncio.sleep(10)
            assert host.made[0][2] == b"#cloud-config\n"
            assert len(json.loads(host.boxes[0].files[RESULT])["v1"]["errors"]) == errors
            assert (LOG in host.boxes[0].files) is logged
            await ours.close()

    run(main())


def test_a_reset_waits_until_the_machine_before_is_gone() -> None:
    async def main() -> None:
        host = Host()
        ours = guests(host)
        ours.power_on(machine())
        await asyncio.sleep(10)
        ours.reset(100)
        ours.reset(100)
        await asyncio.sleep(10)
        assert [box.destroyed for box in host.boxes] == [1, 0]
        assert ours.agent(100) is not None
        await ours.close()
        assert ours.agent(100) is None

    run(main())


RESTART = {"path": "cloud-init", "arg": ["clean", "--logs", "--reboot"]}
SEEDED = {
    f"{SEED}/user-data": b"#cloud-config\nruncmd: [hostname]\n",
    f"{SEED}/meta-data": b"instance-id: b\nlocal-hostname: ship-1\n",
    f"{SEED}/.marker": b"kept",
    "/etc/passwd": b"not kept",
}
SWITCH = {"/etc/cloud/cloud.cfg.d/99-test.cfg": b"datasource: {NoCloud:\n fs_label: null}\n"}


def test_a_machine_that_restarts_itself_boots_what_was_put_on_its_disk() -> None:
    async def main() -> None:
        for switch, instance in (({}, "a"), (SWITCH, "b")):
            host = Host()
            ours = guests(host)
            ours.power_on(machine())
            await asyncio.sleep(10)
            assert host.boxes[0].files[INSTANCE] == b"a\n"
            agent = ours.agent(100)
            assert agent is not None
            for path, content in {**SEEDED, **switch}.items():
                await agent.ask("file-write", {"path": path, "content": content})
            await agent.ask("exec", RESTART)
            assert ours.agent(100) is agent
            await asyncio.sleep(0.1)
            assert ours.agent(100) is None
            await asyncio.sleep(10)
            assert [box.destroyed for box in host.boxes] == [1, 0]
            assert ours.agent(100) not in (None, agent)
            booted = host.boxes[1].files
            assert booted[INSTANCE] == f"{instance}\n".encode()
            assert host.made[1][2] == (SEEDED[f"{SEED}/user-data"] if switch else b"#cloud-config\n")
            assert booted[f"{SEED}/.marker"] == b"kept"
            assert "/etc/passwd" not in booted
            await ours.close()
            # What is switched off loses its disk.
            ours.power_on(machine())
            await asyncio.sleep(10)
            assert f"{SEED}/.marker" not in host.boxes[2].files
            await ours.close()

    run(main())


@pytest.mark.parametrize("later", [0.0, 0.5, 1.5, 2.5, 3.5])
def test_a_machine_that_loses_its_power_while_it_restarts_stays_off(later: float) -> None:
    async def main() -> None:
        host = Host()
        ours = guests(host)
        ours.power_on(machine())
        await asyncio.sleep(10)
        agent = ours.agent(100)
        assert agent is not None
        await agent.ask("exec", RESTART)
        await asyncio.sleep(later)
        ours.power_off(100)
        await asyncio.sleep(10)
        assert all(box.destroyed for box in host.boxes)
        assert ours.agent(100) is None

    run(main())


def test_a_machine_that_is_asked_to_shut_down_switches_itself_off() -> None:
    async def main() -> None:
        for way in ("button", "agent"):
            host, off = Host(), list[int]()
            ours = guests(host)
            ours.power_on(machine(off=off))
            await asyncio.sleep(10)
            agent = ours.agent(100)
            assert agent is not None
            if way == "button":
                ours.press_power_button(100)
            else:
                await agent.ask("shutdown", {})
            assert off == []
            await asyncio.sleep(10)
            assert off == [100]
            assert host.boxes[0].destroyed == 1

    run(main())


def test_a_machine_without_a_system_does_nothing_and_one_without_data_just_runs() -> None:
    async def main() -> None:
        host = Host()
        ours = guests(host)
        ours.power_on(machine(system=""))
        await asyncio.sleep(10)
        assert (host.made, ours.agent(100)) == ([], None)
        ours.power_on(machine(boot_data=None))
        await asyncio.sleep(10)
        assert host.made == [("vm-name", None, b"#cloud-config\n", MAC)]
        assert RESULT not in host.boxes[0].files
        await ours.close()

    run(main())


def test_the_agent_tells_what_it_finds_in_the_machine() -> None:
    async def main() -> None:
        host = Host()
        ours = guests(host)
        ours.power_on(machine())
        await asyncio.sleep(10)
        agent = ours.agent(100)
        assert agent is not None
        assert await agent.ask("ping", {}) == {}
        [_, device] = await agent.ask("network-get-interfaces", {})
        assert device == {
            "name": "eth0",
            "hardware-address": MAC,
            "ip-addresses": [{"ip-address": "198.18.0.10", "ip-address-type": "ipv4", "prefix": 24}],
        }
        pid = (await agent.ask("exec", {"path": "fails"}))["pid"]
        assert await agent.ask("exec-status", {"pid": pid}) == {"exited": False}
        await asyncio.sleep(1)
        done = await agent.ask("exec-status", {"pid": pid})
        assert (done["exitcode"], done["out-data"], done["err-data"]) == (3, "out\n", "err\n")
        for command, arguments, said in (
            ("exec-status", {"pid": pid}, "Invalid parameter 'pid'"),
            ("exec", {"path": "/bin/nosuch"}, "Failed to execute child process"),
            ("file-read", {"path": "/nosuch"}, "No such file or directory"),
            ("dance", {}, "has not been found"),
        ):
            with pytest.raises(AgentError, match=said):
                await agent.ask(command, arguments)
        await ours.close()

    run(main())
