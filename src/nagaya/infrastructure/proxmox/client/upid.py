"""UPIDs: how PVE names a task. The host inside is the one where it runs, and the only one that can tell of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_FORM: Final = re.compile(
    r"^UPID:(?P<node>[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?):(?P<pid>[0-9A-Fa-f]{8}):(?P<pstart>[0-9A-Fa-f]{8,9}):"
    r"(?P<started>[0-9A-Fa-f]{8}):(?P<type>[^:\s/]+):(?P<id>[^:\s/]*):(?P<user>[^:\s/]+):$"
)


@dataclass(frozen=True, slots=True)
class Upid:
    """A task's name, taken apart. `id` is mostly a VMID; of a clone it is that of the source."""

    text: str
    node: str
    started: int
    type: str
    id: str
    user: str

    def __str__(self) -> str:
        return self.text


def upid(text: str) -> Upid:
    """Raises ValueError for any other text."""
    found = _FORM.match(text)
    if found is None:
        raise ValueError(f"{text[:80]!r} is no UPID")
    return Upid(text, found["node"], int(found["started"], 16), found["type"], found["id"], found["user"])
