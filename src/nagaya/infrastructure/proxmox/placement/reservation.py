"""What is promised to machines that the inventory may not show yet.

A machine that was given a host is seen there only seconds or minutes later. Without reservations every machine
of a new cluster would be put on the same host, which has most free memory each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Clone(Enum):
    """How far the copying of a machine's disks is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Space:
    """Space on a storage of the machine's host."""

    storage: str
    size: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """A machine that has a host, from the decision until the inventory shows it as it will be.

    While it is there it counts with the larger of what was asked for and what the inventory has: a new clone has the
    template's memory at first, or none at all.
    """

    machine: str
    host: str
    vmid: int = 0
    cpus: int = 0
    memory: int = 0
    cluster: str = ""
    role: str = ""
    spaces: tuple[Space, ...] = ()
    devices: tuple[str, ...] = ()
    clone: Clone = Clone.WAITING
    clone_storage: str = ""
    """Where its disks are copied to."""
    since: str = ""
    """When it was made, so that the times of two compare as text. Who came first is cloned first; one without a time
    has only just come."""


@dataclass(frozen=True, slots=True)
class Turn:
    """When a machine's disks may be copied."""

    running: int
    """How many clones to the same storage run."""
    ahead: int
    """How many machines wait that came earlier."""
    limit: int
    storage: str

    @property
    def come(self) -> bool:
        return self.running + self.ahead < self.limit

    def __str__(self) -> str:
        if self.come:
            return f"may be cloned to {self.storage} now"
        earlier = f", and {_machines(self.ahead)} came earlier" if self.ahead else ""
        verb = "clone" if self.running == 1 else "clones"
        return f"waits: {self.running} {verb} to {self.storage} run already (at most {self.limit} at a time){earlier}"


def turn(mine: Reservation, others: Iterable[Reservation], limit: int, shared: frozenset[str] = frozenset()) -> Turn:
    """When a machine with a reservation may be cloned.

    `shared` names the storages that are the same on all hosts.
    """
    same = [each for each in others if each.machine != mine.machine and _same_storage(mine, each, shared)]
    running = sum(each.clone is Clone.RUNNING for each in same)
    ahead = sum(each.clone is Clone.WAITING and _order(each) < _order(mine) for each in same)
    return Turn(running, ahead, max(1, limit), mine.clone_storage)


def _same_storage(one: Reservation, other: Reservation, shared: frozenset[str]) -> bool:
    return one.clone_storage == other.clone_storage and (one.host == other.host or one.clone_storage in shared)


def _order(reservation: Reservation) -> tuple[bool, str, str]:
    return (not reservation.since, reservation.since, reservation.machine)


def _machines(count: int) -> str:
    return f"{count} machine" if count == 1 else f"{count} machines"
