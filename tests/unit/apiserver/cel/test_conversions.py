from __future__ import annotations

from collections.abc import Callable

import pytest

from nagaya.api.conversion.duration import seconds
from nagaya.apiserver.cel import conversions, times
from nagaya.apiserver.cel.values import CelError
from support.cpu import MOST, cpu_seconds, growth
from support.subtest_cases import subtest_cases

CASES = [
    ("int('12')", "12"),
    ("int('-12')", "-12"),
    ("int('+5')", "5"),
    ("int(' 1')", "unplannable: type conversion error from 'string' to 'int'"),
    ("int('1_0')", "unplannable: type conversion error from 'string' to 'int'"),
    ("int('')", "unplannable: type conversion error from 'string' to 'int'"),
    (f"int('{'1' * 5000}') == 1", "unplannable: type conversion error from 'string' to 'int'"),
    (f"uint('{'1' * 5000}') == 1u", "unplannable: type conversion error from 'string' to 'uint'"),
    (f"uint('{'0' * 5000}1')", "1u"),
    ("timestamp('9999-12-31T23:59:59Z').getHours('01:00')", "error: timestamp overflow"),
    ("timestamp('0001-01-01T00:00:00Z').getHours('-01:00')", "error: timestamp overflow"),
    ("timestamp(0).getHours('99999999999999999:00')", "error: unknown time zone 99999999999999999:00"),
    ("int(1.9)", "1"),
    ("int(-1.9)", "-1"),
    ("int(1e30)", "unplannable: integer overflow"),
    ("int(18446744073709551615u)", "unplannable: integer overflow"),
    ("uint('5')", "5u"),
    ("uint('-5')", "unplannable: type conversion error from 'string' to 'uint'"),
    ("uint(-1)", "unplannable: unsigned integer overflow"),
    ("uint(1.9)", "1u"),
    ("uint(-1.0)", "unplannable: unsigned integer overflow"),
    ("double('1.5')", "1.5 (double)"),
    ("double('1e400')", "unplannable: type conversion error from 'string' to 'double'"),
    ("double('inf')", "+Inf (double)"),
    ("double('abc')", "unplannable: type conversion error from 'string' to 'double'"),
    ("double('1_0')", "10 (double)"),
    ("double('0x1p-2')", "0.25 (double)"),
    ("double(5)", "5 (double)"),
    ("double(5u)", "5 (double)"),
    ("double('')", "unplannable: type conversion error from 'string' to 'double'"),
    ("double('.')", "unplannable: type conversion error from 'string' to 'double'"),
    ("double('1.')", "1 (double)"),
    ("double('.5')", "0.5 (double)"),
    ("double('+1')", "1 (double)"),
    ("bool('true')", "true"),
    ("bool('T')", "true"),
    ("bool('yes')", "unplannable: type conversion error from 'string' to 'bool'"),
    ("bool('1')", "true"),
    ("string(1)", "'1'"),
    ("string(1u)", "'1'"),
    ("string(1.5)", "'1.5'"),
    ("string(true)", "'true'"),
    ("string(b'abc')", "'abc'"),
    ("string(b'\\xff')", "unplannable: invalid UTF-8 in bytes, cannot convert to string"),
    ("bytes('abc')", "b'abc'"),
    ("bytes('é')", "b'\\xc3\\xa9'"),
    ("string(null)", "unplannable: no such overload: string(null_type)"),
    ("string([1])", "refused 1:7: found no matching overload for 'string' applied to '(list(int))'"),
    ("dyn(1) + dyn(2)", "3"),
    ("type(dyn(1))", "type int"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_conversions_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected


@pytest.mark.parametrize(
    "read", [conversions.to_double, times.parse_wordy_duration, seconds], ids=["double", "words", "seconds"]
)
async def test_long_digits_that_are_no_number_are_refused_in_linear_time(read: Callable[[str], object]) -> None:
    async def refuse(size: int) -> None:
        with pytest.raises((CelError, ValueError)):
            read("0" * size + "!")

    assert await growth(lambda size: cpu_seconds(lambda: refuse(size)), 2000) <= MOST
