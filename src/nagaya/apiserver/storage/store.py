"""The store of one API server: versioned keys with history, conditional writes and watches.

Reads come from memory and never wait. A write gets its revision when it is accepted, goes to the journal if there is
one, and becomes visible, in revision order, once it is durable; only then does its caller resume. Without a journal
(an in-memory store) all of that happens at once. Nothing here is shared between stores: a process may have thousands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from nagaya.apiserver.storage.contents import Contents, superseded
from nagaya.apiserver.storage.errors import RevisionConflict, StorageFailure, StoreClosed
from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.history import Retention
from nagaya.apiserver.storage.maintenance import Maintenance
from nagaya.apiserver.storage.record import Record, trimmed
from nagaya.apiserver.storage.table import Snapshot, Table
from nagaya.apiserver.storage.watch import Watch
from nagaya.apiserver.storage.write import ABSENT, ANY, Expected, Write
from nagaya.world import Clock

_CACHED_EVENTS = 1024  # events whose encoded form is kept for slower watchers


class Journal(Protocol):
    """Where writes become durable."""

    def submit(self, write: Write) -> None:
        """Take a write. Its outcome is delivered to the store later, in the order of submission."""

    def compact(self, revision: int, garbage: Sequence[int]) -> None:
        """Remember that history up to a revision is gone, and remove rows that nobody needs."""

    async def backup(self, destination: Path, overwrite: bool) -> None:
        """Copy everything durable into one file."""

    async def close(self) -> None:
        """Finish what was submitted, and let go of the data."""


class Store:
    """Tables of JSON objects under one revision counter. Use from one event loop."""

    def __init__(self, clock: Clock, retention: Retention | None = None, contents: Contents | None = None) -> None:
        """An in-memory store. `sqlite.open_store` makes one that is kept on disk."""
        self._clock = clock
        retention = retention or Retention()
        self._contents = contents or Contents(retention)
        self._maintenance = Maintenance(self._contents, retention, clock, self._forgotten)
        self._assigned = self._contents.revision
        self._journal: Journal | None = None
        self.problem = ""  # why writes fail at the moment
        self._shutdown: asyncio.Task[None] | None = None
        self._closed = False

    def attach(self, journal: Journal) -> None:
        """Make writes durable from now on. Called once, before the first write, with a loop running."""
        self._journal = journal
        self._maintenance.schedule()

    @property
    def revision(self) -> int:
        """The newest visible revision."""
        return self._contents.revision

    @property
    def compacted_revision(self) -> int:
        """The oldest revision that can still be read or watched from."""
        return self._contents.history.compacted

    @property
    def closed(self) -> bool:
        """Whether the store has been closed, with all its writes settled."""
        return self._closed

    @property
    def tables(self) -> Iterable[str]:
        """The names of all tables that hold something."""
        return [table.name for table in self._contents.tables.values() if table.records]

    def get(self, table: str, key: str) -> Record | None:
        """What a key holds, None if nothing."""
        return self._contents.get(table, key)

    def list(
        self,
        table: str,
        prefix: str = "",
        *,
        start_after: str | None = None,
        limit: int | None = None,
        revision: int | None = None,
    ) -> Snapshot:
        """A page of records in the byte order of their keys, as of now or of an earlier revision.

        Raises `Compacted` for a revision that is too old and `FutureRevision` for one that does not exist yet.
        """
        return self._contents.list(table, prefix, start_after, limit, revision)

    def count(self, table: str, prefix: str = "") -> int:
        """How many keys a table holds under a prefix."""
        found = self._contents.tables.get(table)
        return 0 if found is None else found.count(prefix)

    def watch(self, table: str | None, since: int, prefix: str = "") -> Watch:
        """Follow the events after a revision, of one table or of all.

        Raises `Compacted` for a revision that is too old and `FutureRevision` for one that does not exist yet.
        """
        self._contents.require(since)
        log = self._contents.history.log if table is None else self._contents.table(table).log
        return Watch(self, log, since, prefix)

    async def put(
        self,
        table: str,
        key: str,
        encode: Callable[[int], bytes],
        *,
        expected: int | Expected,
        labels: Mapping[str, str] | None = None,
    ) -> Record:
        """Store what `encode` makes of the new revision, if the key holds what is expected.

        Returns when the write is durable and visible. Raises `RevisionConflict`, `StorageFailure` or `StoreClosed`,
        and then nothing has changed. Cancelling the caller does not cancel the write.
        """
        target = await self._turn(table, key)
        previous = _compared(target, key, expected)
        revision = self._assigned + 1
        value = trimmed(encode(revision))
        self._assigned = revision
        kept_key = key if previous is None else previous.key
        record = Record(kept_key, revision, value, self._contents.strings.labels(labels, previous))
        return await self._write(target, Event(revision, target.name, kept_key, record, previous))

    async def delete(
        self,
        table: str,
        key: str,
        *,
        expected: int | Expected = ANY,
        encode: Callable[[int], bytes] | None = None,
    ) -> Record:
        """Remove a key that holds what is expected, and return its tombstone: its last value at the revision of the
        deletion.

        `encode` may give the tombstone a value of its own. A key that holds nothing is a `RevisionConflict` with
        None, whatever was expected. Durability, failures and cancellation are as for `put`.
        """
        target = await self._turn(table, key)
        previous = _compared(target, key, expected)
        if previous is None:
            raise RevisionConflict(None)
        revision = self._assigned + 1
        value = previous.value if encode is None else trimmed(encode(revision))
        self._assigned = revision
        tombstone = Record(previous.key, revision, value, previous.labels)
        return await self._write(target, Event(revision, target.name, previous.key, None, previous, tombstone))

    def compact(self, revision: int) -> None:
        """Forget the history up to a visible revision now, before its time."""
        self._maintenance.compact(min(revision, self.revision))

    async def backup(self, destination: Path, *, overwrite: bool = False) -> None:
        """Write a consistent copy of everything that is durable now into one file, while reads and writes go on."""
        if self._journal is None:
            raise StorageFailure("this store is in memory only: there is nothing on disk to back up")
        await self._journal.backup(destination, overwrite)

    async def close(self) -> None:
        """Finish the writes that were accepted, end all watches, and let go of the data. May be called again."""
        if self._shutdown is None:
            self._shutdown = asyncio.get_running_loop().create_task(self._shut_down())
        await asyncio.shield(self._shutdown)

    async def _shut_down(self) -> None:
        self._maintenance.stop()
        try:
            if self._journal is not None:
                await self._journal.close()
        finally:
            self._closed = True
            self._contents.history.log.wake()
            for table in self._contents.tables.values():
                table.log.wake()

    async def _turn(self, table: str, key: str) -> Table:
        """Wait until no other write holds the key."""
        target = self._contents.table(table)
        while (ahead := target.pending.get(key)) is not None:
            await ahead.settled()
        if self._shutdown is not None:
            raise StoreClosed
        return target

    async def _write(self, table: Table, event: Event) -> Record:
        if self._journal is None:
            self._publish((event,))
            return event.result
        write = Write(table, event, asyncio.get_running_loop().create_future())
        table.pending[event.key] = write
        self._journal.submit(write)
        return await write.outcome

    def settle(self, writes: Sequence[Write], failure: StorageFailure | None) -> None:
        """Called by the journal, in the event loop, with writes that are durable or that failed together. Without any
        when the disk was tried on its own.
        """
        self.problem = "" if failure is None else failure.reason
        for write in writes:
            del write.table.pending[write.event.key]
        if failure is None:
            self._publish([write.event for write in writes])
            for write in writes:
                write.succeed()
            return
        for write in writes:
            own = StorageFailure(failure.reason)
            own.__cause__ = failure.__cause__
            write.fail(own)

    def _publish(self, events: Sequence[Event]) -> None:
        contents = self._contents
        for event in events:
            contents.apply(event)
        for name in dict.fromkeys(event.table for event in events):
            contents.tables[name].log.wake()
        history = contents.history
        history.log.wake()
        history.mark(contents.revision, self._clock.monotonic())
        for event in history.log.events[-_CACHED_EVENTS - len(events) : -_CACHED_EVENTS]:
            event.cache = None
        self._maintenance.schedule()

    def _forgotten(self, events: Sequence[Event]) -> None:
        if self._journal is not None:
            self._journal.compact(self.compacted_revision, superseded(events))


def _compared(table: Table, key: str, expected: int | Expected) -> Record | None:
    """What a key holds, if that is what was expected of it."""
    current = table.records.get(key)
    if expected is ANY:
        return current
    if expected is ABSENT:
        if current is not None:
            raise RevisionConflict(current)
    elif current is None or current.revision != expected:
        raise RevisionConflict(current)
    return current
