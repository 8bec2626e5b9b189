"""Machines that run for real: each is a set of namespaces of this computer, and boots what its drive holds.

Name, hardware address and boot data are those of the emulated machine; what cloud-init, kubeadm and the kubelet do with
them is their own doing. What always holds: a machine that is off is gone, with all its processes, mounts and
interfaces. So its disk lasts as long as its power, and one that is started again boots as if for the first time. One
that restarts itself keeps what cloud-init reads there, and boots from that if it is told to.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import tarfile
from collections.abc import Coroutine
from dataclasses import replace
from ipaddress import IPv4Interface
from typing import Final

from nagaya.simulators.netns.boot import Booted
from nagaya.simulators.netns.cloud_config import NotUnderstood
from nagaya.simulators.netns.command import CommandFailed, Done
from nagaya.simulators.netns.host import NetnsHost
from nagaya.simulators.netns.machine import Machine as Box
from nagaya.simulators.proxmox.guests import first_boot
from nagaya.simulators.proxmox.guests.addresses import configured
from nagaya.simulators.proxmox.guests.backend import Agent, Machine
from nagaya.simulators.proxmox.guests.disk import INSTANCE, GuestDisk
from nagaya.simulators.proxmox.guests.first_boot import LOG, SCRIPT_FAILED
from nagaya.simulators.proxmox.guests.instance import instance_of, meta_data
from nagaya.simulators.proxmox.guests.namespace_agent import NamespaceAgent
from nagaya.simulators.proxmox.guests.passive import RESULT, SOURCES, hostname_of
from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from nagaya.simulators.proxmox.qemu.networks import networks_of

log = logging.getLogger(__name__)

_NOTHING: Final = b"#cloud-config\n"
_DHCP: Final = "dhcp"
_CLOUD_INIT: Final = """#!/bin/sh
result=/run/cloud-init/result.json
[ "$1" = clean ] && rm -f /var/lib/cloud/data/instance-id $result
[ "$1" = status ] || exit 0
case " $* " in *" --wait "*|*" -w "*) while [ ! -e $result ]; do sleep 0.25; done ;; esac
if [ ! -e $result ]; then echo "status: running"
elif grep -q '"errors": \\[\\]' $result; then echo "status: done"
else echo "status: error"; exit 1; fi
"""
"""What `cloud-init status` and `cloud-init clean` do in machines whose cloud-init is not a program of theirs."""
_KEPT: Final = ("var/lib/cloud/seed", "etc/cloud/cloud.cfg.d")
"""What cloud-init reads from a disk before it decides what to boot from."""
_MAKE_KEPT: Final = 'cd / && mkdir -p "$@"'
_WRITE: Final = 'mkdir -p "$(dirname "$1")" && cat > "$1.new" && chmod "$2" "$1.new" && mv "$1.new" "$1"'


class NamespaceGuests:
    """All of them, on a host that somebody else opens and closes."""

    def __init__(self, host: NetnsHost) -> None:
        self._host = host
        self._machines: dict[int, NamespaceMachine] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def power_on(self, machine: Machine) -> None:
        """It has been switched on."""
        if machine.system:
            self._machines[machine.vmid] = NamespaceMachine(machine, self, self._host)

    def power_off(self, vmid: int) -> None:
        """It has no power any more."""
        if (machine := self._machines.pop(vmid, None)) is not None:
            self.in_background(machine.end())

    def reset(self, vmid: int) -> None:
        """It begins anew."""
        if (machine := self._machines.get(vmid)) is not None:
            self.power_off(vmid)
            self.power_on(machine.machine)

    def restart(self, vmid: int) -> None:
        """It begins anew by itself."""
        if (machine := self._machines.get(vmid)) is not None:
            self.in_background(machine.restart())

    def press_power_button(self, vmid: int) -> None:
        """It is asked to shut down."""
        if (machine := self._machines.pop(vmid, None)) is not None:
            self.in_background(machine.shut_down())

    def pause(self, vmid: int, paused: bool) -> None:
        """It does not stand still: what runs in it is not stopped."""

    def moved(self, vmid: int, node: str) -> None:
        """It runs on another emulated host, which makes no difference here."""

    def agent(self, vmid: int) -> Agent | None:
        """Who answers in it."""
        machine = self._machines.get(vmid)
        return machine.agent if machine is not None else None

    def in_background(self, work: Coroutine[None, None, None]) -> None:
        """Do something that machines which come up wait for."""
        task = asyncio.get_running_loop().create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._ending.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a machine could not be ended: %s", error, exc_info=error)

    async def quiet(self) -> None:
        """Wait until nothing is left of the machines that were switched off."""
        while self._ending:
            await asyncio.wait(self._ending)

    async def close(self) -> None:
        """All of them lose their power. Returns when they are gone."""
        for vmid in list(self._machines):
            self.power_off(vmid)
        await self.quiet()


class NamespaceMachine:
    """One of them."""

    def __init__(self, machine: Machine, guests: NamespaceGuests, host: NetnsHost) -> None:
        self.machine = machine
        self.agent: NamespaceAgent | None = None
        self._guests = guests
        self._host = host
        self._box: Box | None = None
        self._kept = b""
        """What it had on its disk when it restarted, as an archive."""
        self._off = False
        self._changing = asyncio.Lock()
        self._boot = self._booting(machine)

    async def end(self) -> None:
        """Its power is gone; returns when nothing is left of it."""
        self.agent = None
        self._off = True
        async with self._changing:
            await self._stop()

    async def shut_down(self) -> None:
        """Switch itself off."""
        await self.end()
        self.machine.powered_off()

    async def restart(self) -> None:
        """Begin anew, with what is on the disk. Returns when it is about to."""
        self.agent = None
        async with self._changing:
            if self._off or self._box is None:
                return
            self._kept = (await self._run(["tar", "--create", "--file=-", "--directory=/", *_KEPT])).output
            await self._stop()
            self._boot = self._booting(replace(self.machine, boot_data=_seed(self._kept) or self.machine.boot_data))

    def _booting(self, machine: Machine) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(self._come_up(machine), name=f"boot of {machine.vmid}")

    async def _stop(self) -> None:
        self._boot.cancel()
        await asyncio.gather(self._boot, return_exceptions=True)
        if self._box is not None:
            await self._box.destroy()
            self._box = None

    async def _come_up(self, machine: Machine) -> None:
        # Names and addresses are those of machines that may just be going.
        await self._guests.quiet()
        try:
            errors = await self._start(machine)
            assert self._box is not None
            await self._equip(machine)
            self.agent = NamespaceAgent(self._box, self._shut_down, self._restart)
            if machine.boot_data is not None:
                booted = await self._box.finished()
                source = SOURCES[machine.boot_data.label]
                result = {"v1": {"datasource": source, "errors": [*errors, *_errors(booted)]}}
                await self._write(RESULT, json.dumps(result, indent=1) + "\n", "644")
        except (CommandFailed, OSError, ValueError):
            log.exception("machine %d does not come up", machine.vmid)

    async def _equip(self, machine: Machine) -> None:
        """What a system with cloud-init has, and what this one had before it restarted."""
        await self._write("/usr/local/bin/cloud-init", _CLOUD_INIT, "755")
        await self._run(["sh", "-ec", _MAKE_KEPT, "sh", *_KEPT])
        if self._kept:
            await self._run(["tar", "--extract", "--file=-", "--directory=/"], self._kept)
        if machine.boot_data is not None:
            await self._write(INSTANCE, f"{instance_of(machine.boot_data)}\n", "644")

    async def _start(self, machine: Machine) -> tuple[str, ...]:
        """Power on. Boot data that nobody understands are left out; what cloud-init says of them comes back."""
        name = hostname_of(machine)
        [*devices] = networks_of(machine.options).values()
        mac = str(devices[0].get("macaddr", "")).lower() if devices else ""
        data, address = machine.boot_data, _address(machine, mac)
        if data is None:
            self._box = await self._host.create(name, address, _NOTHING, hardware_address=mac)
            return ()
        names = meta_data(data)
        try:
            user = data.user.encode() if data.user.strip() else _NOTHING
            self._box = await self._host.create(name, address, user, names, hardware_address=mac)
        except NotUnderstood as error:
            self._box = await self._host.create(name, address, _NOTHING, names, hardware_address=mac)
            read = first_boot.read(data, name)
            if read.log:
                await self._write(LOG, read.log, "640")
                return read.errors
            return read.errors or (str(error),)
        return ()

    async def _write(self, path: str, text: str, mode: str) -> None:
        await self._run(["sh", "-ec", _WRITE, "sh", path, mode], text.encode())

    async def _run(self, command: list[str], given: bytes = b"") -> Done:
        assert self._box is not None
        done = await self._box.run(command, given, errors_apart=True)
        if done.code:
            raise CommandFailed(f"{' '.join(command)} ended with {done.code}: {done.errors.decode(errors='replace')}")
        return done

    def _shut_down(self) -> None:
        self._guests.press_power_button(self.machine.vmid)

    def _restart(self) -> None:
        self._guests.restart(self.machine.vmid)


def _address(machine: Machine, mac: str) -> IPv4Interface | None:
    """The address that boot data name for the first device; None if it gets any."""
    network = machine.boot_data.network if machine.boot_data is not None else ""
    if not mac or not network.strip():
        return None
    [(_, found)] = configured(network, {"net0": mac}, _NoRouter()).values()
    fixed = [IPv4Interface(each) for each in found if each != _DHCP and ":" not in each]
    return fixed[0] if fixed else None


class _NoRouter:
    """Addresses that are not fixed are handed out by the host of the namespaces."""

    def lease(self, mac: str) -> str:
        return _DHCP


def _seed(archive: bytes) -> BootData | None:
    """The boot data that cloud-init finds on a disk, if it is to take those and not the ones of a drive."""
    disk = GuestDisk()
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for each in files:
            content = files.extractfile(each) if each.isfile() else None
            if content is not None:
                disk.files[f"/{each.name}"] = content.read()
    return disk.seed()


def _errors(booted: Booted) -> list[str]:
    return [
        SCRIPT_FAILED if step == "runcmd" else str((step.partition(" ")[0], RuntimeError(f"Exit code: {code}")))
        for step, code in booted.codes
        if code
    ]
