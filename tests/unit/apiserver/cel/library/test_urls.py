from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("isURL('http://a b')", "false"),
    ("isURL('a')", "false"),
    ("isURL('')", "false"),
    ("isURL('/a')", "true"),
    (
        "url('http://a b')",
        'error: URL parse error during conversion from string: parse "http://a b": invalid character " " in host name',
    ),
    ("url('a b')", 'error: URL parse error during conversion from string: parse "a b": invalid URI for request'),
    (
        "url('http://[::1')",
        "error: URL parse error during conversion from string: parse \"http://[::1\": missing ']' in host",
    ),
    (
        "url('http://h:port')",
        'error: URL parse error during conversion from string: parse "http://h:port": invalid port ":port" after host',
    ),
    (
        "url('http://h/%zz')",
        'error: URL parse error during conversion from string: parse "http://h/%zz": invalid URL escape "%zz"',
    ),
    ("url('https://ex.com/a%2Fb').getEscapedPath()", "'/a%2Fb'"),
    ("url('https://ex.com/a b').getEscapedPath()", "'/a%20b'"),
    ("url('https://h?a=1&a=2&b&c=%20x+y&d;e=1').getQuery()", "{'a': ['1', '2'], 'b': [''], 'c': [' x y']}"),
    ("url('https://h').getQuery()", "{}"),
    ("url('http://h:8080/').getPort()", "'8080'"),
    ("url('http://[::1]:80').getHostname()", "'::1'"),
    ("url('http://[::1]:80').getHost()", "'[::1]:80'"),
    ("url('HTTP://H').getScheme()", "'http'"),
    ("url('mailto:a@b').getEscapedPath()", "''"),
    ("url('https://h/p?x#f').getEscapedPath()", "'/p'"),
    ("url('https://u:p@h:1/').getHost()", "'h:1'"),
    ("url('https://h/ü').getEscapedPath()", "'/%C3%BC'"),
    ("url('https://h:/').getPort()", "''"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_urls_as_the_real_server_has_them(outcome_of: Callable[[str], str], expression: str, expected: str) -> None:
    assert outcome_of(expression) == expected
