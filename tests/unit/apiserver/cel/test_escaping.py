from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.cel.escaping import KEYWORDS, escape, unescape

PAIRS = [
    ("plain", "plain"),
    ("my-field", "my__dash__field"),
    ("a.b/c", "a__dot__b__slash__c"),
    ("a__b", "a__underscores__b"),
    ("namespace", "__namespace__"),
    ("in", "__in__"),
    ("_x", "_x"),
]


@pytest.mark.parametrize(("name", "escaped"), PAIRS)
def test_names_are_escaped_and_back(name: str, escaped: str) -> None:
    assert escape(name) == escaped
    assert unescape(escaped) == name


@pytest.mark.parametrize("name", ["", "9x", "a b", "é", "$x"])
def test_some_names_cannot_be_written(name: str) -> None:
    assert escape(name) is None


@pytest.mark.parametrize("name", ["__nope__", "a__namespace__"])
def test_some_escapes_mean_nothing(name: str) -> None:
    assert unescape(name) is None


@given(st.from_regex(re.compile(r"[a-zA-Z_.\-/][a-zA-Z0-9_.\-/]{0,12}"), fullmatch=True))
def test_what_can_be_escaped_is_an_identifier_that_leads_back(name: str) -> None:
    escaped = escape(name)
    assert escaped is not None
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", escaped)
    assert escaped not in KEYWORDS
    # Runs of underscores around an escape are read differently, in the real server as well.
    if "___" not in escaped and "_" not in name:
        assert unescape(escaped) == name
