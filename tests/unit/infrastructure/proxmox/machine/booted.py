"""A VM of an emulated data center whose guest is asked things."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from nagaya.simulators.proxmox.guests.passive import PassiveGuests
from nagaya.simulators.proxmox.pace import Pace
from support.proxmox_transport import data_center

VMID = 101
NODE = "pve1"
OFF = 30.0
"""Seconds from power-on, in which nobody answers in the guest."""
STARTING = 70.0
"""Seconds from power-on after which the agent answers, and cloud-init has not ended."""
UP = 120.0
"""Seconds from power-on after which cloud-init has ended, too."""


@dataclass(frozen=True, slots=True)
class Booted:
    """The VM, and who asks."""

    proxmox: Proxmox
    found: Found
    files: dict[str, bytes]
    """What is on the disk of the guest."""


@asynccontextmanager
async def booted(seconds: float = UP) -> AsyncIterator[Booted]:
    """A clone of a template, so long after it was turned on."""
    async with data_center(pace=Pace(boot=60)) as there:
        client = there.client
        await client.tasks.wait(await client.machines.clone(NODE, 9001, VMID, name="a", full=False))
        await client.tasks.wait(await client.machines.start(NODE, VMID))
        await asyncio.sleep(seconds)  # virtual time
        config = await client.machines.config(NODE, VMID)
        found = Found(Presence.OURS, NODE, config, running=True, state="running", uptime=int(seconds))
        guests = there.emulator.machines.backend
        assert isinstance(guests, PassiveGuests)
        yield Booted(client, found, guests.machines[VMID].disk.files)
