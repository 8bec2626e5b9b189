from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("[1,2,3].isSorted()", "true"),
    ("[3,1].isSorted()", "false"),
    ("[].isSorted()", "true"),
    ("['b','a'].isSorted()", "false"),
    ("[1,2].sum()", "3"),
    ("[1.5,2.5].sum()", "4 (double)"),
    ("[duration('1s'),duration('2s')].sum()", "duration 3s"),
    ("[].sum()", "0"),
    ("[1u,2u].sum()", "3u"),
    ("['a'].sum()", "refused 1:10: found no matching overload for 'sum' applied to 'list(string).()'"),
    ("[1,3,2].max()", "3"),
    ("[].max()", "error: max called on empty list"),
    ("[].min()", "error: min called on empty list"),
    ("['b','a'].min()", "'a'"),
    ("[1,2,1].indexOf(1)", "0"),
    ("[1,2,1].lastIndexOf(1)", "2"),
    ("[1,2].indexOf(5)", "-1"),
    ("[1,2,3,4].slice(1,3)", "[2, 3]"),
    ("[1,2].slice(1,5)", "error: cannot slice(1, 5), list is length 2"),
    ("[1,2].slice(-1,1)", "error: cannot slice(-1, 1), negative indexes not supported"),
    ("[1,2].slice(2,1)", "error: cannot slice(2, 1), start index must be less than or equal to end index"),
    (
        "[[1,[2]],[3]].flatten()",
        "refused 1:5: expected type 'int' but found 'list(int)'; 1:10: expected type 'list(dyn)' but found 'list(int)'",
    ),
    (
        "[[1,[2]],[3]].flatten(2)",
        "refused 1:5: expected type 'int' but found 'list(int)'; 1:10: expected type 'list(dyn)' but found 'list(int)'",
    ),
    ("[1,2].flatten()", "refused 1:14: found no matching overload for 'flatten' applied to 'list(int).()'"),
    ("[1].flatten(-1)", "error: level must be non-negative"),
    ("[3,1,2].sort()", "[1, 2, 3]"),
    ("['b','a'].sort()", "['a', 'b']"),
    ("[1,'a'].sort()", "refused 1:4: expected type 'int' but found 'string'"),
    ("dyn([1,'a']).sort()", "refused 1:8: expected type 'int' but found 'string'"),
    ("dyn([[1],[2]]).sort()", "error: list elements must be comparable"),
    ("[{'a':2},{'a':1}].sortBy(x, x.a)", "[{'a': 1}, {'a': 2}]"),
    (
        "'a'.sortBy(x, x)",
        "refused 1:1: sortBy can only be applied to a list, identifier, comprehension, call or select expression",
    ),
    ("lists.range(5)", "[0, 1, 2, 3, 4]"),
    ("lists.range(0)", "[]"),
    ("lists.range(-1)", "[]"),
    ("[1,2,3].reverse()", "[3, 2, 1]"),
    ("'abc'.reverse()", "refused 1:14: found no matching overload for 'reverse' applied to 'string.()'"),
    ("[1,1,2,1.0].distinct()", "refused 1:8: expected type 'int' but found 'double'"),
    ("[1,1,2].distinct()", "[1, 2]"),
    ("['a','a'].distinct()", "['a']"),
    ("[[1],[1]].distinct()", "[[1]]"),
    ("[].distinct()", "[]"),
    ("sets.contains([1,2],[1])", "true"),
    ("sets.contains([1],[1,2])", "false"),
    ("sets.equivalent([1,2],[2,1,1])", "true"),
    ("sets.intersects([1],[2])", "false"),
    (
        "sets.contains([1],['a'])",
        "refused 1:14: found no matching overload for 'sets.contains' applied to '(list(int), list(string))'",
    ),
    ("sets.contains([],[])", "true"),
    ("dyn([true, 1]).isSorted()", "refused 1:12: expected type 'bool' but found 'int'"),
    ("dyn(['a',1]).max()", "refused 1:10: expected type 'string' but found 'int'"),
    ("dyn([1,'a']).sum()", "refused 1:8: expected type 'int' but found 'string'"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_lists_and_sets_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
