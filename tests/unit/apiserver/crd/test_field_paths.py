from __future__ import annotations

import pytest

from nagaya.apiserver.crd import field_paths
from nagaya.apiserver.crd.schema import read
from support.subtest_cases import subtest_cases

_SCHEMA = read(
    {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"a b": {"type": "string"}, "it's": {"type": "integer"}}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "any": {"type": "object", "additionalProperties": True},
            "list": {"type": "array", "items": {"type": "string"}},
        },
    }
)


@pytest.mark.parametrize(
    ("path", "place", "type_name"),
    [
        (".spec", "spec", "object"),
        (".spec['a b']", "spec.a b", "string"),
        (".spec['it\\'s']", "spec.it's", "integer"),
        (".map.x", "map[x]", "string"),
        ("['map']['y']", "map[y]", "string"),
    ],
)
def test_where_a_path_leads(path: str, place: str, type_name: str) -> None:
    where, _, schema = field_paths.resolve(path, _SCHEMA)
    assert str(where) == place
    assert schema is not None
    assert schema.type == type_name


def test_below_anything_nothing_is_known() -> None:
    assert field_paths.resolve(".any.x", _SCHEMA)[2] is None


@subtest_cases(
    ("path", "problem"),
    [
        ("spec", "expected [ or . but got: spec"),
        (".", "unexpected end of JSON path"),
        (".other", "does not refer to a valid field"),
        (".spec.a b.c", "does not refer to a valid field"),
        (".any.x.y", "does not refer to a valid field"),
        (".list[0]", "expected single quoted string but got 0"),
        (".spec['a b'", "unexpected end of JSON path"),
        (".spec['a b'.", "expected ] but got ."),
        (".spec['a\\qb']", "invalid string literal: invalid escape char \\q"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        field_paths.resolve(path, _SCHEMA)
    assert str(caught.value) == problem


def test_brackets_can_be_forbidden() -> None:
    with pytest.raises(ValueError, match="array notation is not allowed"):
        field_paths.resolve(".spec['a b']", _SCHEMA, brackets=False)
