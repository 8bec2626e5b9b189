from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("true && (1/0 == 1)", "error: division by zero"),
    ("false && (1/0 == 1)", "false"),
    ("(1/0 == 1) && false", "false"),
    ("(1/0 == 1) || true", "true"),
    ("(1/0 == 1) || false", "error: division by zero"),
    ("(1/0==1) && (1%0==1)", "error: division by zero"),
    ("(1%0==1) || (1/0==1)", "error: modulus by zero"),
    ("true ? 1 : 1/0", "1"),
    ("false ? 1/0 : 2", "2"),
    ("(1/0 == 1) ? 1 : 2", "error: division by zero"),
    ("1 / 0", "error: division by zero"),
    ("1 % 0", "error: modulus by zero"),
    ("1u / 0u", "error: division by zero"),
    ("1.0 / 0.0", "+Inf (double)"),
    ("-1.0/0.0", "-Inf (double)"),
    ("0.0/0.0", "NaN (double)"),
    ("5 / -2", "-2"),
    ("-5 / 2", "-2"),
    ("-5 % 3", "-2"),
    ("5 % -3", "2"),
    ("7u % 4u", "3u"),
    ("9223372036854775807 + 1", "error: integer overflow"),
    ("-9223372036854775808 - 1", "error: integer overflow"),
    ("-9223372036854775808 / -1", "error: integer overflow"),
    ("-9223372036854775808 % -1", "error: integer overflow"),
    ("9223372036854775807 * 2", "error: integer overflow"),
    ("0u - 1u", "error: unsigned integer overflow"),
    ("18446744073709551615u + 1u", "error: unsigned integer overflow"),
    ("-(-9223372036854775808)", "error: integer overflow"),
    ("1.5 + 2.5", "4 (double)"),
    ("'a' + 'b'", "'ab'"),
    ("[1] + [2]", "[1, 2]"),
    ("b'a' + b'b'", "b'ab'"),
    ("timestamp(0) + duration('1h')", "timestamp 1970-01-01T01:00:00Z"),
    ("duration('1h') + timestamp(0)", "timestamp 1970-01-01T01:00:00Z"),
    ("timestamp(10) - timestamp(5)", "duration 5s"),
    ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"),
    ("timestamp(0) - duration('1h')", "timestamp 1969-12-31T23:00:00Z"),
    ("duration('1h') - duration('30m')", "duration 1800s"),
    ("!true", "false"),
    ("!!false", "false"),
    ("-5", "-5"),
    ("--5", "5"),
    ("- 5", "-5"),
    ("-(5)", "-5"),
    ("-1.5", "-1.5 (double)"),
    ("-x", "refused 1:2: undeclared reference to 'x' (in container '')"),
    ("-'a'", "refused 1:1: found no matching overload for '-_' applied to '(string)'"),
    ("!1", "refused 1:1: found no matching overload for '!_' applied to '(int)'"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_logic_and_arithmetic_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
