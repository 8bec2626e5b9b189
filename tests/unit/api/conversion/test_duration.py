from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.conversion.duration import seconds
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("text", "expected"),
    [
        ("0", 0),
        ("0s", 0),
        ("90s", 90),
        ("1h30m", 5400),
        ("1h30m0s", 5400),
        ("1.5h", 5400),
        (".5m", 30),
        ("1500ms", Fraction(3, 2)),
        ("1µs", Fraction(1, 1_000_000)),
        ("-5m", -300),
        ("+5m", 300),
    ],
)
def test_durations_are_read_as_go_reads_them(text: str, expected: Fraction) -> None:
    assert seconds(text) == expected


@subtest_cases("text", ["", "5", "m", "5 m", "1h 5m", "h5", "5x", "-", "1..5s", "s5s"])
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        seconds(text)


@given(st.integers(0, 9), st.integers(0, 59), st.integers(0, 59))
def test_parts_add_up(hours: int, minutes: int, rest: int) -> None:
    assert seconds(f"{hours}h{minutes}m{rest}s") == hours * 3600 + minutes * 60 + rest
