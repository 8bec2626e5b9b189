"""Circuit breakers: what is known to be dead is not asked, so nobody waits for it.

Closed, calls pass. A connection that cannot be made opens it at once; other failures (silence, a connection that breaks
in the middle) do so when there are several in a row. While it is open, calls fail at once, with the reason and since
when. After a while one call may try (half-open): its success closes it, its failure keeps it open for twice as long.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.world import Clock

FAILURES: Final = 3
"""So many in a row that are no failure to connect."""
FIRST_REST: Final = 2.0  # seconds
LONGEST_REST: Final = 30.0


class State(enum.Enum):
    """Whether calls pass."""

    CLOSED = "closed"
    HALF_OPEN = "half-open"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Dead:
    """Why calls do not pass, and since when."""

    why: str
    since: datetime


class Shut(Exception):
    """The call was not tried."""

    def __init__(self, dead: Dead) -> None:
        super().__init__(dead.why)
        self.dead = dead


class Passage:
    """A call that passes. It is told how the call went; told nothing, it says nothing on what is behind."""

    __slots__ = ("_breaker",)

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker

    def succeeded(self) -> None:
        """There was an answer."""
        self._breaker.succeeded()

    def failed(self, why: str, *, to_connect: bool) -> None:
        """There was none."""
        self._breaker.failed(why, to_connect=to_connect)


class Breaker:
    """Of one host or endpoint."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._rest = FIRST_REST
        self._until: float | None = None  # None: closed
        self._probing = False
        self.dead: Dead | None = None
        """None while it is closed."""

    @property
    def state(self) -> State:
        """Whether a call would pass now."""
        if self._until is None:
            return State.CLOSED
        due = self._clock.monotonic() >= self._until
        return State.HALF_OPEN if due and not self._probing else State.OPEN

    @contextmanager
    def passage(self) -> Iterator[Passage]:
        """Go through. Raises Shut."""
        state = self.state
        if state is State.OPEN:
            assert self.dead is not None
            raise Shut(self.dead)
        probe = state is State.HALF_OPEN
        self._probing = self._probing or probe
        try:
            yield Passage(self)
        finally:
            if probe:
                self._probing = False

    def succeeded(self) -> None:
        """It lives: close."""
        self._failures = 0
        self._rest = FIRST_REST
        self._until = None
        self.dead = None

    def failed(self, why: str, *, to_connect: bool) -> None:
        """It did not answer."""
        self._failures += 1
        if self._until is None and not to_connect and self._failures < FAILURES:
            return
        if self._until is not None:
            if self._clock.monotonic() < self._until:
                return  # calls that were under way when it opened say nothing new
            self._rest = min(self._rest * 2, LONGEST_REST)
        since = self.dead.since if self.dead is not None else self._clock.now()
        self.dead = Dead(why, since)
        self._until = self._clock.monotonic() + self._rest

    def told_alive(self) -> None:
        """Somebody else says that it lives: the next call may try at once."""
        if self._until is not None:
            self._until = self._clock.monotonic()
            self._rest = FIRST_REST
