"""YAML bodies become the JSON values that Go's reader of YAML 1.1 makes of them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.meta import yamltext
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.jsontext import MAX_DEPTH
from nagaya.apiserver.meta.yamltext import YamlError
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("scalar", "value"),
    [
        ("yes", True),
        ("y", True),
        ("Off", False),
        ("~", None),
        ("", None),
        ("'yes'", "yes"),
        ('"1"', "1"),
        ("12", 12),
        ("0777", 511),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b101", -5),
        ("1_000", 1000),
        ("08", 8),
        ("1.0", 1),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("18446744073709551615", 2**64 - 1),
        ("!!str 5", "5"),
        ("!!int 5", 5),
        ("!!float 2", 2),
        ("!!binary aGk=", "hi"),
        ("!custom x", "x"),
        ("1e400", "1e400"),
        ("0xg", "0xg"),
    ],
)
def test_scalars_mean_what_they_mean_to_go(scalar: str, value: Any) -> None:
    assert yamltext.parse(f"a: {scalar}\n".encode()) == ({"a": value}, [])


@pytest.mark.parametrize(
    ("key", "text"), [("1", "1"), ("true", "true"), ("n", "false"), ("1.5", "1.5"), ("1e6", "1e+06"), (".inf", ".inf")]
)
def test_keys_become_texts(key: str, text: str) -> None:
    assert yamltext.parse(f"{key}: x\n".encode())[0] == {text: "x"}


def test_an_empty_body_is_nothing() -> None:
    assert yamltext.parse(b"") == (None, [])
    assert yamltext.parse(b"# a remark\n") == (None, [])


def test_only_the_first_document_counts() -> None:
    assert yamltext.parse(b"a: 1\n---\n{bad\n") == ({"a": 1}, [])


def test_json_is_read_as_yaml_would() -> None:
    assert yamltext.parse(b'{"a":1.0,"b":[2.50,{"c":3.0}]}') == ({"a": 1, "b": [2.5, {"c": 3}]}, [])


def test_keys_given_twice_are_told_with_their_lines_and_the_last_counts() -> None:
    value, findings = yamltext.parse(b"a: 1\na: 2\nb: {c: 1, c: 2}\n")
    assert value == {"a": 2, "b": {"c": 2}}
    assert findings == [
        'yaml: unmarshal errors:\n  line 2: key "a" already set in map\n  line 3: key "c" already set in map'
    ]


def test_keys_given_twice_in_json_are_told_the_same_way() -> None:
    assert yamltext.parse(b'{"a":1,"a":2}')[1] == ['yaml: unmarshal errors:\n  line 1: key "a" already set in map']


def test_aliases_and_merges_are_followed() -> None:
    body = b"base: &b {x: 1, w: 1}\none: *b\ntwo:\n  <<: *b\n  z: 2\nthree:\n  <<: [{x: 3}, *b]\n"
    assert yamltext.parse(body)[0] == {
        "base": {"x": 1, "w": 1},
        "one": {"x": 1, "w": 1},
        "two": {"x": 1, "w": 1, "z": 2},
        "three": {"x": 3, "w": 1},
    }


@subtest_cases(
    ("body", "problem"),
    [
        ("kind: X\nmetadata: {name: a\ndata: {a: 1}\n", "yaml: line 2: did not find expected ',' or '}'"),
        ("a: b: c\n", "yaml: mapping values are not allowed in this context"),
        ("a:\n\tb\n", "yaml: line 2: found character that cannot start any token"),
        ("a: *nobody\n", "yaml: unknown anchor 'nobody' referenced"),
        ("a: &x [*x]\n", "yaml: anchor 'x' value contains itself"),
        ("<<: 5\n", "yaml: map merge requires map or sequence of maps as the value"),
        ("a: !!int x\n", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: !!binary '*'\n", "yaml: !!binary value contains invalid base64 data"),
        ("a: .nan\n", "json: unsupported value: NaN"),
        ("~: 1\n", "unsupported map key of type: %!s(<nil>), key: <nil>"),
        ("? [a]\n: b\n", "yaml: invalid map key: a map or a list"),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_gos_reader(body: str, problem: str) -> None:
    with pytest.raises(DecodeError) as caught:
        yamltext.parse(body.encode())
    assert str(caught.value) == problem


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(YamlError, match="invalid leading UTF-8 octet"):
        yamltext.parse(b"a: \xff\n")


def test_aliases_cannot_make_a_small_body_enormous() -> None:
    levels = [b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    levels += [b"a%d: &a%d [%s]" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12)]
    long_text = b"a: &a " + b"x" * 100_000 + b"\nb: [" + b",".join([b"*a"] * 1000) + b"]"
    for body in (b"\n".join(levels), long_text):
        with pytest.raises(YamlError, match="document contains excessive aliasing"):
            yamltext.parse(body)


def test_nesting_is_bounded() -> None:
    with pytest.raises(YamlError, match=f"exceeded max depth of {MAX_DEPTH}"):
        yamltext.parse(b"[" * 100_000)
    with pytest.raises(YamlError, match=f"exceeded max depth of {MAX_DEPTH}"):
        yamltext.parse(b"".join(b" " * depth + b"a:\n" for depth in range(MAX_DEPTH + 5)))


def test_the_number_of_values_is_bounded() -> None:
    with pytest.raises(YamlError, match="document has too many values"):
        yamltext.parse(b"[" + b"1," * 420_000 + b"1]")


words = st.text(alphabet=" abxyn0123456789:-{}[],&*!\"'\n#|>%@`?.<~", max_size=40)


@given(words.map(str.encode) | st.binary(max_size=30))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(DecodeError):
        value, _ = yamltext.parse(body)
        assert json.dumps(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(alphabet=st.characters(codec="ascii")),
        lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text("abc"), children, max_size=3),
        max_leaves=10,
    )
)
def test_json_values_keep_their_meaning(value: Any) -> None:
    assert yamltext.parse(json.dumps(value, indent=1).encode())[0] == value
