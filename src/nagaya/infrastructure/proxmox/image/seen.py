"""What a run sees of a data center. If it is not in here, no decision depends on it."""

from __future__ import annotations

from dataclasses import dataclass, field

from nagaya.infrastructure.proxmox.client import Upid
from nagaya.infrastructure.proxmox.image.marker import RETIRED, Marker


@dataclass(frozen=True, slots=True)
class SeenStorage:
    """A storage as one host has it."""

    host: str
    name: str
    contents: frozenset[str]
    shared: bool = False
    available: bool = True
    type: str = "dir"
    free: int = 0

    @property
    def place(self) -> tuple[str, str]:
        """What is the same for hosts that see the same files."""
        return ("", self.name) if self.shared else (self.host, self.name)


@dataclass(frozen=True, slots=True)
class Template:
    """A template, or a machine with our marker that is to become one."""

    vmid: int
    host: str
    name: str
    tags: frozenset[str] = frozenset()
    template: bool = True
    marker: Marker | None = None
    """None: somebody else made it."""
    pool: str = ""
    lock: str = ""
    running: bool = False
    volumes: tuple[str, ...] = ()
    """Of its disks."""
    read: bool = True
    """Whether its host told of it. If not, nobody knows whose it is."""

    @property
    def retired(self) -> bool:
        """Whether another has come in its place."""
        return self.marker is not None and RETIRED in self.tags

    @property
    def storages(self) -> tuple[str, ...]:
        """Where its disks are."""
        return tuple(dict.fromkeys(each.partition(":")[0] for each in self.volumes))


@dataclass(frozen=True, slots=True)
class Underway:
    """A task of ours that runs: from an earlier run, or one whose beginning we did not hear of."""

    upid: Upid
    type: str
    id: str
    """The file of a download, the VMID of a machine."""

    @property
    def host(self) -> str:
        """Where it runs."""
        return self.upid.node


@dataclass(frozen=True, slots=True)
class Seen:
    """A data center at a moment."""

    release: tuple[int, int]
    hosts: dict[str, bool]
    """Whether each is on."""
    storages: tuple[SeenStorage, ...] = ()
    templates: tuple[Template, ...] = ()
    taken: frozenset[int] = frozenset()
    """VMIDs that cannot be given."""
    underway: tuple[Underway, ...] = ()
    files: frozenset[tuple[tuple[str, str], str]] = frozenset()
    """Where our downloads lie: the place of the storage, and the file."""
    size: int | None = None
    """Bytes of the image, if its server says."""
    unread: dict[str, str] = field(default_factory=dict)
    """Hosts that are on and could not be looked at, and why."""

    def storage(self, host: str, name: str) -> SeenStorage | None:
        """A storage as a host has it."""
        return next((each for each in self.storages if (each.host, each.name) == (host, name)), None)

    def ours(self) -> list[Template]:
        """Those with our marker, by VMID."""
        return sorted((each for each in self.templates if each.marker is not None), key=lambda each: each.vmid)
