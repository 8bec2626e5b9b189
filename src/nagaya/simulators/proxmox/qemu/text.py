"""The text of a configuration file, and the digest of it by which clients notice that somebody else changed it.

Options stand in it by name, one in each line, the description as a comment before them. Then come changes that wait for
the next start, what the drive with boot data does not know yet, and the snapshots.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

_OTHERS = re.compile(r"[^ -$&-9;-~]")
"""All but printable letters of ASCII, and of those the percent sign and the colon."""
_LEFT_OUT = frozenset({"digest", "description"})


def encoded(text: str) -> str:
    """A line of a description, with everything but plain letters escaped."""
    # In Latin-1 each byte is a letter.
    return _OTHERS.sub(lambda found: f"%{ord(found[0]):02X}", text.encode("utf-8", "surrogatepass").decode("latin-1"))


def section(options: Mapping[str, Any], *, pending: bool = False) -> str:
    """The lines of some options."""
    lines: list[str] = []
    description = options.get("description")
    if description:
        lines += [f"#{encoded(line)}" for line in str(description).split("\n")]
    elif description is not None and pending:
        lines.append("#")
    lines += [f"{name}: {options[name]}" for name in sorted(options) if name not in _LEFT_OUT]
    return "".join(f"{line}\n" for line in lines)


def file(
    options: Mapping[str, Any],
    pending: Mapping[str, Any],
    deletions: Mapping[str, bool],
    cloudinit: Mapping[str, str],
    snapshots: Mapping[str, Mapping[str, Any]],
) -> str:
    """A whole file."""
    text = section(options)
    if pending or deletions:
        marks = {"delete": joined_deletions(deletions)} if deletions else {}
        text += "\n[PENDING]\n" + section({**pending, **marks}, pending=True)
    if cloudinit:
        text += "\n[special:cloudinit]\n" + section(cloudinit)
    for name in sorted(snapshots):
        text += f"\n[{name}]\n" + section(snapshots[name])
    return text


def joined_deletions(deletions: Mapping[str, bool]) -> str:
    """Options that are to go, those whose volumes go with them marked."""
    return ",".join(f"!{name}" if deletions[name] else name for name in sorted(deletions))


def digest(text: str) -> str:
    """By which a file is compared."""
    return hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
