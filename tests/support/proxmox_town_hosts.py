"""Hosts of the town that go off and come back: at a certain moment of what is done there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from nagaya.simulators.proxmox.emulator import Proceed
from nagaya.simulators.proxmox.faults.faults import api_path
from nagaya.simulators.proxmox.request import Answer, Request
from support.proxmox_town import Town
from support.proxmox_town_layout import TOKEN
from support.proxmox_town_ways import route_of

SOON = 0.1
"""Seconds after a call was answered: what it has begun is under way then."""


@dataclass(slots=True)
class DyingHost:
    """The host to which a certain call is made dies right after it, once."""

    town: Town
    call: str
    host: str = ""
    """Which it was, once it is dead."""
    died: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.town.emulator.around.insert(0, self._around)

    async def _around(self, request: Request, proceed: Proceed) -> Answer:
        answer = await proceed(request)
        path = api_path(request.path) or ""
        by_us = answer.status == 200 and TOKEN in request.headers.get("authorization", "")
        if not self.host and by_us and route_of(request.method, path) == self.call:
            self.host = path.split("/")[2]
            asyncio.get_running_loop().call_later(SOON, self._die)
        return answer

    def _die(self) -> None:
        self.town.control.power_off(self.host)
        self.died.set()


def clear_away(town: Town) -> list[int]:
    """What a person does whom a message told so: remove what was being cloned when its host died. While anything is
    being cloned he waits, as a task does not say what is made by it."""
    if any(task.running and task.upid.type == "qmclone" for task in town.emulator.tasks.known.values()):
        return []
    found = [guest.vmid for guest in town.datacenter.guests.values() if guest.lock in ("clone", "create")]
    for vmid in found:
        del town.datacenter.guests[vmid]
        for key in [key for key, each in town.datacenter.volumes.items() if each.vmid == vmid]:
            del town.datacenter.volumes[key]
    return found
