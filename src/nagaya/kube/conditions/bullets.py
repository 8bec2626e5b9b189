"""Messages of several lines inside other messages: every line a bullet, inner ones further in."""

from __future__ import annotations

import re
from typing import Final

_BULLET: Final = re.compile(r"[\t\n\f\r ]*\*[\t\n\f\r ]+")


def after_colon(message: str) -> str:
    """A message as it follows a colon: on the same line if it is one plain line, else indented below it."""
    if "\n" not in message and not _BULLET.search(message):
        return f" {message}"
    lines = message.split("\n")
    bulleted = [_BULLET.search(line) is not None for line in lines]
    if all(bulleted):
        return "".join(f"\n  {line}" for line in lines)
    return "".join(f"\n    {line}" if has else f"\n  * {line}" for line, has in zip(lines, bulleted, strict=True))
