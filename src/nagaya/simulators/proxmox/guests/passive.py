"""Machines that only pretend: after a while their agent answers, with the addresses and the name they were given.

A machine whose boot disk holds no system does nothing, for ever: no agent answers in it, and it does not react to its
power button. What is written into a machine stays on its disk, and boot data that were written to where cloud-init
looks for them count from its next start on.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import yaml

from nagaya.simulators.proxmox.guests import programs, systems
from nagaya.simulators.proxmox.guests.addresses import Router, configured
from nagaya.simulators.proxmox.guests.backend import Agent, AgentError, Machine
from nagaya.simulators.proxmox.guests.boot_data import CONFIG_DRIVE, NOCLOUD
from nagaya.simulators.proxmox.guests.disk import INSTANCE, SEED, SEED_FOLDER, GuestDisk
from nagaya.simulators.proxmox.guests.instance import instance_of
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.networks import networks_of
from nagaya.wire import bounded_yaml
from nagaya.world import World

RESULT = "/run/cloud-init/result.json"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
SOURCES = {
    NOCLOUD: "DataSourceNoCloud [seed=/dev/sr0]",
    CONFIG_DRIVE: "DataSourceConfigDrive [net,ver=2][source=/dev/sr0]",
    SEED_FOLDER: f"DataSourceNoCloud [seed={SEED}]",
}
FIRST_STEPS = 1.5
"""How long the first steps of a system take, from power-on, in times that its boot takes."""
FIRST_PID = 115
MEMORY_BLOCK = 128
"""MiB that Linux takes into use, or out of it, at once."""
_STATISTICS = ("rx-bytes", "rx-packets", "rx-errs", "rx-dropped", "tx-bytes", "tx-packets", "tx-errs", "tx-dropped")
_COMMANDS = (
    "get-cpustats", "get-diskstats", "ssh-remove-authorized-keys", "ssh-add-authorized-keys",
    "ssh-get-authorized-keys", "get-osinfo", "get-timezone", "get-users", "get-host-name", "exec", "exec-status",
    "get-memory-block-info", "set-memory-blocks", "get-memory-blocks", "set-user-password", "get-fsinfo", "get-disks",
    "set-vcpus", "get-vcpus", "network-get-interfaces", "suspend-hybrid", "suspend-ram", "suspend-disk", "fstrim",
    "fsfreeze-thaw", "fsfreeze-freeze-list", "fsfreeze-freeze", "fsfreeze-status", "file-flush", "file-seek",
    "file-write", "file-read", "file-close", "file-open", "shutdown", "info", "set-time", "get-time", "ping", "sync",
    "sync-delimited",
)  # fmt: skip
"""In the order in which an agent tells them: the oldest come last."""
_WITHOUT_ANSWER = frozenset({"shutdown", "suspend-disk", "suspend-hybrid", "suspend-ram"})


class PassiveGuests:
    """All of them."""

    def __init__(self, world: World, pace: Pace, router: Router | None = None) -> None:
        self.world = world
        self.pace = pace
        self.router = router or Router()
        self.machines: dict[int, PassiveMachine] = {}
        self._drives: dict[int, Machine] = {}
        """Machines with what their drives hold, whatever they boot from."""
        self._written: dict[int, tuple[str, GuestDisk]] = {}
        """The disks, each with the UUID of its machine."""

    def power_on(self, machine: Machine) -> None:
        """It has been switched on."""
        self._drives[machine.vmid] = machine
        disk = self._disk(machine)
        disk.restarted()
        self.machines[machine.vmid] = self._made(replace(machine, boot_data=disk.seed() or machine.boot_data), disk)

    def _disk(self, machine: Machine) -> GuestDisk:
        uuid = str(machine.options.get("smbios1"))
        known, disk = self._written.get(machine.vmid, ("", GuestDisk()))
        if known != uuid:
            disk = GuestDisk()
        self._written[machine.vmid] = uuid, disk
        return disk

    def _made(self, machine: Machine, disk: GuestDisk) -> PassiveMachine:
        return PassiveMachine(machine, self.world, self.pace, self.router, disk, self.restart)

    def power_off(self, vmid: int) -> None:
        """It has no power any more."""
        if (machine := self.machines.pop(vmid, None)) is not None:
            machine.end()

    def reset(self, vmid: int) -> None:
        """It begins anew."""
        self.restart(vmid)

    def restart(self, vmid: int) -> None:
        """It begins anew, by itself or not; the power stays on."""
        if (machine := self.machines.get(vmid)) is not None:
            machine.end()
            self.power_on(self._drives[vmid])

    def press_power_button(self, vmid: int) -> None:
        """It is asked to shut down."""
        if (machine := self.machines.get(vmid)) is not None:
            machine.shut_down()

    def pause(self, vmid: int, paused: bool) -> None:
        """It stands still, or goes on; nobody notices here, for who asks looks at the process first."""

    def moved(self, vmid: int, node: str) -> None:
        """It runs on another host, which makes no difference here."""

    def agent(self, vmid: int) -> Agent | None:
        """Who answers in it."""
        machine = self.machines.get(vmid)
        return machine if machine is not None and machine.awake else None

    async def close(self) -> None:
        """All of them lose their power."""
        for vmid in list(self.machines):
            self.power_off(vmid)


class PassiveMachine:
    """One of them, and its agent."""

    def __init__(
        self,
        machine: Machine,
        world: World,
        pace: Pace,
        router: Router,
        disk: GuestDisk | None = None,
        restart: Callable[[int], None] = lambda vmid: None,
    ) -> None:
        self.machine = machine
        self.disk = disk if disk is not None else GuestDisk()
        self._restart = restart
        self._boot_id = world.uid()
        self._system = systems.find(machine.system) if machine.system else None
        self._world = world
        self._pace = pace
        self._on = world.clock.monotonic()
        self._shutting: asyncio.TimerHandle | None = None
        self._ended = False
        self._pids = itertools.count(FIRST_PID, 2)
        self._running: dict[int, tuple[float, programs.Outcome]] = {}
        self._devices = {
            name: str(parts.get("macaddr", "")).lower() for name, parts in networks_of(machine.options).items()
        }
        data = machine.boot_data
        self._interfaces = configured(data.network if data else "", self._devices, router) if machine.system else {}
        self.hostname = hostname_of(machine)
        self._written["/etc/hostname"] = f"{self.hostname}\n".encode()
        if data is not None:
            self._written[INSTANCE] = f"{instance_of(data)}\n".encode()

    @property
    def _written(self) -> dict[str, bytes]:
        return self.disk.files

    @property
    def awake(self) -> bool:
        """Whether the agent is there and has had the time to start."""
        return not self._ended and self._system is not None and self._system.agent and self._age >= self._pace.boot

    @property
    def _age(self) -> float:
        return self._world.clock.monotonic() - self._on

    @property
    def _settled(self) -> bool:
        """Whether the first steps after booting are done."""
        return self._age >= FIRST_STEPS * self._pace.boot

    @property
    def _errors(self) -> tuple[str, ...]:
        """What went wrong with them, as cloud-init's result has it."""
        return ()

    def end(self) -> None:
        """Its power is gone."""
        self._ended = True
        if self._shutting is not None:
            self._shutting.cancel()

    def shut_down(self) -> None:
        """Switch itself off, if there is a system that can."""
        if self._system is not None and self._shutting is None:
            self._shutting = asyncio.get_running_loop().call_later(self._pace.shutdown, self._switch_off)

    def _switch_off(self) -> None:
        self.end()
        self.machine.powered_off()

    def _reboot(self) -> None:
        """As a program in it asks for: it shuts down, and begins anew."""
        if self._shutting is None:
            restart, vmid = self._restart, self.machine.vmid
            self._shutting = asyncio.get_running_loop().call_later(self._pace.shutdown, lambda: restart(vmid))

    async def ask(self, command: str, arguments: Mapping[str, Any]) -> Any:
        """Answer as the agent."""
        answer = getattr(self, "_" + command.replace("-", "_"), None) if command in _COMMANDS else None
        if answer is None:
            raise AgentError(f"The command guest-{command} has not been found")
        return answer(arguments)

    @property
    def _files(self) -> dict[str, bytes]:
        shown = {BOOT_ID: f"{self._boot_id}\n".encode(), **self._written}
        if not self._settled or self.machine.boot_data is None or INSTANCE not in self._written:
            return shown  # what is forgotten has no result either
        result = {"v1": {"datasource": SOURCES[self.machine.boot_data.label], "errors": [*self._errors]}}
        return {RESULT: json.dumps(result, indent=1).encode() + b"\n", **shown}

    def _status(self) -> tuple[str, str]:
        """What `cloud-init status` says, and its detail."""
        if self.machine.boot_data is None:
            return "disabled", "Cloud-init disabled by cloud-init-generator"
        if not self._settled:
            return "running", "Running in stage: modules-final"
        if self._errors:
            return "error", "\n".join(self._errors)
        return "done", SOURCES[self.machine.boot_data.label]

    def _ping(self, arguments: Mapping[str, Any]) -> Any:
        return {}

    def _info(self, arguments: Mapping[str, Any]) -> Any:
        commands = [
            {"enabled": True, "name": f"guest-{name}", "success-response": name not in _WITHOUT_ANSWER}
            for name in _COMMANDS
        ]
        return {"version": "7.2.19", "supported_commands": commands}

    def _get_osinfo(self, arguments: Mapping[str, Any]) -> Any:
        return self._system.information() if self._system is not None else {}

    def _get_host_name(self, arguments: Mapping[str, Any]) -> Any:
        return {"host-name": self.hostname}

    def _get_time(self, arguments: Mapping[str, Any]) -> Any:
        return int(self._world.clock.now().timestamp() * 1_000_000_000)

    def _get_timezone(self, arguments: Mapping[str, Any]) -> Any:
        return {"zone": "UTC", "offset": 0}

    def _get_users(self, arguments: Mapping[str, Any]) -> Any:
        return []

    def _get_fsinfo(self, arguments: Mapping[str, Any]) -> Any:
        return []

    def _get_vcpus(self, arguments: Mapping[str, Any]) -> Any:
        given = self.machine.options
        count = int(given.get("vcpus") or int(given.get("sockets", 1)) * int(given.get("cores", 1)))
        return [{"logical-id": number, "online": True, "can-offline": number > 0} for number in range(count)]

    def _get_memory_blocks(self, arguments: Mapping[str, Any]) -> Any:
        count = -(-options.megabytes(self.machine.options.get("memory")) // MEMORY_BLOCK)
        return [{"phys-index": number, "online": True, "can-offline": True} for number in range(count)]

    def _get_memory_block_info(self, arguments: Mapping[str, Any]) -> Any:
        return {"size": MEMORY_BLOCK << 20}

    def _network_get_interfaces(self, arguments: Mapping[str, Any]) -> Any:
        found = [_interface("lo", "00:00:00:00:00:00", ["127.0.0.1/8", "::1/128"])]
        for name, mac in self._devices.items():
            shown, addresses = self._interfaces[name]
            found.append(_interface(shown, mac, addresses))
        return found

    def _fsfreeze_status(self, arguments: Mapping[str, Any]) -> Any:
        return "thawed"

    def _fsfreeze_freeze(self, arguments: Mapping[str, Any]) -> Any:
        # It has no file system on a disk (see `_get_fsinfo`), and an agent that froze none is not frozen.
        return 0

    def _fsfreeze_thaw(self, arguments: Mapping[str, Any]) -> Any:
        return 0

    def _fstrim(self, arguments: Mapping[str, Any]) -> Any:
        return {"paths": []}

    def _suspend(self, arguments: Mapping[str, Any]) -> Any:
        raise AgentError("the requested suspend mode is not supported by the guest")

    _suspend_disk = _suspend_ram = _suspend_hybrid = _suspend

    def _shutdown(self, arguments: Mapping[str, Any]) -> Any:
        self.shut_down()

    def _set_user_password(self, arguments: Mapping[str, Any]) -> Any:
        if arguments.get("username") != "root":
            raise AgentError("child process has failed to set user password")
        return {}

    def _file_read(self, arguments: Mapping[str, Any]) -> Any:
        path = str(arguments["path"])
        if path not in self._files:
            raise AgentError(f"failed to open file '{path}' (mode: 'r'): No such file or directory")
        return self._files[path]

    def _file_write(self, arguments: Mapping[str, Any]) -> Any:
        path = str(arguments["path"])
        folder = path.rpartition("/")[0] or "/"
        if folder not in self.disk.folders:
            raise AgentError(f"failed to open file '{path}' (mode: 'wb'): No such file or directory")
        self._written[path] = bytes(arguments["content"])

    def _exec(self, arguments: Mapping[str, Any]) -> Any:
        surroundings = programs.Surroundings(self._files, self.hostname, self._status, self.disk, self._reboot)
        path = str(arguments.get("path") or "")
        if not programs.exists(path, surroundings):
            shown = f"Failed to execute child process \u201c{path}\u201d (No such file or directory)"
            raise AgentError(f"Guest agent command failed, error was '{shown}'")
        done = programs.run([path, *arguments.get("arg", [])], str(arguments.get("input-data") or ""), surroundings)
        pid = next(self._pids)
        self._running[pid] = self._world.clock.monotonic() + done.seconds, done
        return {"pid": pid}

    def _exec_status(self, arguments: Mapping[str, Any]) -> Any:
        pid = int(arguments["pid"])
        if pid not in self._running:
            raise AgentError("Invalid parameter 'pid'")
        end, done = self._running[pid]
        if self._world.clock.monotonic() < end:
            return {"exited": False}
        del self._running[pid]
        answer: dict[str, Any] = {"exited": True, "exitcode": done.code}
        if done.out:
            shown = done.out.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            answer |= {"out-data": shown, "out-truncated": False}
        if done.err:
            answer |= {"err-data": done.err, "err-truncated": False}
        return answer


def hostname_of(machine: Machine) -> str:
    """The name in the boot data, or that of the machine."""
    for text in (machine.boot_data.user, machine.boot_data.meta) if machine.boot_data is not None else ():
        try:
            data = bounded_yaml.load(text)
        except yaml.YAMLError:
            continue
        if isinstance(data, dict):
            for key in ("hostname", "local-hostname"):
                if data.get(key):
                    return str(data[key])
    return str(machine.options.get("name") or "localhost").partition(".")[0]


def _interface(name: str, mac: str, addresses: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": name,
        "hardware-address": mac,
        "statistics": dict.fromkeys(_STATISTICS, 0),
    }
    if addresses:
        found["ip-addresses"] = [_address(text) for text in addresses]
    return found


def _address(text: str) -> dict[str, Any]:
    address = ipaddress.ip_interface(text)
    return {
        "ip-address": str(address.ip),
        "ip-address-type": f"ipv{address.version}",
        "prefix": address.network.prefixlen,
    }
