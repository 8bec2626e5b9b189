"""Whether values fit their type, and the words when they do not."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.apply.atoms import atom_of
from nagaya.apiserver.apply.validation import fits, message, problems
from nagaya.apiserver.schema.types import Field, List, ListKind, Map, Scalar, Struct, Untyped
from support.subtest_cases import subtest_cases

TEXT = Scalar("string")
PORT = Struct({"port": Field(Scalar("integer")), "protocol": Field(TEXT, default="TCP")})
ROOT = Struct(
    {
        "text": Field(TEXT),
        "number": Field(Scalar("number")),
        "flag": Field(Scalar("boolean")),
        "since": Field(Scalar("string", "date-time")),
        "either": Field(Scalar("int-or-string")),
        "map": Field(Map(TEXT)),
        "items": Field(List(Struct({"name": Field(TEXT)}), ListKind.MAP, ("name",))),
        "ports": Field(List(PORT, ListKind.MAP, ("port", "protocol"))),
        "tags": Field(List(TEXT, ListKind.SET)),
        "rows": Field(List(List(TEXT))),
        "open": Field(Struct({"known": Field(TEXT)}, preserve_unknown=True)),
        "any": Field(Untyped()),
    }
)
ATOM = atom_of(ROOT)


@subtest_cases(
    "value",
    [
        {"text": None, "map": None, "items": None, "tags": None, "any": None},
        {"number": 1, "flag": True, "since": "now", "either": 5},
        {"either": "5"},
        {"map": {"a": "b", "c": None}},
        {"ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}, {}]},
        {"rows": [["a"], [], None]},
        {"open": {"known": "x", "more": [1, {"a": 2}]}},
        {"any": [{"a": [1]}]},
    ],
)
def test_values_that_fit(value: dict[str, Any]) -> None:
    assert fits(ATOM, value, duplicates=False)
    assert problems(ATOM, value) == []


@subtest_cases(
    ("value", "text"),
    [
        ({"nope": 1}, ".nope: field not declared in schema"),
        ({"text": 5}, ".text: expected string, got &value.valueUnstructured{Value:5}"),
        ({"text": ["a"]}, '.text: expected string, got &value.valueUnstructured{Value:[]interface {}{"a"}}'),
        ({"number": "x"}, ".number: expected numeric (int or float), got string"),
        ({"number": True}, ".number: expected numeric (int or float), got bool"),
        ({"flag": 1}, ".flag: expected boolean, got &{1}"),
        ({"since": {"a": 1}}, ".since: expected any scalar, got &{map[a:1]}"),
        ({"map": ["x"]}, ".map: expected map, got &{[x]}"),
        ({"map": {"a": 1.5}}, ".map.a: expected string, got &value.valueUnstructured{Value:1.5}"),
        ({"items": "x"}, ".items: expected list, got &{x}"),
        (
            {"items": [{}]},
            ".items: element 0: associative list with keys has an element that omits all key fields "
            '["name"] (and doesn\'t have default values for any key fields)',
        ),
        ({"items": [None]}, ".items: element 0: associative list with keys may not have a null element"),
        ({"items": ["x"]}, ".items: element 0: associative list with keys may not have non-map elements"),
        ({"items": [{"name": "a"}, {"name": "a"}]}, '.items: duplicate entries for key [name="a"]'),
        ({"items": [{"name": "a", "x": 1}]}, '.items[name="a"].x: field not declared in schema'),
        (
            {"ports": [{"port": 3000000}, {"port": 3000000, "protocol": "TCP"}]},
            '.ports: duplicate entries for key [port=3000000,protocol="TCP"]',
        ),
        ({"tags": ["a", "a"]}, '.tags: duplicate entries for key [="a"]'),
        ({"tags": [{}]}, ".tags: element 0: associative list without keys has an element that's a map type"),
        ({"tags": [[]]}, ".tags: element 0: not supported: associative list with lists as elements"),
        ({"tags": [None]}, ".tags: element 0: associative list without keys has an element that's an explicit null"),
        ({"rows": [["a"], [5]]}, ".rows[1][0]: expected string, got &value.valueUnstructured{Value:5}"),
        ({"open": {"known": 5}}, ".open.known: expected string, got &value.valueUnstructured{Value:5}"),
        (
            {"flag": "x", "number": "y"},
            "errors:\n  .flag: expected boolean, got &{x}\n  .number: expected numeric (int or float), got string",
        ),
    ],
)
def test_what_does_not_fit_is_explained(value: dict[str, Any], text: str) -> None:
    assert not fits(ATOM, value, duplicates=False)
    assert message(problems(ATOM, value)) == text


def test_repeated_items_are_tolerated_when_asked_for() -> None:
    value = {"tags": ["a", "a"], "items": [{"name": "a"}, {"name": "a"}]}
    assert fits(ATOM, value)
    assert problems(ATOM, value, duplicates=True) == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "TCP"]) | st.floats(0, 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "port", "known"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*ROOT.fields, "nope"]), json_values), st.booleans())
def test_a_value_fits_exactly_if_there_is_nothing_to_explain(value: dict[str, Any], duplicates: bool) -> None:
    assert fits(ATOM, value, duplicates=duplicates) == (not problems(ATOM, value, duplicates=duplicates))
