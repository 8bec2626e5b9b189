"""A file system without room: nothing is lost, everything says why, and it goes on when there is room again."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nagaya.apiserver.storage import ANY, DataRefused, StorageFailure, Store, open_store
from nagaya.world import SystemClock


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    mount_point = tmp_path / "disk"
    mount_point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", str(mount_point)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.strip()}")
    yield mount_point
    subprocess.run(["umount", str(mount_point)], check=True)


async def put(store: Store, key: str, size: int) -> int:
    value = b'{"content":"' + b"x" * size + b'"}'
    return (await store.put("configmaps", key, lambda _: value, expected=ANY)).revision


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return


async def test_a_disk_that_fills_up_and_gets_room_again_loses_no_acknowledged_write(small_disk: Path) -> None:
    directory = small_disk / "data"
    store = await open_store(directory, SystemClock())
    acknowledged: dict[str, int] = {}
    failures: list[str] = []
    filler = small_disk / "filler"
    for turn in range(3):
        await asyncio.to_thread(fill, filler)
        for number in range(40):
            key = f"{turn}-{number}"
            try:
                acknowledged[key] = await put(store, key, 20_000)
            except StorageFailure as failure:
                failures.append(failure.reason)
        os.unlink(filler)
        acknowledged[f"after-{turn}"] = await put(store, f"after-{turn}", 2000)
        assert {record.key: record.revision for record in store.list("configmaps").records} == acknowledged
    assert failures
    assert all("the disk is full. Free space" in reason for reason in failures)
    await store.close()
    store = await open_store(directory, SystemClock(), check=True)
    assert {record.key: record.revision for record in store.list("configmaps").records} == acknowledged
    await store.close()


async def test_closing_and_starting_on_a_full_disk_keeps_everything(small_disk: Path) -> None:
    directory, filler = small_disk / "data", small_disk / "filler"
    store = await open_store(directory, SystemClock())
    for number in range(50):
        await put(store, f"{number}", 10_000)
    await asyncio.to_thread(fill, filler)
    await store.close()
    try:
        store = await open_store(directory, SystemClock())
    except DataRefused as refusal:
        assert "Free space" in str(refusal) or "disk" in str(refusal)
    else:
        assert store.count("configmaps") == 50
        await store.close()
    os.unlink(filler)
    store = await open_store(directory, SystemClock(), check=True)
    assert store.count("configmaps") == 50
    await put(store, "more", 10)
    await store.close()


async def test_a_backup_without_room_leaves_the_data_and_no_half_file(small_disk: Path, tmp_path: Path) -> None:
    store = await open_store(tmp_path / "data", SystemClock())
    for number in range(100):
        await put(store, f"{number}", 80_000)
    with pytest.raises(StorageFailure, match="the backup failed"):
        await store.backup(small_disk / "backup.db")
    assert list(os.listdir(small_disk)) == []
    await put(store, "more", 10)
    await store.close()


async def test_a_database_that_may_not_grow_fails_the_write_and_goes_on_when_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same where no file system can be mounted: SQLite itself refuses to let the file grow."""
    store = await open_store(tmp_path / "data", SystemClock())
    await put(store, "before", 10)
    database = store._journal._data.database  # type: ignore[union-attr] # reaching for what only SQLite can set
    connection, commit = database._connection, database.commit
    room = 2

    def commit_within(*arguments: Any) -> None:
        # Here, because the connection belongs to the thread that commits, and no two may use it at a time.
        pages = connection.execute("PRAGMA page_count").get
        connection.execute(f"PRAGMA max_page_count = {pages + room}")
        commit(*arguments)

    monkeypatch.setattr(database, "commit", commit_within)
    with pytest.raises(StorageFailure, match="the disk is full"):
        await put(store, "too large", 50_000)
    assert store.get("configmaps", "too large") is None
    room = 1_000_000
    await put(store, "large", 50_000)
    await store.close()
    store = await open_store(tmp_path / "data", SystemClock(), check=True)
    assert [record.key for record in store.list("configmaps").records] == ["before", "large"]
    await store.close()
