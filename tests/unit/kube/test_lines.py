from __future__ import annotations

import json
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


@given(st.lists(st.binary(max_size=6)).filter(lambda chunks: not b"".join(chunks).startswith(b"{\n")))
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


@given(st.integers(1, 40), st.integers(0, 5), st.sampled_from(["", "\n"]))
def test_an_event_that_is_indented_over_many_lines_is_one(size: int, count: int, between: str) -> None:
    events = [{"type": "ADDED", "object": {"number": number, "in": [{}, {"deep": {}}]}} for number in range(count)]
    stream = between.join(json.dumps(event, indent=1) for event in events).encode()
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]

    with pytest.raises(StopIteration) as found:
        split(chunks).send(None)
    assert [json.loads(line) for line in found.value.value] == events
