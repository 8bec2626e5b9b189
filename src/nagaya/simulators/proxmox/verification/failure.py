"""A string that is not of the format it should have."""

from __future__ import annotations


class FormatError(Exception):
    """Why a format was refused, as PVE puts it: ends with a line break."""

    def __init__(self, text: str) -> None:
        super().__init__(text.rstrip("\n"))
        self.text = text
