from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("{'a': 1, 'a': 2}", "{'a': 2}"),
    ("{1: 2}.size()", "1"),
    ("size({})", "0"),
    ("size([1])", "1"),
    ("'a' in 'abc'", "refused 1:5: found no matching overload for '@in' applied to '(string, string)'"),
    ("1 in 'abc'", "refused 1:3: found no matching overload for '@in' applied to '(int, string)'"),
    ("has('a')", "refused 1:5: invalid argument to has() macro"),
    ("has(a.b)", "refused 1:5: undeclared reference to 'a' (in container '')"),
    ("[1,2,3].all(x, x > 0) && [1].exists(y, y == 1)", "true"),
    ("[1].map(x, [2].map(y, x + y))", "[[3]]"),
    (
        "[1,2].map(x, x, x)",
        "refused 1:10: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'",
    ),
    ("[1].all(__result__, true)", "refused 1:9: iteration variable overwrites accumulator variable"),
    ("[1].exists(1, true)", "refused 1:12: argument must be a simple name"),
    ("[1,2].all(i, i, true)", "refused 1:14: duplicate variable name: i"),
    (
        "[1].optMap(x, x)",
        "refused 1:11: found no matching overload for 'hasValue' applied to 'list(int).()'; 1:11: found no "
        "matching overload for 'value' applied to 'list(int).()'",
    ),
    ("optional.of(1).optMap(1, 2)", "refused 1:23: optMap() variable name must be a simple identifier"),
    ("a.b.c", "refused 1:1: undeclared reference to 'a' (in container '')"),
    ("a()", "refused 1:2: undeclared reference to 'a' (in container '')"),
    (
        "a.b()",
        "refused 1:1: undeclared reference to 'a' (in container ''); 1:4: undeclared reference to 'b' (in "
        "container '')",
    ),
    (
        "foo.bar.baz(1)",
        "refused 1:1: undeclared reference to 'foo' (in container ''); 1:12: undeclared reference to 'baz' "
        "(in container '')",
    ),
    (
        "optional.foo()",
        "refused 1:1: undeclared reference to 'optional' (in container ''); 1:13: undeclared reference to "
        "'foo' (in container '')",
    ),
    ("size()", "refused 1:5: found no matching overload for 'size' applied to '()'"),
    ("size(1)", "refused 1:5: found no matching overload for 'size' applied to '(int)'"),
    ("size('a','b')", "refused 1:5: found no matching overload for 'size' applied to '(string, string)'"),
    ("'a'.size('b')", "refused 1:9: found no matching overload for 'size' applied to 'string.(string)'"),
    ("'a'.contains()", "refused 1:13: found no matching overload for 'contains' applied to 'string.()'"),
    (
        "'a'.contains('b','c')",
        "refused 1:13: found no matching overload for 'contains' applied to 'string.(string, string)'",
    ),
    ("'a'.contains(1)", "refused 1:13: found no matching overload for 'contains' applied to 'string.(int)'"),
    ("1.size()", "refused 1:7: found no matching overload for 'size' applied to 'int.()'"),
    ("null.foo", "refused 1:5: type 'null' does not support field selection"),
    ("1.foo", "refused 1:2: type 'int' does not support field selection"),
    ("'a'.foo", "refused 1:4: type 'string' does not support field selection"),
    ("[1].foo", "refused 1:4: type 'list(int)' does not support field selection"),
    ("[1]['a']", "refused 1:4: found no matching overload for '_[_]' applied to '(list(int), string)'"),
    ("{'a':1}[1]", "refused 1:8: found no matching overload for '_[_]' applied to '(map(string, int), int)'"),
    ("{'a':1}['a']", "1"),
    ("{'a':1}.b", "error: no such key: b"),
    ("[1,2][5]", "error: index out of bounds: 5"),
    ("[1,2][-1]", "error: index out of bounds: -1"),
    ("'a'[0]", "refused 1:4: found no matching overload for '_[_]' applied to '(string, int)'"),
    ("1[0]", "refused 1:2: found no matching overload for '_[_]' applied to '(int, int)'"),
    ("timestamp(0).foo", "refused 1:13: type 'timestamp' does not support field selection"),
    ("quantity('1').foo", "refused 1:14: unexpected failed resolution of 'kubernetes.Quantity'"),
    ("has(quantity('1').foo)", "refused 1:4: unexpected failed resolution of 'kubernetes.Quantity'"),
    ("dyn(quantity('1')).foo", "error: no such key: foo"),
    ("url('/').foo", "refused 1:9: unexpected failed resolution of 'kubernetes.URL'"),
    ("ip('1.1.1.1').foo", "refused 1:14: type 'net.IP' does not support field selection"),
    ("foo{}", "refused 1:4: undeclared reference to 'foo' (in container '')"),
    ("int{}", "refused 1:4: 'int' is not a message type"),
    ("Foo{a:1}", "refused 1:4: undeclared reference to 'Foo' (in container '')"),
    ("string{}", "refused 1:7: 'string' is not a message type"),
    ("self", "refused 1:1: undeclared reference to 'self' (in container '')"),
    ("oldSelf", "refused 1:1: undeclared reference to 'oldSelf' (in container '')"),
    (
        "true.all(x, x)",
        "refused 1:1: expression of type 'bool' cannot be range of a comprehension (must be list, map, or dynamic)",
    ),
    ("1 ? 2 : 3", "refused 1:3: found no matching overload for '_?_:_' applied to '(int, int, int)'"),
    ("true ? 1 : 'a'", "refused 1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
    ("true ? [] : [1]", "[]"),
    ("true ? null : timestamp(0)", "null"),
    ("true ? null : 1", "refused 1:6: found no matching overload for '_?_:_' applied to '(bool, null, int)'"),
    ("[1, 2, 3].filter(x, x > 1).map(x, x * 2).exists(x, x == 6)", "true"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_checking_as_the_real_server_has_them(outcome_of: Callable[[str], str], expression: str, expected: str) -> None:
    assert outcome_of(expression) == expected
