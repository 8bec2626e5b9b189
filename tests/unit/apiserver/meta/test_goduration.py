from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.meta import goduration
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("5s", 5 * goduration.SECOND),
        ("+1.5s", 1_500_000_000),
        ("-1h30m", -5400 * goduration.SECOND),
        ("1h.5m", 3630 * goduration.SECOND),
        ("1.s", goduration.SECOND),
        ("1us1\u00b5s1\u03bcs", 3000),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_durations_in_gos_form(text: str, nanoseconds: int) -> None:
    assert goduration.parse(text) == nanoseconds


@subtest_cases(
    ("text", "problem"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("abc", 'time: invalid duration "abc"'),
        (".s", 'time: invalid duration ".s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1h5", 'time: missing unit in duration "1h5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
    ],
)
def test_what_is_wrong_is_said_in_gos_words(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as raised:
        goduration.parse(text)
    assert str(raised.value) == problem


@given(st.integers(0, 2**40), st.sampled_from(["ns", "us", "ms", "s"]))
def test_whole_numbers_are_exact(number: int, unit: str) -> None:
    factor = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[unit]
    if number * factor < 2**63:
        assert goduration.parse(f"{number}{unit}") == number * factor


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        goduration.parse(text)
    except ValueError as error:
        assert str(error).startswith("time: ")
