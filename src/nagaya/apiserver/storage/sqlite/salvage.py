"""What is intact in damaged files.

Each row proves itself by its checksum, so it does not matter how it is found: every leaf is read, in the database and
in the frames of the log, and a row is taken if its checksum is right. Of each page the newest version counts. An older
one is asked only for what the newest should have and has not, because rows that were removed must not come back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from nagaya.apiserver.storage.contents import FIRST_REVISION
from nagaya.apiserver.storage.sqlite.layout import (
    COMPACTED,
    DIGEST,
    IDENTITY,
    PAGE_SIZE,
    Files,
    added,
    checksum,
    seal,
)
from nagaya.apiserver.storage.sqlite.mark import Marked
from nagaya.apiserver.storage.sqlite.pages import Cell, cells, record
from nagaya.apiserver.storage.sqlite.wal import Log


class Row(NamedTuple):
    """A write that is intact."""

    table: str
    key: str
    value: bytes | None
    deleted: bool
    checksum: int


class Intact(NamedTuple):
    """Rows by revision, and what is known about the others."""

    identity: int
    rows: dict[int, Row]
    lost: Sequence[tuple[int, int]]
    """Revisions that were acknowledged and of which no row is intact, each from and to."""
    complete: bool
    """Whether the digest proves that nothing is missing."""
    newest: int
    """Nothing was acknowledged beyond."""


class _Version(NamedTuple):
    """A page at some time."""

    order: int  # 0 in the database, else the frame
    ends: int  # the last frame of its transaction
    intact: bool
    content: bytes


def read_intact(files: Files, mark: Marked | None) -> Intact:
    """Everything that is intact in the files of a store. Changes nothing."""
    reader = _Reader(files, mark)
    found = reader.read(reader.free_pages())
    if not found.complete and (other := reader.read(set())).complete:
        return other
    return found


class _Reader:
    def __init__(self, files: Files, mark: Marked | None) -> None:
        self._mark = mark
        # What was not acknowledged is left out where that is known, as it may be half there.
        self._limit = mark.acknowledged if mark is not None and mark.exact else None
        self._names: dict[int, set[str]] = defaultdict(set)
        self._facts: dict[str, set[int]] = defaultdict(set)
        self._pages: dict[int, list[_Version]] = defaultdict(list)
        content = files.database.read_bytes() if files.database.exists() else b""
        database = [content[at : at + PAGE_SIZE] for at in range(0, len(content), PAGE_SIZE)]
        self._add([(number, _Version(0, 0, True, page)) for number, page in enumerate(database, 1)])
        self._add(_frames(files, self._limit is not None))
        self._all_names = set().union(*self._names.values())
        identities = self._facts[IDENTITY] if mark is None else {mark.identity}
        self._identity = next(iter(identities), 0)
        known = max(self._facts[COMPACTED], default=0) if mark is None else mark.reserved
        self._compacted = max((fact for fact in self._facts[COMPACTED] if fact <= known), default=0)

    def _add(self, versions: Sequence[tuple[int, _Version]]) -> None:
        owners: set[int] = set()  # of a log, as far as it says
        for number, version in versions:
            for cell in cells(version.content, number) or ():
                match record(cell, lambda _: None) if cell is not None else None:
                    case [None, str(name)] if cell is not None:
                        self._names[cell.rowid].add(name)
                    case [str(name), int(value)] if name in (COMPACTED, IDENTITY, DIGEST):
                        self._facts[name].add(value)
                        owners.update([value] if name == IDENTITY and version.intact and version.order else [])
                    case [str(name), int(value)]:
                        self._names[value].add(name)
        if self._mark is None or not owners or self._mark.identity in owners:
            for number, version in versions:
                self._pages[number].append(version)

    def free_pages(self) -> set[int]:
        """Pages that are not in use and may hold what was removed."""
        free: set[int] = set()
        first = self._page(1, None) or b""
        trunk = int.from_bytes(first[32:36], "big")
        while trunk not in free and (page := self._page(trunk, None)) is not None:
            free.add(trunk)
            count = min(int.from_bytes(page[4:8], "big"), PAGE_SIZE // 4 - 2)
            free.update(int.from_bytes(page[at : at + 4], "big") for at in range(8, 8 + 4 * count, 4))
            trunk = int.from_bytes(page[:4], "big")
        return free

    def read(self, free: set[int]) -> Intact:
        """All rows outside of some pages."""
        rows: dict[int, Row] = {}
        failed: set[int] = set()
        known: dict[int, Row] = {}  # in any version of any page
        for number in self._pages.keys() - free:
            wanted: set[int] | None = None  # of older versions; None is everything
            found_all = False
            for version in reversed(self._pages[number]):
                found = cells(version.content, number)
                good, bad = self._rows(found or (), version)
                known |= good
                for revision, row in good.items():
                    missing = not found_all and (wanted is None or revision in wanted)
                    if missing or revision > self._compacted:  # what is newer was not removed
                        rows[revision] = row
                if found_all:
                    continue
                failed |= bad
                found_all = version.intact and (found is None or not bad)
                wanted = None if found is None or (bad and not good) or 0 in bad else bad
        latest = {(row.table, row.key): revision for revision, row in sorted(known.items())}
        # A row may have moved from a page that is intact to one that is damaged.
        moved = {revision: known[revision] for revision in latest.values() if not known[revision].deleted}
        for attempt in (rows, rows | moved):
            if self._is_complete(attempt):
                return Intact(self._identity, attempt, (), True, self._newest(attempt))
        newest = self._newest(rows)
        edges = sorted({*rows, max(self._compacted, FIRST_REVISION), newest + 1})
        lost = [(before + 1, after - 1) for before, after in pairwise(edges) if before >= self._compacted]
        lost += [(each, each) for each in failed - rows.keys() if 1 < each <= self._compacted]
        lost = sorted(each for each in lost if each[0] <= each[1])
        gone = {key for key, revision in latest.items() if known[revision].deleted}
        rows = {revision: row for revision, row in rows.items() if (row.table, row.key) not in gone}
        return Intact(self._identity, rows, lost, False, newest)

    def _newest(self, rows: Iterable[int]) -> int:
        return max([*rows, self._compacted, 0 if self._mark is None else self._mark.acknowledged])

    def _is_complete(self, rows: Mapping[int, Row]) -> bool:
        """Whether the digest proves it. Without the newest mark an earlier digest may be right, by what is lost."""
        mark = self._mark
        if mark is None or not mark.is_newest or max([*rows, self._compacted]) < mark.acknowledged:
            return False
        checks = [row.checksum for row in rows.values()]
        return any(added(seal(self._identity, each), *checks) in self._facts[DIGEST] for each in self._facts[COMPACTED])

    def _rows(self, found: Iterable[Cell | None], version: _Version) -> tuple[dict[int, Row], set[int]]:
        """The intact rows in some cells, and the revisions of those that are not; 0 if not even that can be read."""
        good: dict[int, Row] = {}
        bad: set[int] = set()
        for cell in found:
            if cell is None:
                bad.add(0)
            elif cell.rowid:
                # Where a record goes on: in the same transaction; if that is damaged, in any later one or before.
                orders = dict.fromkeys((version.ends, None, 0)) if cell.overflow else (None,)
                columns = [record(cell, partial(self._page, order=order)) for order in orders]
                row = next(filter(None, (self._row(cell.rowid, each) for each in columns)), None)
                if row is None:
                    bad.update([cell.rowid] if any(each is None or len(each) == 7 for each in columns) else [])
                elif self._limit is None or cell.rowid <= self._limit:
                    good[cell.rowid] = row
        return good, bad

    def _row(self, revision: int, columns: Sequence[object] | None) -> Row | None:
        match columns:
            case [None, int(table), str(key), int(deleted), int(written_at), int(check), (bytes() | None) as value]:
                for name in [*self._names[table], *(self._all_names if self._identity else ())]:
                    right = checksum(self._identity, name, revision, key, deleted, written_at, value)
                    if right == check and (value is not None or deleted):
                        return Row(name, key, value, bool(deleted), check)
        return None

    def _page(self, number: int, order: int | None) -> bytes | None:
        """The newest version of a page, or the newest at some time."""
        found = (each for each in reversed(self._pages.get(number, ())) if order is None or each.order <= order)
        version = next(found, None)
        return None if version is None else version.content


def _frames(files: Files, trailing: bool) -> Sequence[tuple[int, _Version]]:
    """The pages in the log. Those at its end that no transaction completes only if asked for."""
    frames = list(Log(files.log).checked())
    ends = len(frames) if trailing else 0
    found = []
    for frame, intact in reversed(frames):
        ends = frame.number if frame.commits else ends
        if ends:
            found.append((frame.page, _Version(frame.number, ends, intact, frame.content)))
    return found[::-1]
