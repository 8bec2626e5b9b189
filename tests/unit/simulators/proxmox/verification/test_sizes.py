from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox.verification import format_size, parse_size
from support.subtest_cases import subtest_cases


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("5", 5), ("1K", 1024), ("1.5G", 3 * 512 * 1024 * 1024), ("2T", 2 * 1024**4), ("32M", 32 * 1024**2)],
)
def test_a_size_is_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@subtest_cases("text", ["", "G", "1g", "+1G", "1 G", "1.G", "-1", "1P"])
def test_what_is_no_size_is_none(text: str) -> None:
    assert parse_size(text) is None


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1"), (1025, "1025"), (2048, "2K"), (1024**3, "1G"), (1536 * 1024**2, "1536M"), (1024**5, "1024T"), (0, "0T")],
)
def test_a_size_is_written_in_the_largest_unit_that_fits(size: int, text: str) -> None:
    assert format_size(size) == text


@given(st.integers(min_value=0, max_value=2**70))
def test_a_size_survives_being_written(size: int) -> None:
    assert parse_size(format_size(size)) == size
