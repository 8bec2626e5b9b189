"""What a command's end tells a script."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The same for every command."""

    FINE = 0
    PROBLEM = 1
    USAGE = 2
    INTERRUPTED = 130
