"""What no boot data can be made from, and what the user can do about it."""

from __future__ import annotations


class Refused(ValueError):
    """A field that cannot be rendered. The message names it and the remedy; it never repeats contents or secrets."""

    def __init__(self, field: str, why: str, remedy: str) -> None:
        super().__init__(f"{field}: {why}. {remedy}.")
        self.field = field
        self.why = why
        self.remedy = remedy
