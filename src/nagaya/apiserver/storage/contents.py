"""Everything readers can see: the tables, the past, and the revision both have reached.

What always holds: contents move from one revision to the next in a single step of the event loop, in revision order,
and only by events that are durable. So any two reads without an await between them agree, and a list and a watch that
starts at its revision fit together without gap or overlap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nagaya.apiserver.storage.errors import Compacted, FutureRevision
from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.history import History, Retention
from nagaya.apiserver.storage.record import Record, StringPool
from nagaya.apiserver.storage.table import Snapshot, Table

FIRST_REVISION = 1  # of an empty store, as in etcd: "0" means something else to clients


class Contents:
    """The visible state of one store."""

    __slots__ = ("history", "revision", "strings", "tables")

    def __init__(self, retention: Retention, revision: int = FIRST_REVISION, compacted: int = 0) -> None:
        self.tables: dict[str, Table] = {}
        self.history = History(retention, compacted)
        self.revision = revision
        self.strings = StringPool()

    def table(self, name: str) -> Table:
        """The table of that name, made when it is first needed."""
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = Table(name)
        return table

    def get(self, table: str, key: str) -> Record | None:
        """What a key holds."""
        found = self.tables.get(table)
        return None if found is None else found.records.get(key)

    def list(
        self, table: str, prefix: str, start_after: str | None, limit: int | None, revision: int | None
    ) -> Snapshot:
        """A page of records in key order, of now or of an earlier revision."""
        if revision is not None:
            self.require(revision)
        shown = self.revision if revision is None else revision
        found = self.tables.get(table)
        if found is None:
            return Snapshot(shown, ())
        if shown == self.revision:
            records, remaining = found.now(prefix, start_after, limit)
        else:
            records, remaining = found.at(shown, prefix, start_after, limit)
        return Snapshot(shown, records, remaining)

    def require(self, revision: int) -> None:
        """Refuse a revision whose past or future is not here."""
        if revision < self.history.compacted:
            raise Compacted(self.history.compacted)
        if revision > self.revision:
            raise FutureRevision(self.revision)

    def apply(self, event: Event) -> None:
        """Move to the revision of an event."""
        self.tables[event.table].apply(event)
        self.history.append(event)
        self.revision = event.revision

    def compact(self, target: int, limit: int) -> Sequence[Event]:
        """Take one step towards forgetting the history up to a revision. Returns the events that were forgotten."""
        forgotten = self.history.compact(target, limit)
        for name, count in Counter(event.table for event in forgotten).items():
            self.tables[name].log.forget(count)
        return forgotten


def superseded(events: Sequence[Event]) -> Sequence[int]:
    """The revisions that are garbage once these events are history that nobody can ask for.

    In this order any number of them may be removed from the front of a log without changing what the rest of it adds
    up to.
    """
    revisions: list[int] = []
    for event in events:
        if event.previous is not None:
            revisions.append(event.previous.revision)
        if event.record is None:
            revisions.append(event.revision)
    return revisions
