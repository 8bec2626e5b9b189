"""Putting a backup in the place of the data.

The backup is copied, checked to the last row and made ready under another name first; only then does the present data
move aside, all of its files together, into a directory named after the moment. Nothing is ever deleted.

Revisions must not go back. A client that saw revision 5000 and resumes a watch there, on data restored from revision
4000, would take the first thousand new writes for ones it knows. So the restored store continues far beyond every
revision that may have been given out since the backup, and counts everything before as compacted: clients that resume
are told so, and list again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import apsw

from nagaya.apiserver.storage.errors import CorruptData, DataExists, DataNotPermitted, DataRefused, ForeignData
from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.history import Retention
from nagaya.apiserver.storage.record import Record
from nagaya.apiserver.storage.sqlite.database import Database, close_as_one_file, connect
from nagaya.apiserver.storage.sqlite.encryption import has_sealed, is_sealed, keys_of
from nagaya.apiserver.storage.sqlite.failures import open_failure, reading
from nagaya.apiserver.storage.sqlite.files import prepare_directory
from nagaya.apiserver.storage.sqlite.layout import COMPACTED, Files, unseen
from nagaya.apiserver.storage.sqlite.loading import Loaded, load
from nagaya.apiserver.storage.sqlite.lock import DataLock
from nagaya.apiserver.storage.sqlite.mark import Mark, read_mark
from nagaya.apiserver.storage.sqlite.migration import load_current
from nagaya.apiserver.storage.sqlite.opening import check_database, check_header, create_database, has_leftover_log
from nagaya.apiserver.storage.sqlite.salvage import Intact, read_intact
from nagaya.pki.files import PRIVATE, synchronise
from nagaya.world import Clock


@dataclass(frozen=True, slots=True)
class Restored:
    """What came back: how many objects, the revision from which counting continues, and where the earlier data went."""

    objects: int
    revision: int
    moved_aside: Path | None


@dataclass(frozen=True, slots=True)
class Salvaged(Restored):
    """What was intact, and which revisions were acknowledged and are not: each from and to."""

    lost: Sequence[tuple[int, int]]
    complete: bool


def restore(backup: Path, directory: Path, clock: Clock, *, force: bool = False, key: Path | None = None) -> Restored:
    """Make a directory hold what a backup holds. No server may be running on it.

    If there is data already, `force` is needed, and that data is kept beside. Raises `DataRefused`; then the data is
    as it was.
    """
    files = Files(directory, key)
    if not backup.is_file():
        raise DataRefused(backup, "there is no such file", "Name a file made by `nagaya backup`")
    log = backup.with_name(f"{backup.name}-wal")
    if log.exists() and log.stat().st_size > 0:
        finding = "it has a write-ahead log beside it, so it is a database in use and not a backup"
        raise ForeignData(backup, finding, "Make a backup of it with `nagaya backup` and restore that")
    try:
        check_header(backup, writable=False)
        with _at_work(files, "the restore failed"):
            if _present(files) and not force:
                remedy = "Move it aside with --force, or choose another data directory"
                raise DataExists(directory, "there is data in it already", remedy)
            _discard(files)
            return _replace(files, clock, lambda: _copy(files, backup, clock))
    except CorruptData as error:
        remedy = "Nothing was changed. This backup cannot be used: restore another one"
        raise CorruptData(backup, error.finding, remedy) from error
    except ForeignData as error:
        remedy = "Nothing was changed. Name a file made by `nagaya backup`"
        raise ForeignData(backup, error.finding, remedy) from error


def salvage(directory: Path, clock: Clock, *, key: Path | None = None) -> Salvaged:
    """Make a directory hold what is intact in its own damaged files, which are kept beside. No server may be running
    on it. Raises `DataRefused`; then everything is as it was.
    """
    files = Files(directory, key)
    with _at_work(files, "the salvage failed"):
        if not _present(files):
            if not files.restoring.exists():
                raise DataRefused(directory, "there is no database in it", "Name the data directory of a server")
            # An earlier one was interrupted when everything was ready.
            restored = _replace(files, clock, lambda: _make_ready(files, files.restoring, clock), is_only_copy=True)
            return Salvaged(restored.objects, restored.revision, None, (), complete=False)
        if files.restoring.exists() and not has_leftover_log(files):
            _move_back_log(files)
        _discard(files)
        intact = read_intact(files, read_mark(files.mark))
        if not intact.rows and not intact.complete:
            remedy = "Nothing was changed. Restore a backup with `nagaya restore`"
            raise CorruptData(directory, "nothing in it is intact", remedy)
        restored = _replace(files, clock, lambda: _rebuild(files, intact, clock))
        return Salvaged(restored.objects, restored.revision, restored.moved_aside, intact.lost, intact.complete)


@contextmanager
def _at_work(files: Files, finding: str) -> Iterator[None]:
    """Nobody else works on the data meanwhile. Raises DataRefused for what the file system does not allow."""
    prepare_directory(files.directory)
    lock = DataLock(files.lock)
    try:
        yield
    except OSError as error:
        remedy = "Check the space and the permissions there; if state.db is missing now, it is in a directory beside"
        raise DataNotPermitted(files.directory, f"{finding} ({error.strerror})", remedy) from error
    finally:
        lock.release()


def _replace(
    files: Files, clock: Clock, make_ready: Callable[[], tuple[Loaded, int]], *, is_only_copy: bool = False
) -> Restored:
    """Put what `make_ready` leaves in `files.restoring` in the place of the data. If that fails, the file is removed,
    unless it was there before and nothing else has what it holds.
    """
    try:
        loaded, revision = make_ready()
        synchronise(files.restoring)
    except BaseException:
        if not is_only_copy:
            _discard(files)
        raise
    moved_aside = _move_aside(files, clock)
    Mark(files.mark, loaded.identity, revision, revision).close()
    files.restoring.rename(files.database)
    synchronise(files.directory)
    objects = sum(len(table.records) for table in loaded.contents.tables.values())
    return Restored(objects, revision, moved_aside)


def _copy(files: Files, backup: Path, clock: Clock) -> tuple[Loaded, int]:
    os.close(os.open(files.restoring, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
    shutil.copyfile(backup, files.restoring)
    return _make_ready(files, backup, clock)


def _rebuild(files: Files, intact: Intact, clock: Clock) -> tuple[Loaded, int]:
    """A new database of the newest intact row of every key."""
    rows = intact.rows
    newest = {(row.table, row.key): revision for revision, row in sorted(rows.items())}
    keys = keys_of(files, lambda: any(is_sealed(row.value) for row in rows.values()))
    events = [
        Event(revision, row.table, row.key, Record(row.key, revision, value), None)
        for revision, row in ((each, rows[each]) for each in sorted(newest.values()))
        if not row.deleted and (value := keys.open(files.database, row.table, row.key, revision, row.value)) is not None
    ]
    try:
        create_database(files.restoring, identity=intact.identity)
    except apsw.Error as error:
        raise open_failure(files.restoring, error) from error
    return _make_ready(files, files.restoring, clock, events, intact.newest)


def _make_ready(
    files: Files, backup: Path, clock: Clock, salvaged: Sequence[Event] = (), newest: int = 0
) -> tuple[Loaded, int]:
    """Check the copy as a start would, add what was salvaged, and let it continue at a revision nobody has seen."""
    try:
        connection = connect(files.restoring)
        try:
            with reading(backup):
                check_database(connection, backup, thorough=True)
                keys = keys_of(files, partial(has_sealed, connection))
                loaded = load_current(connection, backup, Retention(), clock, keys)
                mark = read_mark(files.mark)
                reserved = 0 if mark is None else mark.reserved
                revision = unseen(max(loaded.contents.revision, newest, _revision_of(files.database), reserved), clock)
                written_at = int(clock.now().timestamp())
                Database(connection, backup, loaded).commit(salvaged, written_at, revision, ())
                if salvaged:
                    loaded = load(connection, backup, Retention(), clock, keys)
            connection.execute("PRAGMA journal_mode = WAL")
            close_as_one_file(connection)
        finally:
            connection.close()
    except apsw.Error as error:
        raise open_failure(backup, error) from error
    return loaded, revision


def _revision_of(database: Path) -> int:
    """How far the data that is about to be replaced had come; 0 if it cannot say, for damaged data is a reason to
    restore.
    """
    try:
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            newest = "SELECT max(ifnull((SELECT max(revision) FROM log), 0), (SELECT value FROM facts WHERE name = ?))"
            return int(connection.execute(newest, (COMPACTED,)).get or 0)
        finally:
            connection.close()
    except apsw.Error:
        return 0


def _present(files: Files) -> list[Path]:
    """The files of the data that is there, the log first: alone it is nothing, but beside another database it would be
    taken for that one's, so it must be the first to move.
    """
    return [path for path in (files.log, files.index, files.database) if path.exists()]


def _move_aside(files: Files, clock: Clock) -> Path | None:
    present = _present(files)
    if not present:
        return None
    if files.mark.exists():
        synchronise(files.mark)  # a database that loses its log here must not look complete
    aside = files.directory / f"replaced-{clock.now():%Y%m%dT%H%M%S.%fZ}"
    aside.mkdir(mode=0o700)
    for path in present:
        path.rename(aside / path.name)
    if files.mark.exists():
        shutil.copy(files.mark, aside)
    synchronise(aside)
    synchronise(files.directory)
    return aside


def _move_back_log(files: Files) -> None:
    """Undo what an interrupted one has moved aside while the database is still there."""
    aside = max(files.directory.glob("replaced-*"), default=None)
    if aside is not None and (aside / files.log.name).exists() and not (aside / files.database.name).exists():
        (aside / files.log.name).rename(files.log)


def _discard(files: Files) -> None:
    """Remove the copy of a backup that a restore did not finish with."""
    for leftover in files.directory.glob(f"{files.restoring.name}*"):
        leftover.unlink()
