from __future__ import annotations

import pytest

from nagaya.apiserver.crd import patterns
from support.subtest_cases import subtest_cases


def test_a_pattern_is_searched_for_anywhere() -> None:
    assert patterns.compiled("b+")("abc")
    assert not patterns.compiled("^b")("abc")
    assert patterns.compiled("^ü.$")("üé")
    assert not patterns.compiled("^a$")("a\n")


@subtest_cases(
    ("pattern", "problem"),
    [
        ("[a", "error parsing regexp: missing closing ]: `[a`"),
        ("(a", "error parsing regexp: missing closing ): `(a`"),
        ("a)", "error parsing regexp: unexpected ): `a)`"),
        ("a\\", "error parsing regexp: trailing backslash at end of expression: ``"),
        ("*a", "error parsing regexp: missing argument to repetition operator: `*`"),
        ("a{2000}", "error parsing regexp: invalid repeat count: `{2000}`"),
        ("a**", "error parsing regexp: invalid nested repetition operator: `**`"),
        ("(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ("\\q", "error parsing regexp: invalid escape sequence: `\\q`"),
    ],
)
def test_what_is_no_pattern_is_refused_in_gos_words(pattern: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        patterns.compiled(pattern)
    assert str(caught.value) == problem


@pytest.mark.timeout(20)
def test_no_pattern_takes_exponential_time() -> None:
    assert not patterns.compiled("^(a+)+$")("a" * 100_000 + "b")
