"""What the choice of a host looks at: the hosts, and what is on them.

Plain data, made by the caller from one reading of the inventory. So the choice needs no network, can be asked about
worlds that do not exist ("would it fit if pve3 were on?"), and cannot be stopped by a host that does not answer.
Amounts of memory and space are bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

IMAGES = "images"
"""The content that a storage must be open for to have disks of VMs."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host of the Proxmox VE cluster. What it has is remembered from when it was last on."""

    name: str
    online: bool
    cpus: int
    memory: int
    maintenance: bool = False
    off_since: str = ""
    """When it went off, in words for people; empty if nobody knows."""
    failure_domain: str = ""
    bridges: frozenset[str] | None = None
    """Bridges and virtual networks; None if nobody asked, which then speaks against nothing."""
    silent: str = ""
    """Why the host did not tell what it has though it is on: it gets no machines then. Empty: it told."""
    devices: Mapping[str, int] = field(default_factory=dict)
    """How many PCI devices of each mapping it has. A device with several functions is one."""


@dataclass(frozen=True, slots=True)
class Guest:
    """A VM or a container that the inventory shows, whoever made it. One that is off counts: somebody may start it."""

    vmid: int
    host: str
    cpus: int
    memory: int
    template: bool = False
    machine: str = ""
    """The uid of the machine that it is; empty if it is none of ours."""
    cluster: str = ""
    role: str = ""
    devices: tuple[str, ...] = ()
    """The mappings that its PCI devices are from, one entry for each device."""


@dataclass(frozen=True, slots=True)
class Storage:
    """A storage as one host has it. A shared one is there once for every host that has it."""

    name: str
    host: str
    free: int
    content: frozenset[str] = frozenset({IMAGES})
    shared: bool = False
    active: bool = True

    @property
    def place(self) -> tuple[str, str]:
        """What is the same for two storages exactly if disks on one take space of the other."""
        return (self.name, "" if self.shared else self.host)


@dataclass(frozen=True, slots=True)
class TemplateDisk:
    """A disk of a template."""

    size: int
    storage: str


@dataclass(frozen=True, slots=True)
class Template:
    """A template that machines can be cloned from."""

    vmid: int
    host: str
    disks: tuple[TemplateDisk, ...] = ()
    """The disk to start from comes first."""
    tags: frozenset[str] = frozenset()
    readable: bool = True
    """Whether its configuration is known: without it nobody knows how much space a clone takes, and where."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """One reading of all of it. The order of nothing in here matters."""

    hosts: tuple[Host, ...]
    guests: tuple[Guest, ...] = ()
    storages: tuple[Storage, ...] = ()
    templates: tuple[Template, ...] = ()
