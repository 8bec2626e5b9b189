"""Following a table, or all of them, from a revision on.

What a watch promises, by the names etcd gives it: events come in revision order (ordered), each once (unique), whole
revisions at a time (atomic), none left out (reliable), from any revision that is still in the history (resumable),
only those of the prefix (filtered); and `revision` says up to where everything has been delivered (bookmarkable). A
consumer that falls behind the history is told so by `Compacted`; it never silently misses an event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nagaya.apiserver.storage.errors import Compacted
from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.log import EventLog

if TYPE_CHECKING:
    from nagaya.apiserver.storage.store import Store

BATCH = 256  # events handed over at once, so that a long catch-up leaves the event loop to others in between


class Watch:
    """An asynchronous iterator over batches of events, for one consumer. To give up waiting loses nothing."""

    __slots__ = ("_closed", "_interrupted", "_log", "_position", "_prefix", "_revision", "_store", "_waiting")

    def __init__(self, store: Store, log: EventLog, since: int, prefix: str) -> None:
        self._store = store
        self._log = log
        self._prefix = prefix
        self._position = log.position_after(since)
        self._revision = since
        self._closed = False
        self._interrupted = False
        self._waiting: asyncio.Future[None] | None = None

    @property
    def revision(self) -> int:
        """Everything up to here has been delivered. When nothing is left to deliver this is the revision of the
        store.
        """
        return self._store.revision if self._position == self._log.end else self._revision

    def poll(self) -> Sequence[Event]:
        """What there is to deliver now, without waiting; empty only if there is nothing."""
        log = self._log
        while self._position < log.end and not self._closed:
            if self._position < log.first:
                raise Compacted(self._store.compacted_revision)
            events = log.read(self._position, BATCH)
            self._position += len(events)
            self._revision = events[-1].revision
            if self._prefix:
                events = [event for event in events if event.key.startswith(self._prefix)]
            if events:
                return events
        return ()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Sequence[Event]:
        while not (events := await self.next()):
            if events is None:
                raise StopAsyncIteration
        return events

    async def next(self) -> Sequence[Event] | None:
        """Wait for events. Empty if `interrupt` comes before any, None when the watch has ended."""
        while True:
            if events := self.poll():
                return events
            if self._closed or self._store.closed:
                return None
            if self._interrupted:
                self._interrupted = False
                return ()
            self._waiting = waiting = self._log.join()
            try:
                await waiting
            finally:
                self._waiting = None
                self._log.leave(waiting)

    def interrupt(self) -> None:
        """Make `next` return, now if it waits, else when there is nothing left to deliver."""
        self._interrupted = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def close(self) -> None:
        """End the iteration, also of a consumer that waits."""
        if not self._closed:
            self._closed = True
            self._log.wake()
