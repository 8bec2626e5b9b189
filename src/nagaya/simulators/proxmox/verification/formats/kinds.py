"""What a named format can be: a check of a string, or a property string."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from nagaya.simulators.proxmox.surface.schema import Schema
from nagaya.simulators.proxmox.verification.failure import FormatError

Check = Callable[[str], None]
"""Raises FormatError for a string that is not of the format."""

Properties = dict[str, str | bool]
"""A parsed property string. Booleans are made bool; everything else stays as it was written."""


@dataclass(frozen=True, slots=True)
class PropertyFormat:
    """A property string, and what is to be checked beyond its properties."""

    schema: Schema
    validate: Callable[[Properties], Properties] | None = None


def matching(pattern: str, complaint: str, flags: int = 0) -> Check:
    """A check by pattern. `{}` in the complaint is the value."""
    compiled = re.compile(pattern, flags)

    def check(value: str) -> None:
        if compiled.match(value) is None:
            raise FormatError(complaint.replace("{}", value) + "\n")

    return check


def holds(check: Check, value: str) -> bool:
    """Whether a value is of a format."""
    try:
        check(value)
    except FormatError:
        return False
    return True
