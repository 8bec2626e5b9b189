"""Says what is going on while a download or a build takes its minutes.

A terminal gets a bar that moves; a log gets a plain line now and then, because a bar in a log is noise and silence
looks like a hang. The work itself does not know which: it is handed a `Reporter`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, Literal, Protocol

from nagaya.world import Clock

Unit = Literal["bytes", "packages", "seconds"]

PLAIN_INTERVAL = 15.0
"""Seconds between the lines that a log gets about one activity."""


class Activity(Protocol):
    """Something that takes a while and is being watched."""

    def total(self, total: int) -> None:
        """Say how much there is in all, once that is known."""
        ...

    def reached(self, done: int) -> None:
        """Say how much of it is done."""
        ...

    def note(self, text: str) -> None:
        """Say what is being worked on right now."""
        ...

    def tick(self) -> None:
        """Say that it goes on though nothing can be counted; call it about once a second."""
        ...


class Reporter(Protocol):
    """Where progress goes."""

    def say(self, line: str) -> None:
        """Tell one thing that happened."""
        ...

    def activity(self, title: str, unit: Unit) -> AbstractContextManager[Activity]:
        """Begin something that takes a while."""
        ...


def duration(seconds: float) -> str:
    """Seconds as people say them: `12 s`, `3 min 05 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def amount(done: int, total: int | None, unit: Unit) -> str:
    """How far something is: `12.5 of 105.4 MB (12%)`, `310 packages`, or nothing where nothing can be counted."""
    if unit == "seconds" or not (done or total):
        return ""
    if unit == "bytes":
        counted, whole, noun = f"{done / 1e6:.1f}", f"{(total or 0) / 1e6:.1f}", "MB"
    else:
        counted, whole, noun = f"{done}", f"{total}", unit
    return f"{counted} of {whole} {noun} ({100 * done // total}%)" if total else f"{counted} {noun}"


class Silent:
    """For callers that want no word."""

    def say(self, line: str) -> None:
        """Nothing."""

    @contextmanager
    def activity(self, title: str, unit: Unit) -> Iterator[Activity]:
        """Nothing either."""
        yield _Unwatched()


class _Unwatched:
    def total(self, total: int) -> None: ...

    def reached(self, done: int) -> None: ...

    def note(self, text: str) -> None: ...

    def tick(self) -> None: ...


class PlainReporter:
    """Lines for a log or a pipe."""

    def __init__(self, stream: IO[str], clock: Clock, interval: float = PLAIN_INTERVAL) -> None:
        self._stream = stream
        self._clock = clock
        self._interval = interval

    def say(self, line: str) -> None:
        """One line, at once."""
        self._stream.write(f"{line}\n")
        self._stream.flush()

    @contextmanager
    def activity(self, title: str, unit: Unit) -> Iterator[Activity]:
        """A line at the start, one every interval, one at the end with the time it took."""
        watched = _PlainActivity(self, title, unit, self._clock, self._interval)
        self.say(f"{title} ...")
        yield watched
        self.say(watched.summary())


class _PlainActivity:
    def __init__(self, reporter: PlainReporter, title: str, unit: Unit, clock: Clock, interval: float) -> None:
        self._reporter = reporter
        self._title = title
        self._unit = unit
        self._clock = clock
        self._interval = interval
        self._began = self._spoke = clock.monotonic()
        self._total: int | None = None
        self._done = 0
        self._note = ""

    def total(self, total: int) -> None:
        self._total = total

    def reached(self, done: int) -> None:
        self._done = done
        self.tick()

    def note(self, text: str) -> None:
        self._note = text
        self.tick()

    def tick(self) -> None:
        now = self._clock.monotonic()
        if now - self._spoke < self._interval:
            return
        self._spoke = now
        parts = (amount(self._done, self._total, self._unit), self._note, f"{duration(now - self._began)} so far")
        self._reporter.say(f"{self._title}: {', '.join(part for part in parts if part)}")

    def summary(self) -> str:
        spent = duration(self._clock.monotonic() - self._began)
        counted = amount(self._done, None, self._unit) if self._done else ""
        return f"{self._title}: {counted + ' in ' if counted else 'done in '}{spent}"


def reporter_for(stream: IO[str], clock: Clock) -> Reporter:
    """What suits the stream: a bar on a terminal, lines elsewhere."""
    if stream.isatty():
        # rich is slow to import, and most calls find everything in the cache and report nothing.
        from nagaya.binaries.terminal import TerminalReporter

        return TerminalReporter(stream)
    return PlainReporter(stream, clock)
