"""The store against a model that is too simple to be wrong: a list of everything that was ever written.

Hypothesis makes up sequences of writes, conflicts, failures of the disk, compactions, stops, kills, and watches that
start anywhere and are read at any time. The watches are checked for what etcd promises of them, each by its name.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import apsw
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from nagaya.apiserver.storage import (
    ABSENT,
    ANY,
    Compacted,
    Event,
    FutureRevision,
    Record,
    Retention,
    RevisionConflict,
    StorageFailure,
    Store,
    Watch,
    open_store,
)
from unit.apiserver.storage.storage_world import Disk, ManualClock, as_after_a_kill, encoded

T = TypeVar("T")

TABLES = st.sampled_from(["configmaps", "apps/deployments"])
KEYS = st.sampled_from(["a/1", "a/2", "a-b/1", "b/1", "b/é", "cluster"])
PREFIXES = st.sampled_from(["", "a/", "b/", "a", "nothing/"])
LABELS = st.sampled_from([{}, {"app": "web"}, {"app": "db", "tier": "x"}])
NO_COMPACTION = Retention(interval_seconds=1e9)


@dataclass(frozen=True)
class Change:
    """One line of the model: `content` is None for a deletion."""

    revision: int
    table: str
    key: str
    content: int | None
    labels: dict[str, str]


@dataclass
class Follower:
    """A client of a watch, which remembers what it got."""

    table: str | None
    prefix: str
    since: int
    watch: Watch | None = None
    received: list[Event] = field(default_factory=list)

    def wants(self, change: Change) -> bool:
        return self.table in (None, change.table) and change.key.startswith(self.prefix)


class StoreMachine(RuleBasedStateMachine):
    """Rules for a store in memory; `DurableStoreMachine` adds those that need a disk."""

    followers = Bundle("followers")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.changes: list[Change] = []
        self.first = 1
        self.compacted = 0
        self.content = 0
        self.store: Store

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @initialize()
    def start(self) -> None:
        self.store = Store(self.clock, NO_COMPACTION)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.run(self.store.close())
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()

    @property
    def newest(self) -> int:
        return self.changes[-1].revision if self.changes else self.first

    def at(self, revision: int, table: str, prefix: str = "") -> dict[str, Change]:
        state: dict[str, Change] = {}
        for change in self.changes:
            if change.revision <= revision and change.table == table and change.key.startswith(prefix):
                state[change.key] = change
        return {key: change for key, change in state.items() if change.content is not None}

    def note(self, record: Record, table: str, content: int | None, labels: dict[str, str]) -> None:
        assert record.revision > self.newest
        self.changes.append(Change(record.revision, table, record.key, content, labels))

    async def put(self, table: str, key: str, expected: Any, content: int, labels: dict[str, str]) -> Record:
        return await self.store.put(table, key, encoded(key, content, labels), expected=expected, labels=labels)

    # Writes

    @rule(table=TABLES, key=KEYS, how=st.sampled_from(["any", "right", "wrong", "absent"]), labels=LABELS)
    def write(self, table: str, key: str, how: str, labels: dict[str, str]) -> None:
        current = self.at(self.newest, table).get(key)
        right = current.revision if current else ABSENT
        expected: Any = {"any": ANY, "right": right, "wrong": self.newest + 1, "absent": ABSENT}[how]
        self.content += 1
        try:
            record = self.run(self.put(table, key, expected, self.content, labels))
        except RevisionConflict as conflict:
            assert how == "wrong" or (how == "absent" and current is not None)
            assert (conflict.current.revision if conflict.current else None) == (current.revision if current else None)
        else:
            assert how in ("any", "right") or (how == "absent" and current is None)
            assert record.object()["metadata"]["resourceVersion"] == str(record.revision)
            self.note(record, table, self.content, labels)

    @rule(table=TABLES, key=KEYS, how=st.sampled_from(["any", "right", "wrong"]), value=st.booleans())
    def delete(self, table: str, key: str, how: str, value: bool) -> None:
        current = self.at(self.newest, table).get(key)
        right = current.revision if current else 1
        expected: Any = {"any": ANY, "right": right, "wrong": self.newest + 1}[how]
        encode = encoded(key, "gone") if value else None
        try:
            tombstone = self.run(self.store.delete(table, key, expected=expected, encode=encode))
        except RevisionConflict:
            assert current is None or how == "wrong"
        else:
            assert current is not None
            assert tombstone.object()["content"] == ("gone" if value else current.content)
            self.note(tombstone, table, None, {})

    @rule(table=TABLES, keys=st.lists(KEYS, min_size=2, max_size=12))
    def write_at_once(self, table: str, keys: Sequence[str]) -> None:
        async def all_of_them() -> list[tuple[Record, int]]:
            contents = range(self.content + 1, self.content + 1 + len(keys))
            writes = (self.put(table, key, ANY, content, {}) for key, content in zip(keys, contents, strict=True))
            return list(zip(await asyncio.gather(*writes), contents, strict=True))

        written = self.run(all_of_them())
        self.content += len(keys)
        for record, content in sorted(written, key=lambda item: item[0].revision):
            self.note(record, table, content, {})

    @rule(table=TABLES, key=KEYS)
    def write_and_give_up(self, table: str, key: str) -> None:
        async def cancelled() -> None:
            writing = asyncio.create_task(self.put(table, key, ANY, self.content + 1, {}))
            await asyncio.sleep(0)
            writing.cancel()
            await asyncio.wait([writing])
            # The next write to the same key waits for the one that was given up, so afterwards that one is settled.
            self.note_both(table, key, await self.put(table, key, ANY, self.content + 2, {}))

        self.run(cancelled())
        self.content += 2

    def note_both(self, table: str, key: str, second: Record) -> None:
        first = self.store.list(table, key, revision=second.revision - 1).records[0]
        assert first.object()["content"] == self.content + 1
        self.note(first, table, self.content + 1, {})
        self.note(second, table, self.content + 2, {})

    # Time

    @rule(back=st.integers(0, 10))
    def compact(self, back: int) -> None:
        target = max(self.compacted, self.newest - back)
        self.store.compact(target)
        self.compacted = target
        assert self.store.compacted_revision == target

    # Reads

    @rule(table=TABLES, prefix=PREFIXES, back=st.integers(-2, 15), limit=st.sampled_from([None, 1, 2, 5]))
    def list(self, table: str, prefix: str, back: int, limit: int | None) -> None:
        revision = max(0, self.newest - back)
        try:
            records = list(self.pages(table, prefix, revision, limit))
        except Compacted as compacted:
            assert revision < self.compacted == compacted.compacted_revision
            return
        except FutureRevision as future:
            assert revision > self.newest == future.current
            return
        assert self.compacted <= revision <= self.newest
        expected = self.at(revision, table, prefix)
        assert [record.key for record in records] == sorted(expected, key=lambda key: key.encode())
        for record in records:
            change = expected[record.key]
            assert (record.revision, record.labels) == (change.revision, change.labels)
            assert record.object()["content"] == change.content

    def pages(self, table: str, prefix: str, revision: int, limit: int | None) -> Iterator[Record]:
        start_after = None
        while True:
            page = self.store.list(table, prefix, start_after=start_after, limit=limit, revision=revision)
            assert page.revision == revision
            yield from page.records
            if not page.more:
                return
            start_after = page.records[-1].key

    # Watches

    @rule(
        target=followers,
        table=st.one_of(st.none(), TABLES),
        prefix=PREFIXES,
        back=st.integers(-1, 15),
    )
    def follow(self, table: str | None, prefix: str, back: int) -> Any:
        since = max(0, self.newest - back)
        follower = Follower(table, prefix, since)
        try:
            follower.watch = self.store.watch(table, since, prefix)
        except Compacted:
            assert since < self.compacted
            return multiple()
        except FutureRevision:
            assert since > self.newest
            return multiple()
        assert self.compacted <= since <= self.newest
        return follower

    @rule(follower=followers)
    def read_one_batch(self, follower: Follower) -> None:
        self.poll(follower)

    @rule(follower=followers)
    def read_everything(self, follower: Follower) -> None:
        while self.poll(follower):
            pass
        if follower.watch is not None:
            self.check_bookmarkable(follower)

    @rule(follower=followers)
    def reconnect(self, follower: Follower) -> None:
        """Resumable: a client that comes back where it left misses nothing, or is told that it does."""
        if follower.watch is None:
            return
        position = follower.watch.revision
        follower.watch.close()
        try:
            follower.watch = self.store.watch(follower.table, position, follower.prefix)
        except Compacted:
            assert position < self.compacted
            follower.watch = None

    def poll(self, follower: Follower) -> Sequence[Event]:
        if follower.watch is None:
            return ()
        position = follower.watch.revision
        try:
            events = follower.watch.poll()
        except Compacted:
            missed = [c for c in self.changes if position < c.revision <= self.compacted]
            assert any(follower.table in (None, change.table) for change in missed)
            follower.watch = None
            return ()
        self.check_ordered(follower, events)
        self.check_filtered(follower, events)
        follower.received.extend(events)
        self.check_reliable_unique_and_atomic(follower)
        return events

    def check_ordered(self, follower: Follower, events: Sequence[Event]) -> None:
        revisions = [event.revision for event in (*follower.received[-1:], *events)]
        assert revisions == sorted(revisions)

    def check_filtered(self, follower: Follower, events: Sequence[Event]) -> None:
        assert all(follower.table in (None, event.table) and event.key.startswith(follower.prefix) for event in events)

    def check_reliable_unique_and_atomic(self, follower: Follower) -> None:
        """Each change up to the watch's revision exactly once, none beyond it, and each one whole."""
        assert follower.watch is not None
        upto = follower.watch.revision
        expected = [c for c in self.changes if follower.since < c.revision <= upto and follower.wants(c)]
        assert [event.revision for event in follower.received] == [change.revision for change in expected]
        for event, change in zip(follower.received, expected, strict=True):
            assert (event.table, event.key) == (change.table, change.key)
            assert (None if event.record is None else event.record.object()["content"]) == change.content
            before = self.at(change.revision - 1, change.table).get(change.key)
            assert (event.previous.revision if event.previous else None) == (before.revision if before else None)

    def check_bookmarkable(self, follower: Follower) -> None:
        """When everything is delivered, the watch says so by the newest revision of the store."""
        assert follower.watch is not None
        assert follower.watch.revision == self.store.revision

    @invariant()
    def the_present_is_that_of_the_model(self) -> None:
        if not hasattr(self, "store"):
            return
        assert self.store.revision == self.newest
        for table in ("configmaps", "apps/deployments"):
            expected = self.at(self.newest, table)
            assert self.store.count(table) == len(expected)
            for key, change in expected.items():
                record = self.store.get(table, key)
                assert record is not None
                assert (record.revision, record.object()["content"]) == (change.revision, change.content)


class DurableStoreMachine(StoreMachine):
    """The same on a disk, which may fail, under a process that may be stopped or killed."""

    followers = StoreMachine.followers

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="nagaya-store-"))
        self.disk = Disk(f"disk-{uuid4()}")
        self.directory = self.root / "0"
        self.clients: list[Follower] = []
        self.uncertain: tuple[int, Change] | None = None
        self.kills = 0

    @initialize()
    def start(self) -> None:
        self.open()

    def teardown(self) -> None:
        super().teardown()
        self.disk.unregister()
        shutil.rmtree(self.root)

    def open(self) -> None:
        self.store = self.run(open_store(self.directory, self.clock, NO_COMPACTION, vfs=self.disk.name))
        self.compacted = self.store.compacted_revision

    @rule(
        table=TABLES,
        key=KEYS,
        error=st.sampled_from([apsw.FullError, apsw.IOError]),
        kind=st.sampled_from(["write", "sync"]),
        after=st.integers(0, 3),
    )
    def write_while_the_disk_fails(self, table: str, key: str, error: Any, kind: str, after: int) -> None:
        if kind == "write":
            self.disk.write_error, self.disk.writes_before_error = error("injected"), after
        else:
            self.disk.sync_error = error("injected")
        self.content += 1
        try:
            record = self.run(self.put(table, key, ANY, self.content, {}))
        except StorageFailure:
            if kind == "sync":
                self.uncertain = (self.newest, Change(0, table, key, self.content, {}))
        else:
            assert after > 0
            self.note(record, table, self.content, {})
        finally:
            self.disk.heal()

    @rule()
    def stop_and_start(self) -> None:
        self.run(self.store.close())
        self.restarted()

    @rule()
    def kill_and_start(self) -> None:
        self.kills += 1
        copy = as_after_a_kill(self.directory, self.root / str(self.kills))
        self.run(self.store.close())
        self.directory = copy
        self.restarted()

    def restarted(self) -> None:
        compacted = self.compacted
        self.open()
        assert self.compacted <= compacted
        self.accept_the_uncertain()
        # Every revision that could be read before can still be, and the clients come back.
        for follower in self.clients:
            if follower.watch is not None:
                position = min(follower.watch.revision, self.newest)
                follower.watch = None
                if position >= self.compacted:
                    follower.watch = self.store.watch(follower.table, position, follower.prefix)

    def accept_the_uncertain(self) -> None:
        """A write that failed at the wait for the disk, with a kill before anything else was written, may be there."""
        if self.uncertain is not None and self.uncertain[0] == self.newest < self.store.revision:
            change = self.uncertain[1]
            record = self.store.get(change.table, change.key)
            assert record is not None
            assert record.object()["content"] == change.content
            self.note(record, change.table, change.content, change.labels)
        self.uncertain = None

    @rule(target=followers, table=st.one_of(st.none(), TABLES), prefix=PREFIXES, back=st.integers(-1, 15))
    def follow(self, table: str | None, prefix: str, back: int) -> Any:
        follower = super().follow(table, prefix, back)
        if isinstance(follower, Follower):
            self.clients.append(follower)
        return follower


TestStoreInMemory = StoreMachine.TestCase
TestStoreInMemory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestDurableStore = DurableStoreMachine.TestCase
TestDurableStore.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
