"""What a run does, step by step; each says so in a sentence that is shown before it is done."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.infrastructure.proxmox.image.marker import RETIRED
from nagaya.infrastructure.proxmox.image.seen import SeenStorage, Template, Underway


@dataclass(frozen=True, slots=True)
class EnableImport:
    """Let a storage take images."""

    storage: str
    contents: frozenset[str]
    """All that it takes then."""

    def __str__(self) -> str:
        return f"let storage {self.storage} take images (content {','.join(sorted(self.contents))})"


@dataclass(frozen=True, slots=True)
class Download:
    """Have a host fetch the image. A file that is there already is only checked, by Proxmox VE itself."""

    host: str
    storage: SeenStorage
    file: str
    url: str
    underway: Underway | None = None
    """It runs already."""

    @property
    def place(self) -> tuple[str, str]:
        """Hosts that see the same files need one download."""
        return self.storage.place

    def __str__(self) -> str:
        verb = "go on with the download of" if self.underway is not None else "download"
        return f"{verb} {self.url} to {self.storage.name} as {self.file}, and check it"


@dataclass(frozen=True, slots=True)
class Follow:
    """Wait for what runs already, then look again."""

    host: str
    underway: Underway

    def __str__(self) -> str:
        return f"wait for the task {self.underway.type} {self.underway.id}, which runs already, and go on from there"


@dataclass(frozen=True, slots=True)
class Create:
    """Make a machine with the image as its disk."""

    host: str
    vmid: int
    storage: str
    source: str
    """The volume that is imported."""
    name: str

    def __str__(self) -> str:
        return f"make machine {self.vmid} ({self.name}) with the image as its disk on {self.storage}"


@dataclass(frozen=True, slots=True)
class MakeTemplate:
    """Make a template of it."""

    host: str
    vmid: int

    def __str__(self) -> str:
        return f"make {self.vmid} a template"


@dataclass(frozen=True, slots=True)
class Retire:
    """Have no selector find an older one any more."""

    host: str
    template: Template

    @property
    def vmid(self) -> int:
        """Of it."""
        return self.template.vmid

    def __str__(self) -> str:
        return f"retire template {self.template.vmid}, which has the same tags (its only tag becomes {RETIRED})"


@dataclass(frozen=True, slots=True)
class Tag:
    """Let selectors find it: the last thing that is done to it."""

    host: str
    vmid: int
    tags: tuple[str, ...]

    def __str__(self) -> str:
        return f"give {self.vmid} the tags {', '.join(self.tags)}"


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """Remove what was downloaded."""

    host: str
    storage: str
    file: str

    @property
    def volume(self) -> str:
        """Its id."""
        return f"{self.storage}:import/{self.file}"

    def __str__(self) -> str:
        return f"remove {self.volume}, which nothing needs any more"


Step = Follow | Create | MakeTemplate | Retire | Tag
"""What is done on a host once the image is there."""
