"""What is said of JSON that is none."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox.front.broken_json import complaint
from support.subtest_cases import subtest_cases

NOTHING = "malformed JSON string, neither tag, array, object, number, string or atom"


@subtest_cases(
    ("body", "why", "position", "before"),
    [
        (b"", NOTHING, 0, "(end of string)"),
        (b'{"memory":', NOTHING, 10, "(end of string)"),
        (b'{"memory":64', ", or } expected while parsing object/hash", 12, "(end of string)"),
        (b"{memory:64}", "'\"' expected", 1, "memory:64}"),
        (b'{"memory" 64}', "':' expected", 10, "64}"),
        (b'{"memory":64,}', "'\"' expected", 13, "}"),
        (b"[1 2]", ", or ] expected while parsing array", 3, "2]"),
        (b'{"a":1} x', "garbage after JSON object", 8, "x"),
        (b'"abc', "unexpected end of string while parsing JSON string", 4, "(end of string)"),
        (b'"a\\x"', "illegal backslash escape sequence in string", 2, '\\x"'),
        (b'"a\n"', "invalid character 0xA encountered while parsing JSON string", 2, '\n"'),
        (b'{"a":tru}', "'true' expected", 5, "tru}"),
        (b"01", "malformed number (leading zero must not be followed by another digit)", 1, "1"),
        (b"-", "malformed number (no digits after initial minus)", 1, "(end of string)"),
        (b"1.x", "malformed number (no digits after decimal point)", 2, "x"),
        (b"memory=64&balloon=32&cores=2", NOTHING, 0, "memory=64&balloon=32..."),
    ],
)
def test_the_first_thing_that_is_wrong_is_told_with_its_place(
    body: bytes, why: str, position: int, before: str
) -> None:
    assert complaint(body) == f'{why}, at character offset {position} (before "{before}")'


@given(st.binary(max_size=40) | st.text('{}[]",:0123.-etrufalsn\\ ', max_size=20).map(str.encode))
def test_whatever_cannot_be_read_gets_a_complaint(body: bytes) -> None:
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        assert ", at character offset " in complaint(body)
