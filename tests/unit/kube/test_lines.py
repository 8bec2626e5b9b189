from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.kube.lines import lines


async def split(chunks: list[bytes]) -> list[bytes]:
    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [line async for batch in lines(stream()) for line in batch]


@given(st.lists(st.binary(max_size=6)))
def test_lines_do_not_depend_on_where_chunks_are_cut(chunks: list[bytes]) -> None:
    complete = b"".join(chunks).split(b"\n")[:-1]
    # Nothing in it waits, so it needs no event loop: a new one for every example would take most of the time.
    with pytest.raises(StopIteration) as found:
        split(chunks).send(None)
    assert found.value.value == [line for line in complete if line]


async def test_half_a_line_at_the_end_is_dropped() -> None:
    assert await split([b"one\ntw", b"o\nthr"]) == [b"one", b"two"]


async def test_a_long_line_in_many_chunks_is_one_line() -> None:
    assert await split([b"x" * 1000] * 1000 + [b"\n"]) == [b"x" * 1_000_000]
