"""Data as a kill leaves it, and what a start makes of it after it was damaged."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from nagaya.apiserver.storage import ANY, DataRefused, Store, open_store
from nagaya.apiserver.storage.sqlite import database
from support.waiting import eventually
from unit.apiserver.storage.storage_world import ManualClock, as_after_a_kill, encoded

Kind = Literal["short", "restarted", "compacted", "stopped"]
Objects = Mapping[tuple[str, str], tuple[int, bytes]]


@dataclass(frozen=True)
class Killed:
    """The files, and what was acknowledged: the objects, and every version that any of them ever had."""

    files: Mapping[str, bytes]
    objects: Objects
    versions: frozenset[tuple[str, str, int, bytes]]
    revision: int

    def put_into(self, directory: Path, **changed: bytes | None) -> Path:
        """The files in a fresh folder, some of them changed or left out."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700)
        for name in ("state.db", "state.db-wal", "state.mark", "state.key"):
            given = changed.get(name.removeprefix("state.").replace("-", "_"), self.files.get(name))
            if given is not None:
                (directory / name).write_bytes(given)
        return directory


def objects_of(store: Store) -> Objects:
    """Everything that a store shows."""
    return {
        (table, record.key): (record.revision, record.value)
        for table in store.tables
        for record in store.list(table).records
    }


async def killed(directory: Path, copy: Path, clock: ManualClock, kind: Kind) -> Killed:
    """A store that is killed while its log is short, has started over in an older one, or holds removed rows; or that
    was stopped properly and has no log.
    """
    store = await open_store(directory, clock)
    versions: set[tuple[str, str, int, bytes]] = set()

    async def put(table: str, key: str, content: object) -> None:
        record = await store.put(table, key, encoded(key, content), expected=ANY)
        versions.add((table, key, record.revision, record.value))

    for number in range(12):
        await put("secrets", f"team/s{number}", "secret" * number)
        await put("configmaps", f"team/c{number}", "public" * 40)
    if kind == "restarted":
        with pytest.MonkeyPatch.context() as patch:
            done, do_chore = threading.Event(), database.Database.do_chore

            def do_and_tell(self: database.Database) -> None:
                do_chore(self)
                if self._connection.execute("SELECT 1 FROM log WHERE key = 'team/checkpoint'").get:
                    done.set()

            patch.setattr(database, "_CHECKPOINT_PAGES", 1)
            patch.setattr(database.Database, "do_chore", do_and_tell)
            await put("configmaps", "team/checkpoint", "now")
            await eventually(done.is_set)
    await put("pods", "team/large", "x" * 15_000)
    for number in range(6):
        await put("secrets", f"team/s{number}", f"newer {number}")
    await store.delete("configmaps", "team/c3")
    await asyncio.gather(*(put("configmaps", f"team/batch{number}", number) for number in range(5)))
    if kind == "compacted":
        store.compact(store.revision - 3)
        await put("configmaps", "team/after", "compaction")
        writer = store._journal._writer  # type: ignore[union-attr] # to see what nobody else has to
        await eventually(lambda: not writer._has_garbage())
    await put("pods", "team/last", "z" * 5000)
    if kind == "stopped":
        await store.close()
    copied = as_after_a_kill(directory, copy)
    result = Killed(
        {path.name: path.read_bytes() for path in copied.iterdir() if path.stat().st_size > 0},
        objects_of(store),
        frozenset(versions),
        store.revision,
    )
    await store.close()
    return result


async def start(directory: Path, clock: ManualClock) -> tuple[Objects, int] | DataRefused:
    """What a start shows, and its revision; or why it was refused."""
    try:
        store = await open_store(directory, clock)
    except DataRefused as refusal:
        return refusal
    shown = objects_of(store), store.revision
    await store.close()
    return shown
