"""Whole numbers in texts, which clients choose."""

from __future__ import annotations

import pytest

from nagaya.apiserver.meta import integers
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("text", "number", "nearest"),
    [
        ("0", 0, 0),
        ("-17", -17, -17),
        ("+17", 17, 17),
        ("0" * 5000 + "17", 17, 17),
        ("-0", 0, 0),
        ("9223372036854775807", 2**63 - 1, 2**63 - 1),
        ("9223372036854775808", None, 2**63 - 1),
        ("-9223372036854775808", -(2**63), -(2**63)),
        ("-" + "9" * 5000, None, -(2**63)),
        ("9" * 5000, None, 2**63 - 1),
    ],
)
def test_numbers_of_64_bits_are_read_and_others_are_out_of_range(text: str, number: int | None, nearest: int) -> None:
    assert integers.clamped(text) == nearest
    if number is not None:
        assert integers.parse(text) == number
        return
    with pytest.raises(ValueError, match=r"^strconv\.Atoi: parsing .*: value out of range$"):
        integers.parse(text)


@subtest_cases("text", ["", "+", "-", "+-5", "--5", "1_000", " 1", "1 ", "1\n", "٣", "²", "1.0", "0x10", "1e3"])
def test_other_texts_are_no_numbers(text: str) -> None:
    assert integers.clamped(text) is None
    with pytest.raises(ValueError, match=r"^strconv\.ParseInt: parsing .*: invalid syntax$"):
        integers.parse(text, "ParseInt")
