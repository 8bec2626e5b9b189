"""The rows of GET /cluster/resources and /cluster/status, with what they do not say made plain.

Two facts of PVE that cost others dearly:

- Name, status, template flag and use of a machine come from reports that hosts send every 10 s. A machine that was just
  made is there with nothing but its id. `status` is then UNKNOWN, and `name` and `template` are None: not known, which
  is not "no".
- The machines of a host that is off keep their last status for 5 minutes, then become unknown, and stay in the list:
  UNKNOWN never means gone. `status` is UNKNOWN as soon as the host is not online; what was last said is in `reported`.

And a row that is missing proves nothing: PVE leaves out, without a word, whatever the credentials may not see.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Status(enum.Enum):
    """Of a machine."""

    RUNNING = "running"
    STOPPED = "stopped"
    PAUSED = "paused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Host:
    """A host of the cluster. Its size is the last that is known; 0 if none ever was."""

    name: str
    online: bool
    address: str = ""
    cpus: int = 0
    memory: int = 0
    """Bytes."""
    cpu_used: float | None = None
    """Of all its CPUs, 0 to 1; None while it is off."""
    memory_used: int | None = None
    maintenance: bool = False
    local: bool = False
    """Whether it is the one that was asked."""


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A virtual machine."""

    vmid: int
    node: str
    status: Status
    reported: str = ""
    name: str | None = None
    template: bool | None = None
    lock: str = ""
    tags: tuple[str, ...] = ()
    pool: str = ""
    cpus: float = 0
    memory: int = 0
    """Bytes; 0 while nothing is known."""
    disk: int = 0
    ha_state: str = ""


@dataclass(frozen=True, slots=True)
class ContainerRow:
    """A container: of no use here but for what it takes of its host."""

    vmid: int
    node: str
    running: bool
    cpus: float = 0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class StorageRow:
    """A storage as one host has it."""

    name: str
    node: str
    available: bool
    shared: bool
    type: str = ""
    contents: frozenset[str] = frozenset()
    total: int = 0
    used: int = 0

    @property
    def free(self) -> int:
        """Bytes; 0 while nothing is known."""
        return max(0, self.total - self.used)


def host(row: Mapping[str, Any], status: Mapping[str, Any], known: Host | None) -> Host:
    """From the rows of /cluster/resources and /cluster/status, and what was known before."""
    online = bool(status["online"]) if "online" in status else row.get("status") == "online"
    return Host(
        str(row.get("node") or status.get("name")),
        online,
        str(status.get("ip") or (known.address if known else "")),
        int(row.get("maxcpu") or (known.cpus if known else 0)),
        int(row.get("maxmem") or (known.memory if known else 0)),
        float(row["cpu"]) if online and row.get("cpu") is not None else None,
        int(row["mem"]) if online and row.get("mem") is not None else None,
        row.get("hastate") == "maintenance",
        bool(status.get("local")),
    )


def machine(row: Mapping[str, Any], *, host_online: bool) -> MachineRow:
    """From a row of type qemu."""
    said = str(row.get("status") or "unknown")
    known = host_online and said in ("running", "stopped", "paused")
    return MachineRow(
        int(row["vmid"]),
        str(row["node"]),
        Status(said) if known else Status.UNKNOWN,
        said,
        str(row["name"]) if row.get("name") is not None else None,
        bool(int(row["template"])) if row.get("template") is not None else None,
        str(row.get("lock") or ""),
        split_tags(str(row.get("tags") or "")),
        str(row.get("pool") or ""),
        float(row.get("maxcpu") or 0),
        int(row.get("maxmem") or 0),
        int(row.get("maxdisk") or 0),
        str(row.get("hastate") or ""),
    )


def container(row: Mapping[str, Any]) -> ContainerRow:
    """From a row of type lxc."""
    size = float(row.get("maxcpu") or 0), int(row.get("maxmem") or 0)
    return ContainerRow(int(row["vmid"]), str(row["node"]), row.get("status") == "running", *size)


def storage(row: Mapping[str, Any], *, host_online: bool) -> StorageRow:
    """From a row of type storage."""
    return StorageRow(
        str(row["storage"]),
        str(row["node"]),
        host_online and row.get("status") == "available",
        bool(int(row.get("shared") or 0)),
        str(row.get("plugintype") or ""),
        frozenset(filter(None, str(row.get("content") or "").split(","))),
        int(row.get("maxdisk") or 0),
        int(row.get("disk") or 0),
    )


def split_tags(text: str) -> tuple[str, ...]:
    """PVE joins tags by `;`, and takes commas and spaces too."""
    return tuple(filter(None, text.replace(",", ";").replace(" ", ";").split(";")))
