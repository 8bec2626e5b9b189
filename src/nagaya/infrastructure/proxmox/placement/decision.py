"""What comes out: a host for a machine, or why no host can have it now; and for every other host why not that one."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.infrastructure.proxmox.placement.disks import DiskPlan
from nagaya.infrastructure.proxmox.placement.inventory import Template
from nagaya.infrastructure.proxmox.placement.reservation import Reservation, Turn


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a host does not get the machine."""

    host: str
    why: str

    def __str__(self) -> str:
        return f"{self.host}: {self.why}"


@dataclass(frozen=True, slots=True)
class Placed:
    """The machine has a host. Its reservation is to be kept before anything is cloned."""

    host: str
    why: str
    template: Template
    disks: DiskPlan
    turn: Turn
    reservation: Reservation
    """What it takes, to be handed in with the next wishes. The caller adds the VMID and the time."""
    why_not: tuple[WhyNot, ...]

    @property
    def to_another_host(self) -> bool:
        """Whether Proxmox VE must be told a target, because the template is on another host."""
        return self.template.host != self.host

    def __str__(self) -> str:
        waiting = "" if self.turn.come else f", {self.turn}"
        return f"goes to {self.host} ({self.why}), cloned from template {self.template.vmid}{waiting}"


@dataclass(frozen=True, slots=True)
class Refused:
    """No host can have the machine now. This is never final: machines go, hosts come back, storages are emptied."""

    reason: str
    """In the form that conditions have reasons in."""
    message: str
    why_not: tuple[WhyNot, ...]
    remedies: tuple[str, ...] = ()
    """What people can do, in sentences."""

    def __str__(self) -> str:
        hosts: dict[str, list[str]] = {}
        for each in self.why_not:
            hosts.setdefault(each.why, []).append(each.host)
        told = "; ".join(f"{', '.join(names)}: {why}" for why, names in hosts.items())
        return f"{self.message}: {told}" if told else self.message


Decision = Placed | Refused
