from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("optional.of(1).optMap(x, x+1)", "optional(2)"),
    ("optional.none().optMap(x, x+1)", "none"),
    ("optional.of(1).optFlatMap(x, optional.of(x))", "optional(1)"),
    ("optional.of({'a':{'b':1}}).a.b", "optional(1)"),
    ("{'a':{'b':1}}.?a.b", "optional(1)"),
    ("{'a':{'b':1}}.?a.?c.orValue(3)", "3"),
    ("{'a':{}}.?a.b.orValue(3)", "3"),
    ("[1,2][?5].orValue(0)", "0"),
    ("[1,2][?0].value()", "1"),
    ("has({'a':1}.a)", "true"),
    ("has({'a':1}.b)", "false"),
    ("has({'a':{'b':1}}.a.b)", "true"),
    ("has(optional.of({'a':1}).a)", "true"),
    ("{?'a': optional.none(), 'b': 1}", "{'b': 1}"),
    ("[?optional.of(1), 2]", "[1, 2]"),
    ("optional.of(1).or(optional.of(2))", "optional(1)"),
    ("optional.none().or(optional.of(2)).value()", "2"),
    ("optional.none().value()", "error: optional.none() dereference"),
    ("optional.ofNonZeroValue(0).hasValue()", "false"),
    ("optional.ofNonZeroValue('x')", "optional('x')"),
    ("optional.unwrap([optional.of(1), optional.none()])", "[1]"),
    ("[optional.of(1), optional.none()].unwrapOpt()", "[1]"),
    ("type(optional.of(1)) == optional_type", "true"),
    ("type([]) == list", "true"),
    ("type({}) == map", "true"),
    ("type(null) == null_type", "true"),
    ("type(1u) == uint", "true"),
    ("type(ip('1.1.1.1')) == net.IP", "true"),
    ("type(timestamp(0)) == google.protobuf.Timestamp", "true"),
    ("type(type) == type", "true"),
    ("int", "type int"),
    ("type(string)", "type type"),
    ("[int, string]", "refused 1:7: expected type 'type(int)' but found 'type(string)'"),
    ("type(quantity('1'))", "type kubernetes.Quantity"),
    ("type(url('/a'))", "type kubernetes.URL"),
    ("type(semver('1.2.3'))", "type kubernetes.Semver"),
    ("type(cidr('1.0.0.0/8')) == net.CIDR", "true"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_values_that_may_be_absent_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
