from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.crd import value_checks
from nagaya.apiserver.crd.schema import read
from support.subtest_cases import subtest_cases


def problem(schema: dict[str, Any], value: Any, *, as_written: bool = False) -> tuple[str, str] | None:
    return value_checks.type_problem(value_checks.typing_of(read(schema), as_written=as_written), value)


@subtest_cases(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, 1.0, None),
        ({"type": "integer"}, 1.5, ("integer", "number")),
        ({"type": "integer", "format": "int64"}, True, ("int64", "")),
        ({"type": "number"}, 1, None),
        ({"type": "string", "format": "date"}, 5, ("date", "int64")),
        ({"type": "string", "format": "date"}, ["a list passes"], None),
        ({"type": "string", "format": "nonsense"}, [], ("string", "array")),
        ({"type": "string", "nullable": True}, None, None),
        ({"type": "object"}, [], ("object", "array")),
        ({}, object(), None),
        ({"x-kubernetes-int-or-string": True}, 1.0, None),
    ],
)
def test_which_types_a_value_may_have(schema: dict[str, Any], value: Any, expected: Any) -> None:
    assert problem(schema, value) == expected


def test_defaults_are_checked_against_the_schema_as_written() -> None:
    assert problem({"x-kubernetes-int-or-string": True}, True) == ("integer,string", "boolean")
    assert problem({"x-kubernetes-int-or-string": True}, True, as_written=True) is None


@pytest.mark.parametrize(
    ("number", "whole"), [(1.0, True), (-3.0, True), (1.5, False), (1.0000000001, True), (0.5, False), (2.0**60, False)]
)
def test_which_floats_count_as_integers(number: float, whole: bool) -> None:
    assert value_checks.is_whole(number) is whole


@subtest_cases(
    ("enum", "value", "listed"),
    [
        (["a"], "a", True),
        ([1, 2], 2.9, True),
        ([1.5], 1, False),
        ([True], 1, False),
        (["A"], 65, True),
        ([None], None, False),
        ([{"a": [1]}], {"a": [1]}, True),
        ([{"a": [1]}], {"a": [1.0]}, False),
    ],
)
def test_whether_a_value_is_listed_follows_gos_conversions(enum: list[Any], value: Any, listed: bool) -> None:
    assert value_checks.enum_has(enum, value) is listed


def test_one_and_one_point_nought_and_true_are_three_values() -> None:
    assert not value_checks.same(1, 1.0)
    assert not value_checks.same(True, 1)
    assert value_checks.same({"a": [1, None]}, {"a": [1, None]})
    assert not value_checks.same({"a": 1}, {"b": 1})
