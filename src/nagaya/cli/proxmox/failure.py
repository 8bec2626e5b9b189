"""How `nagaya proxmox` ends when it does not end well: a sentence, and an exit code that scripts can decide by."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import click

from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.screen import note


def finish(work: Coroutine[Any, Any, int | None]) -> None:
    """Run a command to its end, good or bad."""
    try:
        code = asyncio.run(work)
    except Ended as ended:
        note(f"Error: {ended}")
        raise SystemExit(int(ended.code)) from ended
    except KeyboardInterrupt:
        click.echo("\nStopped. Run the same again: it goes on where it was.", err=True)
        raise SystemExit(int(ExitCode.INTERRUPTED)) from None
    if code:
        raise SystemExit(code)
