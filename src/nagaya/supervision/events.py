"""What happens to processes, told to the owner as it happens."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Started:
    """A new life has begun."""

    name: str
    pid: int

    def __str__(self) -> str:
        return f"{self.name} was started as process {self.pid}."


@dataclass(frozen=True, slots=True)
class Adopted:
    """A life that an earlier supervisor began goes on under this one."""

    name: str
    pid: int

    def __str__(self) -> str:
        return f"{self.name} was found running as process {self.pid}."


@dataclass(frozen=True, slots=True)
class Ready:
    """The process is ready for work."""

    name: str
    after: float
    """Seconds since it was started or adopted."""

    def __str__(self) -> str:
        return f"{self.name} is ready after {self.after:.1f} s."


@dataclass(frozen=True, slots=True)
class NotStarted:
    """No life could begin, or the one before could not be ended."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} could not be started: {self.reason}"


@dataclass(frozen=True, slots=True)
class Exited:
    """A life ended that should not have."""

    name: str
    pid: int
    code: int | None
    """As a shell's `wait` has it, negative for a signal; None for an adopted process, which only its parent is told."""
    last_lines: tuple[str, ...]

    def __str__(self) -> str:
        words = "" if not self.last_lines else f" Its last words: {self.last_lines[-1]}"
        return f"{self.name} (process {self.pid}) {ending(self.code)}.{words}"


@dataclass(frozen=True, slots=True)
class Restarting:
    """The next life begins after a pause."""

    name: str
    delay: float
    failures: int

    def __str__(self) -> str:
        return f"{self.name} is started again in {self.delay:.1f} s (ends in a row: {self.failures})."


@dataclass(frozen=True, slots=True)
class Stopped:
    """The process was ended because it was asked for."""

    name: str

    def __str__(self) -> str:
        return f"{self.name} was stopped."


Event = Started | Adopted | NotStarted | Ready | Exited | Restarting | Stopped
Listener = Callable[[Event], None]


def ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "ended"
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with code {code}"
