from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.cel.ranges import LARGEST, NOTHING, ONE, UNKNOWN, Range, exactly

numbers = st.one_of(st.integers(0, 1000), st.integers(0, LARGEST))
ranges = st.builds(lambda one, other: Range(min(one, other), max(one, other)), numbers, numbers)


@given(ranges, ranges)
def test_results_are_ranges_of_64_bits(one: Range, other: Range) -> None:
    for made in (one.plus(other), one.times(other), one.or_else(other), one.scaled(0.1), one.scaled(2.1)):
        assert 0 <= made.least <= made.most <= LARGEST


@given(ranges, ranges)
def test_order_does_not_matter(one: Range, other: Range) -> None:
    assert one.plus(other) == other.plus(one)
    assert one.times(other) == other.times(one)
    assert one.or_else(other) == other.or_else(one)


def test_what_is_without_limit_stays_without_limit() -> None:
    assert UNKNOWN.plus(ONE).most == LARGEST
    assert UNKNOWN.times(exactly(2)).most == LARGEST
    assert UNKNOWN.scaled(2.0).most == LARGEST
    assert UNKNOWN.times(NOTHING) == NOTHING


def test_a_part_of_a_unit_counts_as_one() -> None:
    assert exactly(1).scaled(0.1) == ONE
    assert exactly(11).scaled(0.1) == exactly(2)
    assert exactly(0).scaled(0.1) == NOTHING
