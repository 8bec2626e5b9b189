"""The writer thread and the event loop next to each other."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import uvloop

from nagaya.apiserver.storage import ABSENT, ANY, open_store
from nagaya.apiserver.storage.sqlite import database
from support.waiting import eventually
from unit.apiserver.storage.storage_world import Disk, ManualClock, encoded


async def test_writes_of_one_turn_of_the_loop_share_one_wait_for_the_disk(
    directory: Path, clock: ManualClock, disk: Disk
) -> None:
    store = await open_store(directory, clock, vfs=disk.name)
    await store.put("configmaps", "first", encoded("a"), expected=ABSENT)
    before = disk.syncs
    await asyncio.gather(*(store.put("configmaps", f"{n}", encoded("a"), expected=ABSENT) for n in range(100)))
    assert disk.syncs == before + 1
    await store.close()


async def test_writes_get_through_while_the_loop_never_rests(directory: Path, clock: ManualClock) -> None:
    """A busy loop releases the interpreter's lock at every turn, but too briefly for a waiting thread to get it."""
    store = await open_store(directory, clock)
    turns, done = 0, False

    async def work() -> None:
        nonlocal turns
        while not done:
            until = time.perf_counter() + 0.0005
            while time.perf_counter() < until:
                pass
            turns += 1
            await asyncio.sleep(0)

    busy = asyncio.create_task(work())
    for number in range(20):
        await store.put("configmaps", f"{number}", encoded("a"), expected=ABSENT)
    done = True
    await busy
    assert turns < 20 * 200  # a tenth of a second for each write; without help each takes thousands of turns
    await store.close()


def test_it_works_with_either_event_loop(directory: Path, clock: ManualClock) -> None:
    async def write_and_read(key: str) -> int:
        store = await open_store(directory, clock)
        watch = store.watch("configmaps", store.revision)
        await asyncio.gather(*(store.put("configmaps", f"{key}-{n}", encoded("a"), expected=ABSENT) for n in range(50)))
        assert len(await anext(watch)) == 50
        count = store.count("configmaps")
        await store.close()
        return count

    with ThreadPoolExecutor(1) as thread:  # where no other loop lives
        assert thread.submit(lambda: uvloop.run(write_and_read("uvloop"))).result() == 50
        assert thread.submit(lambda: asyncio.run(write_and_read("asyncio"))).result() == 100


async def test_closing_ends_the_thread(directory: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    assert "nagaya-store-writer" in {thread.name for thread in threading.enumerate()}
    await store.close()
    assert "nagaya-store-writer" not in {thread.name for thread in threading.enumerate()}


async def test_the_log_is_moved_into_the_database_when_it_has_grown(
    directory: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_CHECKPOINT_PAGES", 100)
    monkeypatch.setattr(database, "_CHECKPOINT_OVERDUE", 200)
    store = await open_store(directory, clock)
    for _ in range(30):
        await asyncio.gather(
            *(store.put("configmaps", f"{n}", encoded("a", "x" * 3000), expected=ANY) for n in range(50))
        )
    log, data = (directory / name for name in ("state.db-wal", "state.db"))
    assert log.stat().st_size < 1_500_000 < data.stat().st_size
    await store.close()


async def test_space_that_compaction_frees_goes_back_to_the_file_system(
    directory: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_VACUUM_ABOVE", 10)
    monkeypatch.setattr(database, "_VACUUM_PAGES", 10_000)
    store = await open_store(directory, clock)
    await asyncio.gather(*(store.put("configmaps", f"{n}", encoded("a", "x" * 5000), expected=ANY) for n in range(500)))
    await store.close()
    large = (directory / "state.db").stat().st_size
    store = await open_store(directory, clock)
    for n in range(490):
        await store.delete("configmaps", f"{n}")
    store.compact(store.revision)
    await store.close()
    store = await open_store(directory, clock)
    assert store.count("configmaps") == 10
    await store.put("configmaps", "last", encoded("a"), expected=ABSENT)
    await store.close()
    assert (directory / "state.db").stat().st_size < large / 2


def test_a_process_that_ends_without_closing_does_not_hang(tmp_path: Path) -> None:
    program = """
        import asyncio, sys
        from pathlib import Path
        from nagaya.apiserver.storage import ABSENT, open_store
        from nagaya.world import SystemClock

        async def main():
            store = await open_store(Path(sys.argv[1]), SystemClock())
            await store.put("configmaps", "a", lambda revision: b"{}", expected=ABSENT)

        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "data")]
    result = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


async def test_a_closed_store_is_not_kept_alive(directory: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await store.put("configmaps", "a", encoded("a"), expected=ABSENT)
    await store.close()
    kept = weakref.ref(store)
    del store

    def is_gone() -> bool:
        gc.collect()
        return kept() is None

    await eventually(is_gone)
