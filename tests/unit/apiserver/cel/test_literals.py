from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("'\\u00e9' == 'é'", "true"),
    ("'\\U0001F600'.size()", "1"),
    ("'''a\nb'''", "'a\\nb'"),
    ("r'\\d'", "'\\\\d'"),
    ('"""q"q"""', "'q\"q'"),
    ("b'\\303\\251'", "b'\\xc3\\xa9'"),
    ("'\\x41\\101\\n'", "'AA\\n'"),
    ("b'é'", "b'\\xc3\\xa9'"),
    ("'a\\'b'", '"a\'b"'),
    ("0x1F", "31"),
    ("0xFFu", "255u"),
    ("1e3", "1000 (double)"),
    (".5", "0.5 (double)"),
    ("1.5e-3", "0.0015 (double)"),
    ("0x7fffffffffffffff", "9223372036854775807"),
    ("0x8000000000000000", "refused 1:1: invalid int literal"),
    ("9223372036854775808", "refused 1:1: invalid int literal"),
    ("18446744073709551616u", "refused 1:1: invalid uint literal"),
    ("1e400", "refused 1:1: invalid double literal"),
    ("'\\ud800'", "refused 1:1: invalid unicode code point"),
    ("size('é')", "1"),
    ("size(b'é')", "2"),
    ("'a' < 'b'", "true"),
    ("'a' < 'B'", "false"),
    ("b'a' < b'b'", "true"),
    ("false < true", "true"),
    ("timestamp(0) < timestamp(1)", "true"),
    ("duration('1s') <= duration('1s')", "true"),
    ("[1] < [2]", "refused 1:5: found no matching overload for '_<_' applied to '(list(int), list(int))'"),
    ("1 < 'a'", "refused 1:3: found no matching overload for '_<_' applied to '(int, string)'"),
    ("1.0 < 2u", "true"),
    ("double('NaN') < 1.0", "error: NaN values cannot be ordered"),
    ("double('NaN') == double('NaN')", "false"),
    ("dyn(double('NaN')) != 1.0", "true"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_literals_and_order_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
