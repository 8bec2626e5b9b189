"""A host of the data center: what PVE calls a node."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Unreachable(Enum):
    """How the address of a host fails, as the one that asks sees it."""

    NO_ROUTE = "No route to host"
    REFUSED = "Connection refused"
    SILENT = "Connection timed out"
    STRANGER = "error:0A000086:SSL routines::certificate verify failed"
    """Somebody answers there who is not the host."""
    HANGS_UP = "Broken pipe"
    """Connections are accepted and closed at once."""


@dataclass(slots=True)
class Node:
    """A host."""

    name: str
    address: str
    nodeid: int
    cpus: int = 8
    memory: int = 32 << 30
    foreign_memory: int = 1 << 30
    """What the host itself uses."""
    online: bool = True
    daemon: bool = True
    """pvedaemon: without it the proxy answers only what it can answer itself."""
    unreachable: Unreachable = Unreachable.NO_ROUTE
    """How its address fails while it is off."""
    slowness: float = 0.0
    """Seconds that every call takes longer there."""
    kvm: bool = True
    """Whether its processors help to run machines; without, only those with `kvm: 0` start."""
    control_groups: int = 2
    """The generation of control groups that it uses."""
    bridges: list[str] = field(default_factory=lambda: ["vmbr0"])
    booted: float = 0.0
    """On the clock that never goes back."""
    seen: float | None = None
    """When the others last heard its report; None if never."""
    report: dict[str, Any] = field(default_factory=dict)
    """What it last told the others of its guests and storages."""
    maintenance: bool = False
    fingerprint: str | None = None
    """SHA-256 of the certificate that it shows, as PVE writes it; None while none is known."""
    certificate: str | None = None
    """The certificate itself, in PEM; None while it is not reached over HTTPS."""
    options: dict[str, Any] = field(default_factory=dict)
    """/nodes/{node}/config: description, wakeonlan, ..."""
