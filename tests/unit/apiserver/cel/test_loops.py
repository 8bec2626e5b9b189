from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("[1,2,3].all(x, x == 1)", "false"),
    ("[1,2,3].exists(x, x == 1)", "true"),
    ("[1,2,3].exists_one(x, x == 1)", "true"),
    ("[1,2,3].map(x, x)", "[1, 2, 3]"),
    ("[1,2,3].map(x, x == x, x)", "[1, 2, 3]"),
    ("[1,2,3].filter(x, x == 1)", "[1]"),
    ("[1,2,3].all(i, v, i == v)", "false"),
    ("[1,2,3].exists(i, v, v == 1)", "true"),
    ("[1,2,3].existsOne(i, v, v == 1)", "true"),
    ("[1,2,3].transformList(i, v, v)", "[1, 2, 3]"),
    ("[1,2,3].transformList(i, v, i != i, v)", "[]"),
    ("[1,2,3].transformMap(k, v, v)", "{0: 1, 1: 2, 2: 3}"),
    ("[1,2,3].transformMapEntry(k, v, {v: k})", "{1: 0, 2: 1, 3: 2}"),
    ("[1,2,3].all(x, 1/0 == x)", "error: division by zero"),
    ("[1,2,3].exists(x, x == 1 || 1/0 == 1)", "true"),
    ("[1,2,3].filter(x, 1/0 > 0)", "error: division by zero"),
    ("[1,2,3].map(x, 1/0)", "error: division by zero"),
    ("[1,2,3].all(x, x)", "refused 1:16: expected type 'bool' but found 'int'"),
    ("[1,2,3].exists_one(x, x)", "refused 1:19: found no matching overload for '_?_:_' applied to '(int, int, int)'"),
    (
        "[1,2,3].filter(x, 1)",
        "refused 1:15: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'",
    ),
    ("[1,2,3].transformMapEntry(k, v, {'same': v})", "error: insert failed: key same already exists"),
    (
        "[1,2,3].existsOne(x, x == 1)",
        "refused 1:18: undeclared reference to 'existsOne' (in container ''); 1:19: undeclared reference to "
        "'x' (in container ''); 1:22: undeclared reference to 'x' (in container '')",
    ),
    ("{'a':1}.all(x, x == 1)", "refused 1:18: found no matching overload for '_==_' applied to '(string, int)'"),
    ("{'a':1}.exists(x, x == 1)", "refused 1:21: found no matching overload for '_==_' applied to '(string, int)'"),
    ("{'a':1}.exists_one(x, x == 1)", "refused 1:25: found no matching overload for '_==_' applied to '(string, int)'"),
    ("{'a':1}.map(x, x)", "['a']"),
    ("{'a':1}.map(x, x == x, x)", "['a']"),
    ("{'a':1}.filter(x, x == 1)", "refused 1:21: found no matching overload for '_==_' applied to '(string, int)'"),
    ("{'a':1}.all(i, v, i == v)", "refused 1:21: found no matching overload for '_==_' applied to '(string, int)'"),
    ("{'a':1}.exists(i, v, v == 1)", "true"),
    ("{'a':1}.existsOne(i, v, v == 1)", "true"),
    ("{'a':1}.transformList(i, v, v)", "[1]"),
    ("{'a':1}.transformList(i, v, i != i, v)", "[]"),
    ("{'a':1}.transformMap(k, v, v)", "{'a': 1}"),
    ("{'a':1}.transformMapEntry(k, v, {v: k})", "{1: 'a'}"),
    ("{'a':1}.all(x, 1/0 == x)", "refused 1:20: found no matching overload for '_==_' applied to '(int, string)'"),
    (
        "{'a':1}.exists(x, x == 1 || 1/0 == 1)",
        "refused 1:21: found no matching overload for '_==_' applied to '(string, int)'",
    ),
    ("{'a':1}.filter(x, 1/0 > 0)", "error: division by zero"),
    ("{'a':1}.map(x, 1/0)", "error: division by zero"),
    ("{'a':1}.all(x, x)", "refused 1:16: expected type 'bool' but found 'string'"),
    (
        "{'a':1}.exists_one(x, x)",
        "refused 1:19: found no matching overload for '_?_:_' applied to '(string, int, int)'",
    ),
    (
        "{'a':1}.filter(x, 1)",
        "refused 1:15: found no matching overload for '_?_:_' applied to '(int, list(string), list(string))'",
    ),
    ("{'a':1}.transformMapEntry(k, v, {'same': v})", "{'same': 1}"),
    (
        "{'a':1}.existsOne(x, x == 1)",
        "refused 1:18: undeclared reference to 'existsOne' (in container ''); 1:19: undeclared reference to "
        "'x' (in container ''); 1:22: undeclared reference to 'x' (in container '')",
    ),
    ("dyn([1,'a']).all(x, x == 1)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).exists(x, x == 1)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).exists_one(x, x == 1)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).map(x, x)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).map(x, x == x, x)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).filter(x, x == 1)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).all(i, v, i == v)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).exists(i, v, v == 1)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).existsOne(i, v, v == 1)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).transformList(i, v, v)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).transformList(i, v, i != i, v)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).transformMap(k, v, v)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).transformMapEntry(k, v, {v: k})", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).all(x, 1/0 == x)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).exists(x, x == 1 || 1/0 == 1)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).filter(x, 1/0 > 0)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).map(x, 1/0)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).all(x, x)", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).exists_one(x, x)", "refused 1:8: expected type 'int' but found 'string'"),
    (
        "dyn([1,'a']).filter(x, 1)",
        "refused 1:20: found no matching overload for '_?_:_' applied to '(int, list(dyn), list(dyn))'",
    ),
    ("dyn([1,'a']).transformMapEntry(k, v, {'same': v})", "refused 1:8: expected type 'int' but found 'string'"),
    (
        "dyn([1,'a']).existsOne(x, x == 1)",
        "refused 1:23: undeclared reference to 'existsOne' (in container ''); 1:24: undeclared reference to "
        "'x' (in container ''); 1:27: undeclared reference to 'x' (in container '')",
    ),
    ("[].all(x, x > 0)", "true"),
    ("[].exists(x, x > 0)", "false"),
    ("dyn('abc').all(x, true)", "error: got 'types.String', expected iterable type"),
    (
        "1.all(x, true)",
        "refused 1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ),
    ("[1].all(x, y)", "refused 1:12: undeclared reference to 'y' (in container '')"),
    ("[1].all(x.y, true)", "refused 1:10: argument must be a simple name"),
    ("[1].map(1, 2)", "refused 1:9: argument is not an identifier"),
    ("[1].all(__result__, true)", "refused 1:9: iteration variable overwrites accumulator variable"),
    ("[1,2].all(i, i, true)", "refused 1:14: duplicate variable name: i"),
    ("[1].map(x, [2].map(y, x + y))", "[[3]]"),
    ("[1, 0].all(x, 1/x > 5)", "false"),
    ("[0, 1].exists(x, 1/x == 1)", "true"),
    ("[0, 1].exists_one(x, 1/x == 1)", "error: division by zero"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_comprehensions_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
