"""The processes of all hosts: which machine runs where, and what follows when one ends by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING

from nagaya.simulators.proxmox.guests.backend import Agent, GuestBackend, Machine
from nagaya.simulators.proxmox.guests.passive import PassiveGuests
from nagaya.simulators.proxmox.qemu.actions.stopping import clean_up
from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from nagaya.simulators.proxmox.state.guest import Guest, Options, Process

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator


class Machines:
    """All running machines."""

    def __init__(self, emulator: Emulator, backend: GuestBackend | None = None) -> None:
        self._emulator = emulator
        self.backend: GuestBackend = backend or PassiveGuests(emulator.world, emulator.pace)
        self._background: set[asyncio.Task[None]] = set()

    def power_on(self, guest: Guest, options: Options, system: str, boot_data: BootData | None) -> None:
        """Start the process of a machine."""
        process = Process(self._emulator.tasks.pid(), self._emulator.world.clock.monotonic(), config=dict(options))
        guest.process = process

        def powered_off() -> None:
            if guest.process is process:
                guest.process = None
                self._ended(guest)

        self.backend.power_on(Machine(guest.vmid, guest.node, process.config, system, boot_data, powered_off))

    def power_off(self, guest: Guest) -> None:
        """End the process of a machine."""
        if guest.process is not None:
            guest.process = None
            self.backend.power_off(guest.vmid)

    def host_down(self, node: str) -> None:
        """All processes of a host end with it, and nobody cleans up."""
        for guest in self._emulator.datacenter.guests.values():
            if guest.node == node:
                self.power_off(guest)

    def agent(self, guest: Guest) -> Agent | None:
        """Who answers in a machine."""
        if guest.process is None or guest.process.status != "running":
            return None
        return self.backend.agent(guest.vmid)

    def in_background(self, work: Coroutine[None, None, None]) -> None:
        """Let something happen that nobody waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _ended(self, guest: Guest) -> None:
        self.in_background(clean_up(self._emulator, guest.node, guest.vmid))

    async def close(self) -> None:
        """End all."""
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self.backend.close()
