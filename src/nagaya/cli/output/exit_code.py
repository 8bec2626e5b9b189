"""What a command's end tells a script."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The same for every command; most know only the first ones."""

    FINE = 0
    PROBLEM = 1
    USAGE = 2
    DECLINED = 3
    """It was asked whether to go on, and the answer was no."""
    MANAGEMENT_API = 4
    """The management API cannot be used."""
    UNREACHABLE = 5
    """What the command is about does not answer, or is not trusted."""
    REFUSED = 6
    """It answers, and does not accept who asks."""
    INCOMPLETE = 7
    """All was done, and something is still missing: rights, for example."""
    CHANGES = 8
    """All is well, and something would change; told only if that was asked for."""
    INTERRUPTED = 130
