from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.ipam.ranges import NONE, RangeSet, address_of, number_of, parse, text_of
from support.subtest_cases import subtest_cases

RANGES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 8)).map(lambda each: (each[0], each[0] + each[1])), max_size=6
)


def members(ranges: list[tuple[int, int]]) -> set[int]:
    return {number for first, last in ranges for number in range(first, last + 1)}


@given(RANGES, RANGES)
def test_sets_of_ranges_are_sets(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    first, second = RangeSet.of(one), RangeSet.of(other)
    assert {*first.numbers} == members(one)
    assert [*(first - second).numbers] == sorted(members(one) - members(other))
    assert [*(first & second).numbers] == sorted(members(one) & members(other))
    assert first.count == len(members(one))
    assert [number in first for number in range(50)] == [number in members(one) for number in range(50)]


@given(RANGES, RANGES)
def test_the_ranges_of_a_set_are_in_order_and_do_not_touch(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    for found in (RangeSet.of(one), RangeSet.of(one) - RangeSet.of(other)):
        ends = [end for each in found.ranges for end in each]
        assert ends == sorted(ends)
        assert all(later[0] > earlier[1] + 1 for earlier, later in zip(found.ranges, found.ranges[1:], strict=False))


@subtest_cases(
    ("text", "shown", "count"),
    [
        ("10.0.0.5", "10.0.0.5", 1),
        ("10.0.0.5-10.0.0.9", "10.0.0.5-10.0.0.9", 5),
        ("10.0.0.0/24", "10.0.0.0-10.0.0.255", 256),
        ("10.0.0.7/24", "10.0.0.0-10.0.0.255", 256),
        ("10.0.0.0/8", "10.0.0.0-10.255.255.255", 2**24),
        ("fd00::1-fd00::3", "fd00::1-fd00::3", 3),
        ("fd00::/64", "fd00::-fd00::ffff:ffff:ffff:ffff", 2**64),
        ("::/0", "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 2**128),
    ],
)
def test_what_users_write_is_understood(text: str, shown: str, count: int) -> None:
    found = RangeSet.parse([text])
    assert (str(found), found.count) == (shown, count)


@subtest_cases(
    "text",
    [
        "",
        "x",
        "10.0.0",
        "10.0.0.256",
        "010.0.0.1",
        "10.0.0.1 ",
        "10.0.0.9-10.0.0.5",
        "10.0.0.5-fd00::1",
        "10.0.0.5-",
        "10.0.0.5-10.0.0.6-10.0.0.7",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/024",
        "10.0.0.0/255.255.255.0",
        "10.0.0.0/",
        "fe80::1%eth0",
        "fd00::/129",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no|is in no"):
        parse(text)


def test_both_families_have_a_place_on_one_line() -> None:
    for text in ("0.0.0.0", "255.255.255.255", "::", "::ffff", "ffff::"):
        number = number_of(text)
        assert number is not None
        assert text_of(number) == text
        assert str(address_of(number)) == text
    assert number_of("255.255.255.255") != number_of("::ffff:ffff")
    both = RangeSet.parse(["10.0.0.0/8", "fd00::/64"])
    assert len(both.ranges) == 2


def test_the_addresses_of_a_huge_set_are_made_one_by_one() -> None:
    assert [text_of(each) for each in islice(RangeSet.parse(["fd00::/64"]).numbers, 2)] == ["fd00::", "fd00::1"]
    assert not NONE
