"""The name of a task, which says where it runs, when it started, what it does and for whom."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(
    r"^UPID:(?P<node>[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?):(?P<pid>[0-9A-Fa-f]{8}):(?P<pstart>[0-9A-Fa-f]{8,9}):"
    r"(?P<start>[0-9A-Fa-f]{8}):(?P<type>[^:\s]+):(?P<id>[^:\s]*):(?P<user>[^:\s]+):$"
)


@dataclass(frozen=True, slots=True)
class Upid:
    """The parts of a UPID."""

    node: str
    pid: int
    pstart: int
    starttime: int
    type: str
    id: str
    user: str
    """user@realm, or user@realm!token."""

    def __str__(self) -> str:
        return (
            f"UPID:{self.node}:{self.pid:08X}:{self.pstart:08X}:{self.starttime:08X}:{self.type}:{self.id}:{self.user}:"
        )


def parse(text: str) -> Upid | None:
    """What a UPID says, None if it is none."""
    if (found := _FORM.match(text)) is None:
        return None
    return Upid(
        found["node"],
        int(found["pid"], 16),
        int(found["pstart"], 16),
        int(found["start"], 16),
        found["type"],
        found["id"],
        found["user"],
    )
