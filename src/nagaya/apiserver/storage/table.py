"""The objects of one resource, by key and in key order, now and as they were.

Order is that of the UTF-8 bytes of the keys, as in etcd. Python compares strings by code point, and UTF-8 was made so
that both orders are the same; hence plain strings. Nothing here waits or fails: a table changes only by events that
are already durable.
"""

from __future__ import annotations

import heapq
import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.log import EventLog
from nagaya.apiserver.storage.record import Record

if TYPE_CHECKING:
    from nagaya.apiserver.storage.write import Write


_LAST_CHARACTER = chr(sys.maxunicode)  # has no successor, so it cannot end the first string beyond a prefix


class Snapshot(msgspec.Struct, frozen=True, eq=False):
    """A page of a table as it was at `revision`; `remaining` records follow it under the same prefix."""

    revision: int
    records: Sequence[Record]
    remaining: int = 0

    @property
    def more(self) -> bool:
        """Whether there is another page."""
        return self.remaining > 0


class Table:
    """Records by key, the keys in order, the log of their changes, and the writes that are on their way to the disk."""

    __slots__ = ("keys", "log", "name", "pending", "records")

    def __init__(self, name: str) -> None:
        self.name = name
        self.records: dict[str, Record] = {}
        self.keys: list[str] = []
        self.log = EventLog()
        self.pending: dict[str, Write] = {}

    def apply(self, event: Event) -> None:
        """Make an event visible to readers."""
        self.log.append(event)
        if event.record is None:
            del self.records[event.key]
            del self.keys[bisect_left(self.keys, event.key)]
        else:
            self.records[event.key] = event.record
            if event.previous is None:
                insort(self.keys, event.key)

    def count(self, prefix: str) -> int:
        """How many keys have a prefix."""
        low, high = self._range(prefix, None)
        return high - low

    def now(self, prefix: str, start_after: str | None, limit: int | None) -> tuple[Sequence[Record], int]:
        """The records of today, and how many follow the last of them."""
        low, high = self._range(prefix, start_after)
        stop = high if limit is None else min(high, low + limit)
        return [self.records[key] for key in self.keys[low:stop]], high - stop

    def at(
        self, revision: int, prefix: str, start_after: str | None, limit: int | None
    ) -> tuple[Sequence[Record], int]:
        """The records as they were at a revision whose later events are all in the log."""
        before = self._changed_since(revision, prefix, start_after)
        if not before:
            return self.now(prefix, start_after, limit)
        low, high = self._range(prefix, start_after)
        total = high - low
        for key, record in before.items():
            total += (record is not None) - (key in self.records)
        records = list(islice(self._as_before(before, low, high), limit))
        return records, total - len(records)

    def _as_before(self, before: dict[str, Record | None], low: int, high: int) -> Iterator[Record]:
        unchanged = (key for key in islice(self.keys, low, high) if key not in before)
        restored = sorted(key for key, record in before.items() if record is not None)
        for key in heapq.merge(unchanged, restored):
            record = before.get(key)
            yield self.records[key] if record is None else record

    def _changed_since(self, revision: int, prefix: str, start_after: str | None) -> dict[str, Record | None]:
        """What the keys in a range that were written after a revision held before: the first change of each tells."""
        before: dict[str, Record | None] = {}
        for event in self.log.after(revision):
            key = event.key
            if key not in before and key.startswith(prefix) and (start_after is None or key > start_after):
                before[key] = event.previous
        return before

    def _range(self, prefix: str, start_after: str | None) -> tuple[int, int]:
        low = bisect_left(self.keys, prefix) if prefix else 0
        high = len(self.keys)
        stem = prefix.rstrip(_LAST_CHARACTER)
        if stem:
            high = bisect_left(self.keys, stem[:-1] + chr(ord(stem[-1]) + 1), low)
        if start_after is not None:
            low = max(low, min(high, bisect_right(self.keys, start_after)))
        return low, high
