"""Storages as /etc/pve/storage.cfg has them, and the volumes on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Volume:
    """A disk image, an ISO file, anything that a storage holds."""

    storage: str
    name: str
    """The part of the volume id behind the colon, e.g. `100/vm-100-disk-0.qcow2` or `iso/debian.iso`."""
    content: str
    format: str
    size: int
    ctime: int
    node: str | None = None
    """The host that has it, None on a shared storage."""
    vmid: int | None = None
    used: int = 0
    parent: str | None = None
    """Name of the volume that this one is a linked clone of."""
    data: bytes | None = None
    """What is in it, for small files whose content matters: ISO files with boot data, snippets."""
    checksums: dict[str, str] = field(default_factory=dict)
    """By algorithm, of content that is only imagined."""
    virtual_size: int | None = None
    """Bytes of the disk that an image file holds, if they are others than those of the file."""
    system: str = ""
    """The operating system on it, for machines that boot from it; with none, nothing happens when they do."""
    snapshots: dict[str, int] = field(default_factory=dict)
    """Names of states to which it can return, each with the size that it had."""
    notes: str = ""
    protected: bool = False

    @property
    def id(self) -> str:
        """As PVE writes it: storage and name."""
        return f"{self.storage}:{self.name}"

    @property
    def capacity(self) -> int:
        """Bytes of the disk that it is."""
        return self.size if self.virtual_size is None else self.virtual_size


@dataclass(slots=True)
class Storage:
    """An entry of storage.cfg. `options` holds what the user declared: path, content, nodes, disable, shared, ..."""

    name: str
    type: str
    options: dict[str, Any] = field(default_factory=dict)
    capacity: int = 256 << 30
    """Bytes, on each host that has it, or once when it is shared."""
    foreign: int = 0
    """Bytes that others use on it."""
    reachable: bool = True
    """False: as an NFS server that does not answer; `active` is 0."""

    @property
    def shared(self) -> bool:
        """Whether all hosts see the same volumes."""
        return bool(self.options.get("shared")) or self.type in {"nfs", "cifs", "rbd", "cephfs", "iscsi", "pbs"}

    @property
    def contents(self) -> list[str]:
        """What may lie on it."""
        return [each for each in str(self.options.get("content", "images,rootdir")).split(",") if each != "none"]

    def on(self, node: str) -> bool:
        """Whether a host has it."""
        nodes = self.options.get("nodes")
        return nodes is None or node in str(nodes).split(",")

    @property
    def enabled(self) -> bool:
        """Whether it may be used at all."""
        return not self.options.get("disable")
