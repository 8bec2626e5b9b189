"""Events in revision order, shared by everyone who watches them.

Watchers own no buffer: each is a position in this log, so a thousand of them cost a thousand integers, and a slow one
delays nobody. Positions count events since the log began and stay valid when old events are forgotten from the front.
Every table has a log, and the store has one over all tables.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from nagaya.apiserver.storage.event import Event

_revision_of = attrgetter("revision")


class EventLog:
    """A run of events without gaps, from position `first` to before position `end`."""

    __slots__ = ("_waiting", "events", "first")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.first = 0
        self._waiting: dict[asyncio.Future[None], None] = {}  # told in the order in which they came

    @property
    def end(self) -> int:
        """The position that the next event will have."""
        return self.first + len(self.events)

    def append(self, event: Event) -> None:
        """Add the newest event. Waiting watchers learn of it by `wake`, once for everything added together."""
        self.events.append(event)

    def position_after(self, revision: int) -> int:
        """The position of the first event that is newer than a revision."""
        return self.first + bisect_right(self.events, revision, key=_revision_of)

    def after(self, revision: int) -> Sequence[Event]:
        """All events newer than a revision."""
        return self.events[bisect_right(self.events, revision, key=_revision_of) :]

    def read(self, position: int, limit: int) -> Sequence[Event]:
        """Up to `limit` events from a position that is still kept."""
        start = position - self.first
        return self.events[start : start + limit]

    def forget(self, count: int) -> None:
        """Drop the oldest events."""
        del self.events[:count]
        self.first += count

    def wake(self) -> None:
        """Tell everyone who waits that there is something to read, or that waiting is over."""
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    def join(self) -> asyncio.Future[None]:
        """Something to wait for: it is done at the next `wake`, or when whoever waits for it sets it. `leave` it."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = None
        return future

    def leave(self, future: asyncio.Future[None]) -> None:
        """Wait no more."""
        self._waiting.pop(future, None)
