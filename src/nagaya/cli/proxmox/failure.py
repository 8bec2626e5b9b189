"""How `nagaya proxmox` ends when it does not end well: a sentence, and an exit code that scripts can decide by."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from enum import IntEnum
from typing import Any

import click


class ExitCode(IntEnum):
    """0 is success, 2 a command line that cannot be understood, 130 an interruption."""

    FAILED = 1
    DECLINED = 3
    MANAGEMENT_API = 4
    UNREACHABLE = 5
    REFUSED = 6
    INCOMPLETE = 7


class Ended(Exception):
    """The command has failed, for this reason."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.code = code


def finish(work: Coroutine[Any, Any, int | None]) -> None:
    """Run a command to its end, good or bad."""
    try:
        code = asyncio.run(work)
    except Ended as ended:
        click.echo(f"Error: {ended}", err=True)
        raise SystemExit(int(ended.code)) from ended
    except (KeyboardInterrupt, click.Abort):
        click.echo("\nStopped. Run the same again: it goes on where it was.", err=True)
        raise SystemExit(130) from None
    if code:
        raise SystemExit(code)
