"""SQLite's pages, read without SQLite: the cells of leaves, and the records in them.

Only for salvage, which cannot follow a tree whose pages are damaged. Whatever is read here may be garbage: the caller
believes a row only if its checksum is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from nagaya.apiserver.storage.sqlite.layout import PAGE_SIZE

Value = int | str | bytes | None
_TABLE_LEAF, _INDEX_LEAF = 0x0D, 0x0A
_LARGEST_TABLE_CELL = PAGE_SIZE - 35
_LARGEST_INDEX_CELL = (PAGE_SIZE - 12) * 64 // 255 - 23
_LEAST = (PAGE_SIZE - 12) * 32 // 255 - 23
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_COLUMNS = 16
_LARGEST_RECORD = 64 * 1024 * 1024  # many times what a request may hold; pages that lead in a circle end here


class Cell(NamedTuple):
    """A record in a leaf, or its beginning."""

    rowid: int  # 0 in an index
    size: int
    local: bytes
    overflow: int  # the page on which it goes on, or 0


def cells(page: bytes, number: int) -> Iterator[Cell | None] | None:
    """The cells of a leaf, None for each that makes no sense. None if the page is no leaf."""
    head = 100 if number == 1 else 0
    if len(page) < PAGE_SIZE or page[head] not in (_TABLE_LEAF, _INDEX_LEAF):
        return None
    count = min(_number(page, head + 3, 2), (PAGE_SIZE - head - 8) // 2)
    return (_cell(page, _number(page, head + 8 + 2 * index, 2), page[head]) for index in range(count))


def record(cell: Cell, page_at: Callable[[int], bytes | None]) -> list[Value] | None:
    """The columns of a record, with the pages on which it goes on. None if it makes no sense."""
    if cell.size > _LARGEST_RECORD:
        return None
    payload, overflow = [cell.local], cell.overflow
    missing = cell.size - len(cell.local)
    while missing > 0:
        page = page_at(overflow)
        if page is None:
            return None
        overflow = _number(page, 0, 4)
        payload.append(page[4 : 4 + missing])
        missing -= len(payload[-1])
    try:
        return _columns(b"".join(payload))
    except (IndexError, ValueError, KeyError):
        return None


def _cell(page: bytes, at: int, kind: int) -> Cell | None:
    try:
        size, at = _varint(page, at)
        rowid, at = _varint(page, at) if kind == _TABLE_LEAF else (0, at)
        largest = _LARGEST_TABLE_CELL if kind == _TABLE_LEAF else _LARGEST_INDEX_CELL
        local = size
        if size > largest:
            local = _LEAST + (size - _LEAST) % (PAGE_SIZE - 4)
            local = local if local <= largest else _LEAST
        if at + local > PAGE_SIZE:
            return None
        overflow = _number(page, at + local, 4) if local < size else 0
        return Cell(rowid, size, page[at : at + local], overflow)
    except IndexError:
        return None


def _columns(payload: bytes) -> list[Value]:
    end, at = _varint(payload, 0)
    kinds: list[int] = []
    while at < end and len(kinds) < _COLUMNS:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    columns: list[Value] = []
    at = end
    for kind in kinds:
        if kind >= 12:
            size = (kind - 12) // 2
            content = payload[at : at + size]
            if len(content) < size:
                raise IndexError
            columns.append(content.decode() if kind % 2 else content)
        elif kind in (0, 8, 9):
            size = 0
            columns.append({0: None, 8: 0, 9: 1}[kind])
        else:
            size = _INTEGERS[kind]
            columns.append(int.from_bytes(payload[at : at + size], "big", signed=True))
        at += size
    return columns


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index in range(8):
        byte = content[at + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + index + 1
    return value << 8 | content[at + 8], at + 9


def _number(content: bytes, at: int, size: int) -> int:
    return int.from_bytes(content[at : at + size], "big")
