"""What a machine asks for, and the rules that its cluster has for giving it.

Both are translated from the API's kinds by the caller, with all defaults filled in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

DEFAULT_CLONES: Final = 2
"""Disks copied to one storage at a time. More are slower for everybody than one after the other."""


class TagMatch(Enum):
    """How the tags of a template are compared with those asked for."""

    EXACT = "exact"
    """These and no others."""
    UNIQUE_SUBSET = "uniqueSubset"
    """These and maybe others, if all that have them have the same."""
    BEST_SUBSET = "bestSubset"
    """These and as few others as there are."""


@dataclass(frozen=True, slots=True)
class TemplateByTags:
    """A template by what it is. Copies of it on several hosts have the same tags and are as good as each other."""

    tags: frozenset[str]
    match: TagMatch = TagMatch.EXACT


@dataclass(frozen=True, slots=True)
class TemplateById:
    """One template. Its host need not be the one it was on when this was written: VMIDs are unique."""

    vmid: int
    host: str = ""


class Spread(Enum):
    """Whether machines of one role and cluster go to different hosts."""

    PREFERRED = "Preferred"
    REQUIRED = "Required"
    NONE = "None"


@dataclass(frozen=True, slots=True)
class Rules:
    """How much of a host is given away."""

    memory_percent: int = 100
    """Of the host's memory, together. 0: memory is not looked at."""
    cpu_percent: int = 0
    """Of the host's processors, together. 0: they are not looked at."""
    memory_reserve: int = 0
    storage_reserve: int = 0
    spread: Spread = Spread.PREFERRED
    storages: tuple[str, ...] = ()
    """For disks that name none, the best first; the template's if there are none."""
    clones: int = DEFAULT_CLONES
    """How many machines are cloned to one storage at a time."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A further disk, made empty."""

    size: int
    storage: str = ""
    """That of the disk to start from if empty."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A machine that needs a host."""

    machine: str
    """Its uid. What the inventory and the reservations have of this machine itself does not count against it."""
    cpus: int
    memory: int
    template: TemplateByTags | TemplateById
    cluster: str = ""
    role: str = ""
    boot_size: int = 0
    """What the disk to start from grows to; as large as in the template if smaller."""
    disks: tuple[Disk, ...] = ()
    linked: bool = False
    """Whether disks stay linked to those of the template, and so on its storages."""
    storage: str = ""
    """Where the template's disks are copied to. Not for linked clones."""
    bridges: frozenset[str] = frozenset()
    devices: tuple[str, ...] = ()
    """The mappings that its PCI devices are from, one entry for each device."""
    mediated: frozenset[str] = frozenset()
    """The mappings that mediated devices are from. How many VMs can share a device, only its driver knows."""
    allowed: frozenset[str] = frozenset()
    """If empty: the template's host for a template by id, as CAPMOX has it, and any host for one by tags."""
    denied: frozenset[str] = frozenset()
    failure_domain: str = ""
    rules: Rules = field(default_factory=Rules)
