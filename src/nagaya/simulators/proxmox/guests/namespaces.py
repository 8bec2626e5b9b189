"""Machines that run for real: each is a set of namespaces of this computer, and boots what its drive holds.

Name, hardware address and boot data are those of the emulated machine; what cloud-init, kubeadm and the kubelet do with
them is their own doing. What always holds: a machine that is off is gone, with all its processes, mounts and
interfaces. So its disk lasts as long as its power, and one that is started again boots as if for the first time.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from ipaddress import IPv4Interface
from typing import Final

from nagaya.simulators.netns.boot import Booted
from nagaya.simulators.netns.cloud_config import NotUnderstood
from nagaya.simulators.netns.command import CommandFailed
from nagaya.simulators.netns.host import NetnsHost
from nagaya.simulators.netns.machine import Machine as Box
from nagaya.simulators.proxmox.guests import first_boot
from nagaya.simulators.proxmox.guests.addresses import configured
from nagaya.simulators.proxmox.guests.backend import Agent, Machine
from nagaya.simulators.proxmox.guests.first_boot import LOG, SCRIPT_FAILED
from nagaya.simulators.proxmox.guests.instance import meta_data
from nagaya.simulators.proxmox.guests.namespace_agent import NamespaceAgent
from nagaya.simulators.proxmox.guests.passive import RESULT, SOURCES, hostname_of
from nagaya.simulators.proxmox.qemu.networks import networks_of

log = logging.getLogger(__name__)

_NOTHING: Final = b"#cloud-config\n"
_DHCP: Final = "dhcp"
_STATUS_PROGRAM: Final = """#!/bin/sh
[ "$1" = status ] || exit 0
result=/run/cloud-init/result.json
case " $* " in *" --wait "*|*" -w "*) while [ ! -e $result ]; do sleep 0.25; done ;; esac
if [ ! -e $result ]; then echo "status: running"
elif grep -q '"errors": \\[\\]' $result; then echo "status: done"
else echo "status: error"; exit 1; fi
"""
"""What `cloud-init status` says, for machines whose cloud-init is not a program of theirs."""
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
        self._boot = asyncio.get_running_loop().create_task(self._come_up(), name=f"boot of {machine.vmid}")

    async def end(self) -> None:
        """Its power is gone; returns when nothing is left of it."""
        self.agent = None
        self._boot.cancel()
        await asyncio.gather(self._boot, return_exceptions=True)
        if self._box is not None:
            await self._box.destroy()

    async def shut_down(self) -> None:
        """Switch itself off."""
        await self.end()
        self.machine.powered_off()

    async def _come_up(self) -> None:
        # Names and addresses are those of machines that may just be going.
        await self._guests.quiet()
        try:
            errors = await self._start()
            assert self._box is not None
            await self._write("/usr/local/bin/cloud-init", _STATUS_PROGRAM, "755")
            self.agent = NamespaceAgent(self._box, self._shut_down)
            if self.machine.boot_data is not None:
                booted = await self._box.finished()
                source = SOURCES[self.machine.boot_data.label]
                result = {"v1": {"datasource": source, "errors": [*errors, *_errors(booted)]}}
                await self._write(RESULT, json.dumps(result, indent=1) + "\n", "644")
        except (CommandFailed, OSError, ValueError):
            log.exception("machine %d does not come up", self.machine.vmid)

    async def _start(self) -> tuple[str, ...]:
        """Power on. Boot data that nobody understands are left out; what cloud-init says of them comes back."""
        machine, name = self.machine, hostname_of(self.machine)
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
        assert self._box is not None
        done = await self._box.run(["sh", "-ec", _WRITE, "sh", path, mode], text.encode())
        if done.code:
            raise CommandFailed(f"{path} cannot be written: {done.text.strip()}")

    def _shut_down(self) -> None:
        self._guests.press_power_button(self.machine.vmid)


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


def _errors(booted: Booted) -> list[str]:
    return [
        SCRIPT_FAILED if step == "runcmd" else str((step.partition(" ")[0], RuntimeError(f"Exit code: {code}")))
        for step, code in booted.codes
        if code
    ]
