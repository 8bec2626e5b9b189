"""The text of a configuration file, and the digest of it by which clients notice that somebody else changed it.

Options stand in it by name, one in each line, the description as a comment before them. Then come changes that wait for
the next start, what the drive with boot data does not know yet, and the snapshots.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

_LEFT_OUT = frozenset({"digest", "description"})


def encoded(text: str) -> str:
    """A line of a description, with everything but plain letters escaped."""
    return "".join(
        chr(byte) if 0x20 <= byte <= 0x7E and byte not in (0x25, 0x3A) else f"%{byte:02X}"
        for byte in text.encode("utf-8", "surrogatepass")
    )


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
