from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("'%f'.format([1234567.891])", "'1,234,567.891000'"),
    ("'%.2f'.format([0.5])", "'0.50'"),
    ("'%.0f'.format([2.5])", "'2'"),
    ("'%e'.format([1234.5])", "'1.234500×10⁰³'"),
    ("'%.3e'.format([0.000123])", "'1.230000×10⁻⁰⁴'"),
    ("'%f'.format(['NaN'])", "'NaN'"),
    ("'%f'.format(['Infinity'])", "'∞'"),
    ("'%e'.format(['-Infinity'])", "'    -∞'"),
    ("'%d %s %b %x %X %o'.format([1,'a',5,255,'hi',8])", "'1 a 101 ff 6869 10'"),
    (
        "'%s'.format([[1,'a',2.5,null,{'a':1},b'x',timestamp(0),duration('1s'),type(1),true]])",
        '\'[1, "a", 2.500000, null, {"a":1}, b"x", timestamp("1970-01-01T00:00:00Z"), duration("1s"), int, true]\'',
    ),
    ("'%s'.format([{'b':1,'a':[1]}])", '\'{"a":[1], "b":1}\''),
    ("'%s'.format([1.0])", "'1'"),
    (
        "'%d'.format([1.0])",
        "refused 1:14: error during formatting: decimal clause can only be used on integers, was given double",
    ),
    ("'%z'.format([1])", 'refused 1:12: could not parse formatting clause: unrecognized formatting clause "z"'),
    ("'%'.format([1])", "refused 1:11: unexpected end of string"),
    ("'%d %d'.format([1])", "refused 1:15: index 1 out of range"),
    ("'%d'.format([1,2])", "refused 1:12: too many arguments supplied to string.format (expected 1, got 2)"),
    (
        "'%.f'.format([1.0])",
        "refused 1:13: could not parse formatting clause: error while parsing precision: error while "
        'converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
    ),
    (
        "'%.2'.format([1.0])",
        "refused 1:13: could not parse formatting clause: error while parsing precision: could not find end "
        "of precision specifier",
    ),
    ("'%x'.format([-255])", "'-ff'"),
    ("'%b'.format([true])", "'1'"),
    (
        "'%b'.format(['a'])",
        "refused 1:14: error during formatting: only integers and bools can be formatted as binary, was given string",
    ),
    (
        "'%o'.format(['a'])",
        "refused 1:14: error during formatting: octal clause can only be used on integers, was given string",
    ),
    (
        "'%x'.format([1.0])",
        "refused 1:14: error during formatting: only integers, byte buffers, and strings can be formatted as "
        "hex, was given double",
    ),
    (
        "'%e'.format([1])",
        "refused 1:14: error during formatting: scientific clause can only be used on doubles, was given int",
    ),
    (
        "'%f'.format([1])",
        "refused 1:14: error during formatting: fixed-point clause can only be used on doubles, was given int",
    ),
    (
        "'%s'.format([optional.of(1)])",
        "refused 1:25: error during formatting: string clause can only be used on strings, bools, bytes, "
        "ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type",
    ),
    (
        "'%s'.format([[quantity('1')]])",
        "refused 1:23: error during formatting: string clause can only be used on strings, bools, bytes, "
        "ints, doubles, maps, lists, types, durations, and timestamps, was given kubernetes.Quantity",
    ),
    ("'%%'.format([])", "'%'"),
    (
        "'%s'.format([b'\\xff'])",
        'error: error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert '
        'to string" to string',
    ),
    (
        "'%d'.format([dyn('a')])",
        "error: error during formatting: decimal clause can only be used on integers, was given string",
    ),
    ("'%d %s'.format(dyn([1]))", "error: index 1 out of range"),
    (
        "'%.3f'.format([dyn(1)])",
        "error: error during formatting: fixed-point clause can only be used on doubles, was given int",
    ),
]


@subtest_cases(("expression", "expected"), CASES)
def test_formatting_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
