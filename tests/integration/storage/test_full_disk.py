"""A file system without room: nothing is lost, everything says why, and it goes on when there is room again."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.storage import (
    ANY,
    DataRefused,
    StorageFailure,
    Store,
    backup_directory,
    open_store,
    restore,
    salvage,
)
from nagaya.cli import server_start
from nagaya.cli.in_process import InProcessTransport
from nagaya.insight.checkup import management
from nagaya.kube.client import Client
from nagaya.kube.errors import ServerError, ServiceUnavailable
from nagaya.world import SystemClock
from support.thoroughness import choose
from support.waiting import eventually
from unit.apiserver.storage.sqlite.test_rows import old_database


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


def leave(disk: Path, kibibytes: int) -> Path:
    """Fill a disk up to some space. Returns what to remove."""
    filler = disk / "filler"
    fill(filler)
    os.truncate(filler, max(0, filler.stat().st_size - kibibytes * 1024))
    return filler


async def test_a_first_start_without_enough_space_says_so_and_can_be_repeated(small_disk: Path) -> None:
    kibibytes = outcome = 0
    while outcome == 0:
        directory, filler = small_disk / f"{kibibytes}", leave(small_disk, kibibytes)
        try:
            store = await open_store(directory, SystemClock())
        except (DataRefused, OSError) as error:
            assert "the disk is full" in str(error) or "No space left" in str(error), kibibytes
        else:
            outcome = kibibytes
            await store.close()
        os.unlink(filler)
        store = await open_store(directory, SystemClock())
        await put(store, "a", 10)
        await store.close()
        shutil.rmtree(directory)
        kibibytes += choose(8, 4)
    assert outcome > 50


@pytest.mark.parametrize("way", ["restore", "salvage"])
async def test_a_restore_without_enough_space_changes_nothing(small_disk: Path, tmp_path: Path, way: str) -> None:
    directory = small_disk / "data"
    store = await open_store(directory, SystemClock())
    for number in range(10):
        await put(store, f"{number}", 20_000)
    await store.backup(tmp_path / "backup.db")
    await store.close()
    data = [directory / name for name in ("state.db", "state.mark", "state.key")]
    before = [path.read_bytes() for path in data]
    kibibytes, outcome = 0, None
    while outcome is None:
        filler = leave(small_disk, kibibytes)
        try:
            if way == "restore":
                outcome = restore(tmp_path / "backup.db", directory, SystemClock(), force=True)
            else:
                outcome = salvage(directory, SystemClock())
        except DataRefused as error:
            assert "the disk is full" in str(error) or "Check the space" in str(error), kibibytes
            assert [path.read_bytes() for path in data] == before
            kibibytes += choose(32, 8)
        os.unlink(filler)
    assert kibibytes > 100
    assert outcome.objects == 10
    store = await open_store(directory, SystemClock(), check=True)
    assert store.count("configmaps") == 10
    await store.close()


async def test_an_encryption_without_enough_space_can_be_repeated(small_disk: Path) -> None:
    directory, kibibytes, outcome = small_disk / "data", 0, None
    old_database(directory / "state.db")
    while outcome is None:
        filler = leave(small_disk, kibibytes)
        try:
            store = outcome = await open_store(directory, SystemClock())
        except (DataRefused, OSError) as error:
            assert "the disk is full" in str(error) or "No space left" in str(error), kibibytes
            kibibytes += choose(16, 4)
            os.unlink(filler)
    assert kibibytes > 50
    assert (store.count("secrets"), store.count("configmaps")) == (1, 1)
    await store.close()


async def test_a_server_that_cannot_make_what_each_has_says_so(small_disk: Path) -> None:
    leave(small_disk, 150)
    with pytest.raises(click.ClickException, match=r"state\.db: the disk is full\. Free space") as refused:
        await server_start.start(small_disk / "data", ("127.0.0.1", 0), None)
    assert "nothing was changed" not in refused.value.message
    os.unlink(small_disk / "filler")
    server, sock = await server_start.start(small_disk / "data", ("127.0.0.1", 0), None)
    sock.close()
    await server.stop()


async def test_data_on_a_disk_that_is_read_only_can_be_backed_up(small_disk: Path, tmp_path: Path) -> None:
    store = await open_store(small_disk / "data", SystemClock())
    await put(store, "a", 10)
    await store.close()
    await asyncio.to_thread(subprocess.run, ["mount", "-o", "remount,ro", str(small_disk)], check=True)
    backup_directory(small_disk / "data", tmp_path / "backup.db")
    with pytest.raises(DataRefused, match="its file system is read-only"):
        await open_store(small_disk / "data", SystemClock())
    (tmp_path / "new").mkdir(mode=0o700)
    shutil.copy(small_disk / "data" / "state.key", tmp_path / "new")
    assert restore(tmp_path / "backup.db", tmp_path / "new", SystemClock()).objects == 1


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
    commit = database.commit
    room = 2

    def commit_within(*arguments: Any) -> None:
        # Here, because the connection belongs to the thread that commits, and no two may use it at a time.
        pages = database._connection.execute("PRAGMA page_count").get
        database._connection.execute(f"PRAGMA max_page_count = {pages + room}")
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


async def test_a_server_on_a_full_disk_says_so_and_recovers_by_itself(small_disk: Path) -> None:
    server = await ApiServer.start(Config(data_dir=small_disk / "data"))
    client = Client(InProcessTransport(server), world=server.world)
    maps = "/api/v1/namespaces/default/configmaps"

    async def create(name: str, size: int) -> None:
        content = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": "x" * size}}
        await client.raw("POST", maps, content=content)

    await create("before", 10)
    filler = small_disk / "filler"
    await asyncio.to_thread(fill, filler)
    with pytest.raises(ServiceUnavailable, match=r"nothing was changed: .*state.db: the disk is full\. Free space"):
        await create("large", 900_000)
    for path in ("/readyz", "/readyz/storage", "/healthz"):
        with pytest.raises(ServerError, match="the disk is full"):
            await client.raw("GET", path)
    await client.raw("GET", "/livez")  # it need not be started anew
    await client.raw("GET", f"{maps}/before")
    seen = await management.look(client, "here", server.world.clock)
    assert [each.evidence for each in management.findings(seen) if each.check == "readiness"] == [
        f"Its own checks fail: storage failed: {server.store.problem}"
    ]
    os.unlink(filler)
    await eventually(lambda: not server.store.problem)  # without a write of anybody
    await client.raw("GET", "/readyz")
    await create("after", 100_000)
    await client.close()
    await server.stop()


def test_a_limit_of_the_size_of_files_is_a_full_disk_too(tmp_path: Path) -> None:
    """So is a quota: SQLite tells both only as a write that failed."""
    program = """
        import asyncio, resource, sys
        from pathlib import Path
        from nagaya.apiserver.storage import ANY, StorageFailure, open_store
        from nagaya.world import SystemClock

        async def main():
            store = await open_store(Path(sys.argv[1]), SystemClock())
            await store.put("secrets", "before", lambda _: b"{}", expected=ANY)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
            for number in range(2):
                try:
                    await store.put("secrets", "large", lambda _: b'"' + b"x" * 200_000 + b'"', expected=ANY)
                except StorageFailure as failure:
                    print(failure)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            await store.put("secrets", "after", lambda _: b"{}", expected=ANY)
            await store.close()
            store = await open_store(Path(sys.argv[1]), SystemClock(), check=True)
            print([record.key for record in store.list("secrets").records])
            await store.close()

        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "data")]
    first, second, keys = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert first == second
    assert "state.db: the disk is full. Free space" in first
    assert keys == "['after', 'before']"
