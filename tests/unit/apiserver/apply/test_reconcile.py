"""Recorded sets of fields under a schema that has changed."""

from typing import Any

import orjson
import pytest

from nagaya.apiserver.apply import fieldset
from nagaya.apiserver.apply.atoms import atom_of
from nagaya.apiserver.apply.reconcile import recorded
from nagaya.apiserver.schema.types import Field, List, ListKind, Map, Scalar, Struct, Untyped

TEXT = Scalar("string")
ROOT = Struct(
    {
        "map": Field(Map(TEXT)),
        "whole": Field(Map(TEXT, atomic=True)),
        "steps": Field(List(TEXT)),
        "rooms": Field(Map(Struct({"r": Field(TEXT)}, atomic=True))),
        "items": Field(List(Struct({"n": Field(TEXT), "w": Field(Map(TEXT, atomic=True))}), ListKind.MAP, ("n",))),
        "any": Field(Untyped()),
    }
)


@pytest.mark.parametrize(
    ("written", "today"),
    [
        ({"f:whole": {"f:a": {}}}, {"f:whole": {}}),
        ({"f:whole": {".": {}, "f:a": {}}}, {"f:whole": {}}),
        ({"f:steps": {'v:"x"': {}}}, {"f:steps": {}}),
        ({"f:rooms": {"f:k": {"f:r": {}}}}, {"f:rooms": {"f:k": {}}}),
        ({"f:items": {'k:{"n":"a"}': {"f:w": {"f:x": {}}}}}, {"f:items": {'k:{"n":"a"}': {"f:w": {}}}}),
    ],
)
def test_parts_of_what_has_become_atomic_become_the_whole(written: Any, today: Any) -> None:
    assert recorded(atom_of(ROOT), orjson.dumps(written)) == today


@pytest.mark.parametrize(
    "written",
    [
        {"f:map": {".": {}, "f:a": {}}},
        {"f:map": {}},
        {"f:items": {'k:{"n":"a"}': {".": {}, "f:n": {}}}},
        {"f:any": {"f:a": {"i:0": {}}}},
        {"f:unknown": {"f:a": {"f:b": {}}}},
    ],
)
def test_what_the_schema_still_allows_stays_the_same_object(written: Any) -> None:
    text = orjson.dumps(written)
    assert recorded(atom_of(ROOT), text) is fieldset.parse(text).fields
