from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.controlplane.hosted.data_store.errors import SnapshotDamaged
from nagaya.controlplane.hosted.data_store.snapshots import Entry, Head, Reader, encode

HEAD = Head(revision=42, taken="2026-11-01T12:00:00+00:00", tenant="x")
ENTRIES = [Entry(b"pods/default/a", b"\0binary\xff", 7, 3600), Entry(b"pods/default/b", b""), Entry(b"", b"x" * 70_000)]

entries = st.lists(st.builds(Entry, st.binary(), st.binary(), st.integers(0, 2**63 - 1), st.integers(0, 2**31 - 1)))


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for begin in range(0, len(data), size):
        yield data[begin : begin + size]


async def paged(found: Sequence[Entry], size: int = 2) -> AsyncIterator[Sequence[Entry]]:
    for begin in range(0, len(found), size):
        yield found[begin : begin + size]


async def written(found: Sequence[Entry]) -> bytes:
    return b"".join([piece async for piece in encode(HEAD, paged(found))])


async def read(data: bytes, size: int = 1 << 16) -> tuple[Head, list[Entry]]:
    reader = Reader(pieces(data, size))
    head = await reader.head()
    return head, [entry async for page in reader.pages(3) for entry in page]


@given(entries, st.integers(1, 50))
def test_what_was_written_is_read_whatever_the_pieces(found: list[Entry], size: int) -> None:
    async def trip() -> None:
        assert await read(await written(found), size) == (HEAD, found)

    asyncio.run(trip())


async def test_a_copy_that_is_cut_off_anywhere_is_not_whole() -> None:
    data = await written(ENTRIES[:2])
    for length in range(len(data)):
        with pytest.raises(SnapshotDamaged):
            await read(data[:length])


async def test_a_copy_with_any_bit_changed_is_not_whole() -> None:
    data = await written(ENTRIES[:2])
    head_end = 4 + int.from_bytes(data[:4], "big")
    for position in range(head_end, len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        with pytest.raises(SnapshotDamaged):
            await read(bytes(changed))


async def test_something_behind_the_end_is_noticed() -> None:
    with pytest.raises(SnapshotDamaged, match="something follows its end"):
        await read(await written(ENTRIES) + b"x", size=10)


async def test_something_else_is_not_a_copy() -> None:
    for data in (b"", b"SQLite format 3\0", b"\0\0\0\1\xc0", await written([]) * 2):
        with pytest.raises(SnapshotDamaged):
            await read(data)


async def test_a_copy_of_another_form_is_refused() -> None:
    other = Head(1, "", "x", format="nagaya.tenant/2")
    data = b"".join([piece async for piece in encode(other, paged([]))])
    with pytest.raises(SnapshotDamaged, match="a form that this version does not know"):
        await read(data)
