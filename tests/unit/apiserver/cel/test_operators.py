from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("1 == 1.0", "refused 1:3: found no matching overload for '_==_' applied to '(int, double)'"),
    ("1 == 1u", "refused 1:3: found no matching overload for '_==_' applied to '(int, uint)'"),
    ("1u == 1.0", "refused 1:4: found no matching overload for '_==_' applied to '(uint, double)'"),
    ("1 < 1.5", "true"),
    ("2u > 1", "true"),
    ("1.0 in [1]", "refused 1:5: found no matching overload for '@in' applied to '(double, list(int))'"),
    ("1 in [1.0, 2.0]", "refused 1:3: found no matching overload for '@in' applied to '(int, list(double))'"),
    ("'a' in {'a': 1}", "true"),
    ("1 in {1.0: 'x'}", "refused 1:3: found no matching overload for '@in' applied to '(int, map(double, string))'"),
    ("{1: 'a'}[1u]", "refused 1:9: found no matching overload for '_[_]' applied to '(map(int, string), uint)'"),
    ("{1: 'a'}[1.0]", "refused 1:9: found no matching overload for '_[_]' applied to '(map(int, string), double)'"),
    ("{1u:'a'}[1]", "refused 1:9: found no matching overload for '_[_]' applied to '(map(uint, string), int)'"),
    ("[1,2,3][1u]", "refused 1:8: found no matching overload for '_[_]' applied to '(list(int), uint)'"),
    ("[1,2,3][1.0]", "refused 1:8: found no matching overload for '_[_]' applied to '(list(int), double)'"),
    ("[1,2,3][dyn(1.5)]", "error: unsupported index value 1.5 in list"),
    ("[1,2,3][dyn('a')]", "error: unsupported index type 'string' in list"),
    ("dyn(1) == dyn('1')", "false"),
    ("null == null", "true"),
    ("dyn(null) == dyn(1)", "false"),
    ("[1,2] == [1,2]", "true"),
    ("[1] == dyn([1.0])", "true"),
    ("{'a':1} == {'a':1}", "true"),
    ("{'a':1} == dyn({'a':1.0})", "true"),
    ("[[1]] == [[1]]", "true"),
    ("b'a' == b'a'", "true"),
    ("timestamp(0) == timestamp('1970-01-01T00:00:00Z')", "true"),
    ("duration('60s') == duration('1m')", "true"),
    ("'a' == 'b'", "false"),
    ("true == true", "true"),
    ("quantity('1k') == quantity('1000')", "true"),
    ("ip('::1') == ip('0:0::1')", "true"),
    ("url('/a') == url('/a')", "true"),
    ("semver('1.0.0+a') == semver('1.0.0+b')", "true"),
    ("format.uri() == format.uri()", "true"),
    ("quantity('1') == null", "false"),
    ("timestamp(0) == null", "false"),
    ("[1] == null", "refused 1:5: found no matching overload for '_==_' applied to '(list(int), null)'"),
    ("1 == null", "refused 1:3: found no matching overload for '_==_' applied to '(int, null)'"),
    ("'a' == null", "refused 1:5: found no matching overload for '_==_' applied to '(string, null)'"),
    ("optional.of(1) == optional.of(1)", "true"),
    ("optional.of(1) == optional.none()", "false"),
    ("type(1) == type(2)", "true"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_equality_as_the_real_server_has_them(outcome_of: Callable[[str], str], expression: str, expected: str) -> None:
    assert outcome_of(expression) == expected
