"""A file for each tenant, on the machine that Nagaya runs on, spoken to through kine.

Each tenant has a folder of its own that nobody else can enter. It belongs to the user that the tenant's programs run
as, if they have one: what is in it is not trusted, and no link in it is followed. A file can be read here while kine
writes it, because it is in WAL mode; a copy is put into it in one transaction, and only while no kine runs.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import stat
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
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
from nagaya.supervision.folders import hand_over, let_through, remove
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

    def __init__(self, folder: Path, world: World, user_of: Callable[[str], int | None] = lambda _: None) -> None:
        """`user_of` gives a tenant the user that its programs run as."""
        if "?" in os.fspath(folder):
            raise ValueError(f"{folder} has a question mark, behind which kine would look for options")
        self._folder = folder.absolute()
        self._world = world
        self._user_of = user_of

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
            await asyncio.to_thread(self._make_folder, tenant)
        return KineTenantStore(f"sqlite://{self._file(tenant)}?{_OPTIONS}")

    async def deprovision(self, tenant: Tenant) -> None:
        """Remove the folder. The tenant's kine must have been stopped."""
        folder = self._file(tenant).parent
        with _explained(folder):
            if folder.is_dir():
                await asyncio.to_thread(remove, folder)

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

    def _make_folder(self, tenant: Tenant) -> None:
        folder = self._file(tenant).parent
        for each in (self._folder, folder):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (user := self._user_of(tenant.uid)) is not None:
            let_through(self._folder.parent)
            let_through(self._folder)
            hand_over(folder, user)

    def _try_writing(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        trial = self._folder / ".trial"
        trial.write_bytes(b"")
        trial.unlink()

    def _open(self, tenant: Tenant) -> apsw.Connection:
        if not self._file(tenant).parent.is_dir():
            raise StoreError(f"tenant {tenant.uid} has no place in {self._folder}.")
        # The folder is root's to resolve; what is in it is the tenant's, and must not lead anywhere else.
        folder = self._file(tenant).parent.resolve()
        _expect_own_files(folder)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        database = apsw.Connection(os.fspath(folder / _FILE), flags=flags)
        database.set_busy_timeout(_PATIENCE)
        database.execute("PRAGMA trusted_schema=OFF")
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
        return Usage(keys, sum(each.lstat().st_size for each in files if each.exists()))


def _expect_own_files(folder: Path) -> None:
    """Have the file, closed to others, and nothing beside it that could be somebody else's. Raises StoreError."""
    owner = folder.stat()
    with suppress(FileExistsError):
        descriptor = os.open(folder / _FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
        os.close(descriptor)
    for name in (_FILE, f"{_FILE}-wal", f"{_FILE}-shm", f"{_FILE}-journal"):
        with suppress(FileNotFoundError):
            found = (folder / name).lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_uid not in (0, owner.st_uid):
                raise StoreError(f"{folder / name} is not the tenant's own file: it is not opened. Move it away.")


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
        raise StoreNotEmpty.of_tenant(tenant.uid)
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
