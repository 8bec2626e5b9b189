"""How long the past is kept, and what of it may go.

Clients resume watches and page through lists at revisions they saw minutes ago, so events stay for a window of time.
They go earlier only when together they would take more memory than a hard cap: then clients that are too far behind
are told `Compacted` and list again, which is better than a server that runs out of memory in a write storm.

What always holds: every event newer than `compacted` is here, so the state at any revision from `compacted` on can be
rebuilt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.log import EventLog

_MARK_SPACING = 5.0  # seconds; the window is kept to this precision, never shorter
_EVENT_BYTES = 300  # an event and its previous record in memory, without the value
_KEEP_AFTER_CAP = 0.75  # of the cap, so that hitting it once buys some time


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history to keep. The window is a promise that only the cap may break."""

    window_seconds: float = 300.0
    interval_seconds: float = 60.0
    max_bytes: int = 256 * 1024 * 1024


class History:
    """The log over all tables with the times and sizes that decide when its oldest events go."""

    __slots__ = ("_bytes", "_draining", "_mark_began", "_marks", "_retention", "compacted", "log")

    def __init__(self, retention: Retention, compacted: int = 0) -> None:
        self.log = EventLog()
        self.compacted = compacted
        self._retention = retention
        self._bytes = 0
        self._draining = False
        self._marks: deque[tuple[int, float]] = deque()
        self._mark_began = 0.0

    @property
    def bytes(self) -> int:
        """About how much memory the past takes beyond the present."""
        return self._bytes

    def must_shrink(self) -> bool:
        """Whether events must go although they are young. Once it is true, it stays so until there is some room
        again.
        """
        if self._bytes > self._retention.max_bytes:
            self._draining = True
        elif self._bytes <= self._retention.max_bytes * _KEEP_AFTER_CAP:
            self._draining = False
        return self._draining

    def append(self, event: Event) -> None:
        """Remember an event."""
        self.log.append(event)
        self._bytes += _cost(event)

    def mark(self, revision: int, now: float) -> None:
        """Note that everything up to a revision was written by now."""
        if self._marks and now - self._mark_began < _MARK_SPACING:
            self._marks[-1] = (revision, max(now, self._marks[-1][1]))
        else:
            self._marks.append((revision, now))
            self._mark_began = now

    def compactable(self, now: float) -> int:
        """The newest revision that is older than the window."""
        oldest = now - self._retention.window_seconds
        target = self.compacted
        for revision, time in self._marks:
            if time > oldest:
                break
            target = revision
        return target

    def compact(self, target: int, limit: int) -> Sequence[Event]:
        """Forget up to `limit` of the oldest events: those up to a revision, and more of them while over the cap.

        Returns what was forgotten. `compacted` moves with it, so that the work can be spread over many short steps.
        """
        events = self.log.events
        count = 0
        while count < min(limit, len(events)) and (events[count].revision <= target or self.must_shrink()):
            self._bytes -= _cost(events[count])
            count += 1
        forgotten = self.log.read(self.log.first, count)
        self.log.forget(count)
        if forgotten:
            self.compacted = forgotten[-1].revision
        if not self.log.events or self.log.events[0].revision > target:
            self.compacted = max(self.compacted, target)
        while self._marks and self._marks[0][0] <= self.compacted:
            self._marks.popleft()
        return forgotten


def _cost(event: Event) -> int:
    """What goes from memory with an event: the record it replaced, and a tombstone that has a value of its own."""
    previous, tombstone = event.previous, event.tombstone
    size = _EVENT_BYTES + (0 if previous is None else len(previous.value))
    if tombstone is not None and previous is not None and tombstone.value is not previous.value:
        size += len(tombstone.value)
    return size
