"""What this process remembers between two looks at a machine. Nothing in here has to survive: all of it is either told
by objects and by Proxmox VE again, or only makes pauses longer."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from nagaya.infrastructure.proxmox.client import Upid
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.seen import Guest
from nagaya.infrastructure.proxmox.placement import Clone, Reservation
from nagaya.kube.key import Key

FIRST_PAUSE: Final = 10.0
LONGEST_PAUSE: Final = 600.0
TEMPLATE_AGE: Final = 60.0
"""Seconds for which the disks of a template are taken to be what they were."""

GUESTS: Final = 2
"""How many guests of a host are asked at a time. A question to one that is silent takes one of the three processes for
three seconds that serve the API on a host; it has other things to do."""
NEARLY: Final = 0.8
"""The part of the quickest boot after which the next guest is asked for the first time."""
LONGEST_BOOT: Final = 30.0
"""Seconds after which any guest is asked, however long others took."""
NEXT: Final = 3
"""How many of a queue are looked at when somebody has left it: one more than usually may be cloned at a time."""


def pause(failures: int) -> float:
    """Seconds until what has failed so often is tried again."""
    return float(min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(failures, 10)))


@dataclass(slots=True)
class Memory:
    """Of one controller."""

    promises: dict[str, Reservation] = field(default_factory=dict)
    """Hosts that were promised to machines, by uid, from the very moment of the decision: two machines that are looked
    at at the same time never take the same room."""
    waiting: dict[str, Key] = field(default_factory=dict)
    """Machines that wait for their turn to be cloned, by uid."""
    failures: dict[str, int] = field(default_factory=dict)
    called: set[Key] = field(default_factory=set)
    """Machines that need not wait out the pause after a failure: what it was for has changed."""
    heard: set[str] = field(default_factory=set)
    """Tasks whose end we will be told of."""
    settled: set[str] = field(default_factory=set)
    """Machines whose boot data are known to be removed."""
    uids: dict[Key, str] = field(default_factory=dict)
    """Of all machines that were looked at."""
    templates: dict[tuple[str, int], tuple[float, MachineConfig]] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    """Clones that this process has set going: they count by the promises that they were begun for."""
    clones: dict[tuple[str, str], tuple[float, tuple[Upid, ...]]] = field(default_factory=dict)
    """Clones that were last seen to run, by data center and host."""
    guests: dict[str, tuple[float, Guest]] = field(default_factory=dict)
    """When guests that are waited for were asked, and what they said."""
    boots: dict[str, float] = field(default_factory=dict)
    """Seconds that the quickest guest took until its agent answered, by data center."""
    states: dict[tuple[str, str], tuple[float, Mapping[int, str]]] = field(default_factory=dict)
    """How the VMs of a host were when it was last asked, by data center and host."""
    doors: dict[tuple[str, str], asyncio.Semaphore] = field(default_factory=dict)
    reserving: set[tuple[str, int]] = field(default_factory=set)
    """VMIDs that are being reserved, by data center."""
    asking: dict[Hashable, asyncio.Lock] = field(default_factory=dict)

    def one_at_a_time(self, question: Hashable) -> asyncio.Lock:
        """To be held by who asks something that many want to know: those who waited for it find the answer."""
        return self.asking.setdefault(question, asyncio.Lock())

    def door(self, datacenter: str, host: str) -> asyncio.Semaphore:
        """To be held by who asks a guest on a host."""
        return self.doors.setdefault((datacenter, host), asyncio.Semaphore(GUESTS))

    def booted(self, datacenter: str, seconds: float) -> None:
        """A guest has answered so long after it was turned on."""
        self.boots[datacenter] = min(seconds, self.boots.get(datacenter, seconds))

    def likely_up(self, datacenter: str) -> float:
        """Seconds after which a guest that was turned on is likely to answer."""
        return min(LONGEST_BOOT, self.boots.get(datacenter, 0.0) * NEARLY)

    def next_in_line(self, ended: Reservation | None) -> list[Key]:
        """Of those who wait for their turn, the few whose turn may have come: of each queue the first ones, if a clone
        ended those of the queue that it was in. All of them would look in vain, and that takes questions."""
        queues: dict[tuple[str, str], list[Reservation]] = {}
        found = []
        for machine, key in self.waiting.items():
            if (promised := self.promises.get(machine)) is None:
                found.append(key)
            elif ended is None or promised.clone_storage == ended.clone_storage:
                queues.setdefault((promised.host, promised.clone_storage), []).append(promised)
        for queue in queues.values():
            queue.sort(key=lambda each: (each.since, each.machine))
            found += [self.waiting[each.machine] for each in queue[:NEXT]]
        return found

    def promise(self, machine: str, made: Reservation, vmid: int, now: datetime, since: str = "") -> None:
        """Keep a decision. Who decides anew keeps his place in the queue, also one of an earlier process (`since`)."""
        before = self.promises.get(machine)
        since = before.since if before is not None else since or now.isoformat()
        clone = before.clone if before is not None else made.clone
        self.promises[machine] = replace(made, vmid=vmid, since=since, clone=clone)

    def cloning(self, machine: str, state: Clone) -> None:
        """How far the clone is."""
        if (before := self.promises.get(machine)) is not None:
            # What was copied is seen as used: it must not count twice.
            spaces = () if state is Clone.DONE else before.spaces
            self.promises[machine] = replace(before, clone=state, spaces=spaces)
        self.waiting.pop(machine, None)

    def clone_ended(self, task: Upid) -> None:
        """A clone that ran does not any more."""
        self.begun.discard(task.text)
        for key, (moment, running) in list(self.clones.items()):
            self.clones[key] = moment, tuple(each for each in running if each.text != task.text)

    def gone(self, key: Key) -> None:
        """A machine that is gone, however it went."""
        self.called.discard(key)
        if (uid := self.uids.pop(key, "")) != "":
            self.forget(uid)

    def forget(self, machine: str) -> None:
        """A machine that is gone or done."""
        for kept in (self.promises, self.waiting, self.failures, self.guests):
            kept.pop(machine, None)
        self.settled.discard(machine)
