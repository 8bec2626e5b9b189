"""The fast check and the slow explanation give the same verdict on every value, and the explanation says why."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.crd import accept
from nagaya.apiserver.crd.explain import explain
from nagaya.apiserver.crd.schema import read
from nagaya.apiserver.meta.field_errors import Path
from support.subtest_cases import subtest_cases

_NAMES = st.sampled_from(["a", "b", "c"])
_BOUND = st.sampled_from([-1, 0, 1, 2, 3, 1.5, 2.5])
_COUNT = st.integers(0, 3)
_SCALARS = st.sampled_from(["", "a", "ab", "abc", 0, 1, 2, 3, -1, 1.0, 1.5, 2.5, True, False, None, "2020-01-01", 65])


def _values(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3)


VALUES = st.recursive(_SCALARS, _values, max_leaves=8)


def _restrictions(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "maximum": _BOUND,
            "minimum": _BOUND,
            "exclusiveMaximum": st.booleans(),
            "exclusiveMinimum": st.booleans(),
            "multipleOf": st.sampled_from([1, 2, 0.5, -1]),
            "maxLength": _COUNT,
            "minLength": _COUNT,
            "pattern": st.sampled_from(["^a", "b$", "["]),
            "maxItems": _COUNT,
            "minItems": _COUNT,
            "maxProperties": _COUNT,
            "minProperties": _COUNT,
            "required": st.lists(_NAMES, max_size=2, unique=True),
            "enum": st.lists(values, min_size=1, max_size=3),
        },
    )


def _schemas(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    structure = st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "boolean", "array", "object"]),
            "format": st.sampled_from(["int32", "int64", "float", "double", "date", "byte", "nonsense"]),
            "nullable": st.booleans(),
            "x-kubernetes-int-or-string": st.booleans(),
            "properties": st.dictionaries(_NAMES, inner, max_size=2),
            "items": inner,
            "additionalProperties": st.booleans() | inner,
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    )
    return st.builds(lambda left, right: {**left, **right}, structure, _restrictions(VALUES))


SCHEMAS = st.recursive(_restrictions(VALUES), _schemas, max_leaves=6)


@given(SCHEMAS, VALUES, st.booleans())
def test_a_value_is_accepted_exactly_if_nothing_can_be_said_against_it(
    raw: dict[str, Any], value: Any, as_written: bool
) -> None:
    schema = read(raw)
    accepted = accept.compile_schema(schema, as_written=as_written)(value)
    assert accepted == (explain(schema, value, as_written=as_written) == [])


def complaints(schema: dict[str, Any], value: Any) -> list[str]:
    return [str(error) for error in explain(read({"type": "object", "properties": {"x": schema}}), {"x": value})]


@subtest_cases(
    ("schema", "value", "message"),
    [
        ({"type": "integer", "maximum": 5}, 9, "x: Invalid value: 9: x in body should be less than or equal to 5"),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            1,
            "x: Invalid value: 1: x in body should be greater than 1",
        ),
        ({"type": "integer", "multipleOf": 5}, 7, "x: Invalid value: 7: x in body should be a multiple of 5"),
        (
            {"type": "integer"},
            "many",
            'x: Invalid value: "string": x in body must be of type integer: "string"',
        ),
        (
            {"type": "boolean"},
            1.5,
            'x: Invalid value: "number": x in body must be of type boolean: "number"',
        ),
        (
            {"type": "integer", "format": "int32"},
            2**31,
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x',
        ),
        ({"type": "string"}, None, 'x: Invalid value: "null": x in body must be of type string: "null"'),
        ({"type": "string", "maxLength": 2}, "abc", "x: Too long: may not be more than 2 bytes"),
        ({"type": "string", "minLength": 2}, "a", 'x: Invalid value: "a": x in body should be at least 2 chars long'),
        ({"type": "string", "pattern": "^a"}, "b", "x: Invalid value: \"b\": x in body should match '^a'"),
        (
            {"type": "string", "format": "date-time"},
            "today",
            'x: Invalid value: "today": x in body must be of type date-time: "today"',
        ),
        (
            {"type": "string", "enum": ["red", "blue"]},
            "green",
            'x: Unsupported value: "green": supported values: "red", "blue"',
        ),
        ({"type": "array", "maxItems": 1}, [1, 2], "x: Too many: 2: must have at most 1 item"),
        ({"type": "array", "minItems": 1}, [], "x: Invalid value: 0: x in body should have at least 1 items"),
        ({"type": "object", "maxProperties": 0}, {"a": 1}, "x: Too many: 1: must have at most 0 items"),
        (
            {"type": "object", "minProperties": 1},
            {},
            "x: Invalid value: 0: x in body should have at least 1 properties",
        ),
        ({"type": "object", "required": ["y"]}, {}, "x.y: Required value"),
        (
            {"type": "object", "additionalProperties": False},
            {"a": 1},
            'x: Invalid value: "a": x.a in body is a forbidden property',
        ),
        (
            {"x-kubernetes-int-or-string": True},
            True,
            'x: Invalid value: "boolean": x in body must be of type integer,string: "boolean"',
        ),
    ],
)
def test_a_complaint_is_in_the_real_servers_words(schema: dict[str, Any], value: Any, message: str) -> None:
    assert complaints(schema, value) == [message]


def test_of_several_alternatives_the_one_that_nearly_fits_is_explained() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "integer"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"c": {"maximum": 5}}}],
    }
    assert complaints(schema, {"b": "x", "c": 9}) == [
        '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid',
        "x.c: Invalid value: 9: x.c in body should be less than or equal to 5",
    ]
    assert complaints(schema, {"a": "x", "b": "y"}) == [
        '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    ]


def test_every_part_of_an_allof_is_explained() -> None:
    schema = {"type": "string", "allOf": [{"minLength": 5}, {"pattern": "^x"}], "not": {"pattern": "^a"}}
    assert complaints(schema, "abc") == [
        'x: Invalid value: "abc": x in body should be at least 5 chars long',
        "x: Invalid value: \"abc\": x in body should match '^x'",
        '<nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated',
        '<nil>: Invalid value: "": "x" must not validate the schema (not)',
    ]


def test_the_same_complaint_is_made_once() -> None:
    schema = {"type": "string", "maxLength": 1, "allOf": [{"maxLength": 1}]}
    assert complaints(schema, "abc") == [
        "x: Too long: may not be more than 1 byte",
        '<nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated',
    ]


def test_a_part_of_an_object_is_named_from_where_it_stands() -> None:
    schema = read({"type": "object", "properties": {"ready": {"type": "boolean"}}})
    assert [str(error) for error in explain(schema, {"ready": 1}, Path("status"))] == [
        'status.ready: Invalid value: "integer": ready in body must be of type boolean: "integer"'
    ]


def test_long_explanations_end_when_more_is_found_than_can_be_shown() -> None:
    choices = [f"choice{number}" for number in range(2000)]
    schema = read({"type": "array", "items": {"type": "string", "enum": choices}})

    assert 10 < len(explain(schema, ["other"] * 1000)) < 100
