"""A file for each tenant, on the machine that Nagaya runs on, spoken to through kine.

Each tenant has a folder of its own that nobody else can enter. A file can be read here while kine writes it, because it
is in WAL mode; a copy is put into it in one transaction, and only while no kine runs.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from nagaya.api.controlplane.data_store_conditions import DataStoreReason
from nagaya.controlplane.hosted.data_store import kine_table, snapshots
from nagaya.controlplane.hosted.data_store.driver import Health, Usage
from nagaya.controlplane.hosted.data_store.errors import StoreError, StoreNotEmpty, StoreUnavailable
from nagaya.controlplane.hosted.data_store.snapshots import Entry
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store.tenant_store import KineTenantStore
from nagaya.world import World

_FILE: Final = "state.db"
_OPTIONS: Final = "_journal=WAL&cache=shared&_busy_timeout=30000&_txlock=immediate"
_PATIENCE: Final = 10_000  # milliseconds that a statement waits for kine's
_PAGE: Final = 500
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS kine (id INTEGER PRIMARY KEY AUTOINCREMENT, name INTEGER, created INTEGER, "
    "deleted INTEGER, create_revision INTEGER, prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB)"
)
"""As kine makes it; its indexes it adds at its start."""
_INSERT: Final = (
    f"INSERT INTO kine ({', '.join(kine_table.COLUMNS)}) "  # noqa: S608 - made of constants alone
    f"VALUES ({', '.join('?' * len(kine_table.COLUMNS))})"
)


class SqliteDriver:
    """A folder with a folder for each tenant."""

    def __init__(self, folder: Path, world: World) -> None:
        if "?" in os.fspath(folder):
            raise ValueError(f"{folder} has a question mark, behind which kine would look for options")
        self._folder = folder.absolute()
        self._world = world

    async def probe(self) -> Health:
        """Whether the folder can be written."""
        version = apsw.sqlite_lib_version()
        try:
            await asyncio.to_thread(self._try_writing)
        except OSError as error:
            return Health(DataStoreReason.NOT_HEALTHY, f"{self._folder}: {error.strerror or error}.", version)
        return Health(DataStoreReason.READY, f"Files can be written in {self._folder}.", version)

    async def provision(self, tenant: Tenant, kept: Mapping[str, bytes] | None = None) -> KineTenantStore:
        """A folder that only this user can enter; kine makes the file."""
        with _explained(self._folder):
            for folder in (self._folder, self._file(tenant).parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return KineTenantStore(f"sqlite://{self._file(tenant)}?{_OPTIONS}")

    async def deprovision(self, tenant: Tenant) -> None:
        """Remove the folder. The tenant's kine must have been stopped."""
        folder = self._file(tenant).parent
        with _explained(folder):
            if folder.is_dir():
                await asyncio.to_thread(shutil.rmtree, folder)

    async def usage(self, tenant: Tenant) -> Usage:
        """Keys, and the bytes of the files."""
        return await asyncio.to_thread(self._usage, tenant)

    async def snapshot(self, tenant: Tenant) -> AsyncIterator[bytes]:
        """A copy, read in one transaction."""
        with _explained(self._file(tenant)):
            database = await asyncio.to_thread(self._open, tenant)
            try:
                revision = await asyncio.to_thread(_begin_reading, database)
                head = snapshots.Head(revision, self._world.clock.now().isoformat(timespec="seconds"), tenant.uid)
                async for piece in snapshots.encode(head, _entries(database, revision)):
                    yield piece
            finally:
                await asyncio.to_thread(database.close, True)

    async def restore(self, tenant: Tenant, copy: AsyncIterable[bytes]) -> int:
        """Write a copy in one transaction, with revisions behind all that were."""
        reader = snapshots.Reader(copy)
        head = await reader.head()
        with _explained(self._file(tenant)):
            database = await asyncio.to_thread(self._open, tenant)
            try:
                first = await asyncio.to_thread(_prepare, database, head.revision, tenant)
                count = 0
                async for page in reader.pages():
                    rows = kine_table.rows_of(page, first + count)
                    await asyncio.to_thread(database.cursor().executemany, _INSERT, rows)
                    count += len(page)
                await asyncio.to_thread(database.execute, "COMMIT")
                return count
            finally:
                # What was not committed is gone with the connection.
                await asyncio.to_thread(database.close, True)

    def _file(self, tenant: Tenant) -> Path:
        return self._folder / tenant.uid / _FILE

    def _try_writing(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        trial = self._folder / ".trial"
        trial.write_bytes(b"")
        trial.unlink()

    def _open(self, tenant: Tenant) -> apsw.Connection:
        if not self._file(tenant).parent.is_dir():
            raise StoreError(f"tenant {tenant.uid} has no place in {self._folder}.")
        old = os.umask(0o077) if not self._file(tenant).exists() else None
        try:
            database = apsw.Connection(os.fspath(self._file(tenant)))
        finally:
            if old is not None:
                os.umask(old)
        database.set_busy_timeout(_PATIENCE)
        database.pragma("journal_mode", "wal")
        return database

    def _usage(self, tenant: Tenant) -> Usage:
        file = self._file(tenant)
        if not file.exists():
            return Usage(0, 0)
        with _explained(file):
            database = self._open(tenant)
            try:
                exists = database.table_exists("main", "kine")
                keys = _number(database, kine_table.COUNT) if exists else 0
            finally:
                database.close(True)
        files = (file, file.with_name(f"{_FILE}-wal"))
        return Usage(keys, sum(each.stat().st_size for each in files if each.exists()))


async def _entries(database: apsw.Connection, revision: int) -> AsyncIterator[list[Entry]]:
    if not revision:
        return
    cursor = database.cursor()
    rows = await asyncio.to_thread(cursor.execute, f"{kine_table.LIVE} ORDER BY kv.name")
    while page := await asyncio.to_thread(_next_page, rows):
        yield page


def _next_page(rows: Iterator[tuple[str, bytes | None, int | None]]) -> list[Entry]:
    return [kine_table.entry_of(*row) for row in itertools.islice(rows, _PAGE)]


def _begin_reading(database: apsw.Connection) -> int:
    """Begin a transaction that sees the state of now to its end; returns its revision, 0 before kine's first start."""
    database.execute("BEGIN")
    return _number(database, kine_table.REVISION) if database.table_exists("main", "kine") else 0


def _prepare(database: apsw.Connection, revision: int, tenant: Tenant) -> int:
    """Begin the transaction of a restore; returns the first revision."""
    database.execute("BEGIN EXCLUSIVE")
    database.execute(_TABLE)
    if _number(database, kine_table.COUNT):
        raise StoreNotEmpty(f"the place of tenant {tenant.uid} has keys. Remove them before a copy goes there.")
    last = max(_number(database, kine_table.REVISION), revision)
    database.execute(kine_table.CLEAR)
    return last + 1


def _number(database: apsw.Connection, statement: str) -> int:
    [[number]] = database.execute(statement)
    assert isinstance(number, int)
    return number


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except apsw.BusyError as error:
        raise StoreUnavailable(f"{path} is in use by a process that does not let go of it.") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}.") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}.") from error
