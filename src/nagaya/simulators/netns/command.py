"""Programs of the host, run without blocking the event loop, with what they said in the error if they fail."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PATIENCE: Final = 60.0
"""Seconds. What sets up machines takes milliseconds; a busy host may take longer, but not for ever."""
_SAID: Final = 2000


class CommandFailed(Exception):
    """A program ended with an error, or not at all."""


@dataclass(frozen=True, slots=True)
class Done:
    """A program that has ended."""

    code: int
    output: bytes
    errors: bytes = b""
    """What it said on its error output, if that was wanted apart; else it is among the rest."""

    @property
    def text(self) -> str:
        """What it said, errors included."""
        return self.output.decode(errors="replace")


async def attempt(
    command: Sequence[str], stdin: bytes = b"", *, timeout: float = PATIENCE, errors_apart: bool = False
) -> Done:
    """Run a program to its end, good or bad. Raises CommandFailed if it takes too long; then it is killed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE if errors_apart else asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(timeout):
            output, errors = await process.communicate(stdin)
    except TimeoutError:
        raise CommandFailed(f"{shlex.join(command)} did not end within {timeout:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Done(process.returncode, output, errors or b"")


async def run(*command: str, stdin: bytes = b"", timeout: float = PATIENCE) -> bytes:
    """Run a program that must succeed, and return what it said. Raises CommandFailed."""
    done = await attempt(command, stdin, timeout=timeout)
    if done.code:
        raise CommandFailed(f"{shlex.join(command)} ended with {done.code}: {done.text.strip()[-_SAID:]}")
    return done.output
