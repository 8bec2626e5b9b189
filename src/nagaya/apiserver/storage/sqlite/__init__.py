"""Keeping a store on disk, in SQLite: `open_store`, `backup_directory`, `restore`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from nagaya.apiserver.storage.history import Retention
from nagaya.apiserver.storage.sqlite.backup import backup_directory
from nagaya.apiserver.storage.sqlite.journal import SqliteJournal
from nagaya.apiserver.storage.sqlite.layout import REVISION_STEP
from nagaya.apiserver.storage.sqlite.opening import OpenData, open_data
from nagaya.apiserver.storage.sqlite.restore import Restored, Salvaged, restore, salvage
from nagaya.apiserver.storage.store import Store
from nagaya.world import Clock

__all__ = ["REVISION_STEP", "Restored", "Salvaged", "backup_directory", "open_store", "restore", "salvage"]


async def open_store(
    directory: Path,
    clock: Clock,
    retention: Retention | None = None,
    *,
    check: bool = False,
    vfs: str | None = None,
    key: Path | None = None,
) -> Store:
    """Open the data in a directory, or start with nothing if there is none. Raises `DataRefused` and changes nothing.

    `check` has the structure of the database checked even after a proper shutdown. `vfs` names the SQLite file system
    layer to go through: the system's, unless a test puts its own in between. `key` names a key file instead of
    `state.key`, which is made if need be.
    """
    retention = retention or Retention()
    loop = asyncio.get_running_loop()
    opening = loop.run_in_executor(None, lambda: open_data(directory, clock, retention, check=check, vfs=vfs, key=key))
    try:
        data = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_let_go)
        raise
    store = Store(clock, retention, data.loaded.contents)
    store.attach(SqliteJournal(data, clock, store.settle))
    return store


def _let_go(opening: asyncio.Future[OpenData]) -> None:
    """Nobody wants what was opened."""
    if not opening.cancelled() and opening.exception() is None:
        data = opening.result()
        data.database.abandon()
        data.lock.release()
