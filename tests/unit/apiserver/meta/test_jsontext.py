"""JSON bodies are read as Go reads them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.meta import jsonscan, jsontext
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.jsontext import JsonError
from support.subtest_cases import subtest_cases

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, width=32) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
).filter(lambda value: not _has_infinity(value))


def _has_infinity(value: Any) -> bool:
    return "Infinity" in json.dumps(value)


@given(values, st.sampled_from([None, 1]))
def test_what_is_written_is_read_back_without_findings(value: Any, indent: int | None) -> None:
    body = json.dumps(value, indent=indent, separators=(",", ":") if indent is None else (" ,", " : "))
    assert jsontext.parse(body.encode()) == (value, [])


@subtest_cases(
    ("body", "findings"),
    [
        ('{"a":1,"a":2}', ['duplicate field "a"']),
        ('{"spec":{"a":1,"a":2}}', ['duplicate field "spec.a"']),
        ('{"l":[{},{"x":1,"x":1,"x":2}]}', ['duplicate field "l[1].x"']),
        ('{"a":1,"b":{"c":1,"c":2},"a":3}', ['duplicate field "b.c"', 'duplicate field "a"']),
        ('{"a" :1,"b":2,"b":3}', ['duplicate field "b"']),
        ('{"a\\u0062":1,"ab":2}', ['duplicate field "ab"']),
        ('{"":{"x":1,"x":2}}', ['duplicate field ".x"']),
        ('{"a\\"":1,"a\\"":2}', ['duplicate field "a\\""']),
    ],
)
def test_keys_given_twice_are_found_with_their_path(body: str, findings: list[str]) -> None:
    assert jsontext.parse(body.encode())[1] == findings


def test_the_last_of_two_members_counts() -> None:
    assert jsontext.parse(b'{"a":1,"a":2}')[0] == {"a": 2}


def test_a_text_that_looks_like_a_key_is_no_second_key() -> None:
    assert jsontext.parse(b'{"a":"\\"a\\":1","b":":"}') == ({"a": '"a":1', "b": ":"}, [])


def test_at_most_a_hundred_findings_are_told() -> None:
    body = "{" + ",".join(f'"k{index}":1,"k{index}":2' for index in range(150)) + "}"
    assert len(jsontext.parse(body.encode())[1]) == 100


@subtest_cases(
    ("body", "problem"),
    [
        (b"{bad", "invalid character 'b' looking for beginning of object key string"),
        (b"", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b'"abc', "unexpected end of JSON input"),
        (b'{"a":1} x', "invalid character 'x' after top-level value"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        (b"tru", "invalid character ' ' in literal true (expecting 'e')"),
        (b"nul}", "invalid character '}' in literal null (expecting 'l')"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1e+}", "invalid character '}' in exponent of numeric literal"),
        (b"01", "invalid character '1' after top-level value"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12x4"', "invalid character 'x' in \\u hexadecimal character escape"),
        (b'"\x01"', "invalid character '\\x01' in string literal"),
        (b"\xef\xbb\xbf{}", "invalid character '\u00ef' looking for beginning of value"),
        (b'{"a":1e999}', "json: cannot unmarshal number 1e999 into Go value of type float64"),
    ],
)
def test_a_malformed_body_is_refused_in_gos_words(body: bytes, problem: str) -> None:
    with pytest.raises(JsonError) as caught:
        jsontext.parse(body)
    assert str(caught.value) == problem


def test_bytes_that_are_not_utf8_are_replaced_one_by_one() -> None:
    assert jsontext.parse(b'{"a":"\xff\xe2\x82x"}') == ({"a": "\ufffd\ufffd\ufffdx"}, [])


def test_lone_surrogates_are_replaced_and_pairs_are_joined() -> None:
    assert jsontext.parse(rb'["\ud800x","\ud83d\ude00","\\ud800"]')[0] == ["\ufffdx", "\U0001f600", "\\ud800"]


def test_numbers_beyond_64_bits_become_floats() -> None:
    assert jsontext.parse(b'{"a":123456789012345678901234567890}')[0] == {"a": 1.2345678901234568e29}
    assert jsontext.parse(b"9223372036854775807")[0] == 2**63 - 1


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_is_bounded(opening: bytes, closing: bytes) -> None:
    deepest = opening * jsontext.MAX_DEPTH + b"1" + closing * jsontext.MAX_DEPTH
    assert jsontext.parse(deepest)[1] == []
    for depth in (jsontext.MAX_DEPTH + 1, 1500, 20_000):
        with pytest.raises(JsonError, match="exceeded max depth"):
            jsontext.parse(opening * depth + b"1" + closing * depth)


def test_enormous_malformed_bodies_are_refused_quickly() -> None:
    for body in (b"[" * 3_000_000, b"[" + b"1," * 300_000):
        with pytest.raises(JsonError, match="the body is"):
            jsontext.parse(body)


def test_scanned_numbers_remember_how_they_were_written() -> None:
    (_, number), *_ = jsonscan.scan(b'{"a":1.50}')
    assert number == 1.5
    assert number.text == "1.50"


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:\\u01e.-tfn \n', max_size=30).map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(DecodeError):
        value, findings = jsontext.parse(body)
        assert json.dumps(value)
        assert all(finding.startswith("duplicate field ") for finding in findings)
