"""A file that Nagaya itself puts onto a machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

ROOT: Final = "root:root"


@dataclass(frozen=True, slots=True)
class OwnFile:
    """Unlike a user's file it is never a template: whatever it contains arrives as it is."""

    path: str
    content: bytes = field(repr=False)
    permissions: str
    owner: str = ROOT
