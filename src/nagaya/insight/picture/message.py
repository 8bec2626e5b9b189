"""Messages of conditions where there is room for one line: lists, as summaries are written, become sentences."""

from __future__ import annotations

from typing import Final

_BULLET: Final = "* "


def one_line(message: str) -> str:
    """A message without its line ends and bullets: what is below a heading follows its colon, the rest a semicolon."""
    told = ""
    for line in filter(None, (" ".join(each.split()) for each in message.splitlines())):
        item = line.removeprefix(_BULLET)
        if not told:
            told = item
        elif item == line or told.endswith(":"):
            told = f"{told} {item}"
        else:
            told = f"{told.rstrip('.')}; {item}"
    return told
