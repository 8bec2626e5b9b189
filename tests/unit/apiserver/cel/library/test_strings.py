from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("strings.quote('a\\nb\"c')", '\'"a\\\\nb\\\\"c"\''),
    ("'a-b-c'.split('-', 2)", "['a', 'b-c']"),
    ("'abc'.split('')", "['a', 'b', 'c']"),
    ("'abc'.split('', 2)", "['a', 'bc']"),
    ("'abc'.split('', 0)", "[]"),
    ("'aaa'.replace('a','b',2)", "'bba'"),
    ("'aaa'.replace('','-')", "'-a-a-a-'"),
    ("'aaa'.replace('','-',2)", "'-a-aa'"),
    ("'tacocat'.indexOf('c', 3)", "4"),
    ("'tacocat'.lastIndexOf('c', 3)", "2"),
    ("'abc'.lastIndexOf('')", "3"),
    ("'abc'.indexOf('')", "0"),
    ("'abc'.indexOf('c', -1)", "error: index out of range: -1"),
    ("'abc'.indexOf('c', 10)", "-1"),
    ("'abc'.substring(1,5)", "error: index out of range: 5"),
    ("'abc'.substring(-1)", "error: index out of range: -1"),
    ("'abc'.substring(2,1)", "error: invalid substring range. start: 2, end: 1"),
    ("'abc'.charAt(3)", "''"),
    ("'abc'.charAt(4)", "error: index out of range: 4"),
    ("['a','b'].join()", "'ab'"),
    ("['a','b'].join('-')", "'a-b'"),
    ("[].join()", "''"),
    ("dyn(['a', 1]).join()", "refused 1:11: expected type 'string' but found 'int'"),
    ("'a1b22'.find('[0-9]+')", "'1'"),
    ("'a1b22'.findAll('[0-9]+')", "['1', '22']"),
    ("'a1b22'.findAll('[0-9]*')", "['', '1', '22']"),
    ("'a1b22'.findAll('[0-9]+', 1)", "['1']"),
    ("'abc'.findAll('')", "['', '', '', '']"),
    ("'aéb'.findAll('')", "['', '', '', '']"),
    ("'abc'.find('(')", "unplannable: error parsing regexp: missing closing ): `(`"),
    ("'abc'.find(dyn('('))", "unplannable: error parsing regexp: missing closing ): `(`"),
    ("'abc'.matches('^a.c$')", "true"),
    ("'abc'.matches('[')", "refused 1:15: invalid matches argument"),
    ("'abc'.matches('a' + '(')", "error: error parsing regexp: missing closing ): `a(`"),
    ("matches('abc', 'b')", "true"),
    ("matches('[', 'b')", "refused 1:9: invalid matches argument"),
    ("'foobar'.matches('(?i)FOO')", "true"),
    ("'a'.matches('\\\\pL')", "true"),
    ("'abc'.find('')", "''"),
    ("'a b'.matches('\\\\s')", "true"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_text_and_patterns_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
