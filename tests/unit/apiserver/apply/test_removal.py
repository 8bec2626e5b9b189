"""Taking fields out of a value, and keeping only them."""

from nagaya.apiserver.apply.atoms import atom_of
from nagaya.apiserver.apply.removal import extract, remove
from nagaya.apiserver.schema.types import Field, List, ListKind, Map, Scalar, Struct

TEXT = Scalar("string")
ROOT = Struct(
    {
        "text": Field(TEXT),
        "map": Field(Map(TEXT)),
        "whole": Field(Map(TEXT, atomic=True)),
        "items": Field(List(Struct({"name": Field(TEXT), "v": Field(TEXT)}), ListKind.MAP, ("name",))),
        "steps": Field(List(TEXT)),
    }
)
OBJECT = {
    "text": "x",
    "map": {"a": "1", "b": "2"},
    "whole": {"k": "v"},
    "items": [{"name": "a", "v": "1"}, {"name": "b", "v": "2"}],
    "steps": ["s"],
}


def test_fields_keys_and_items_are_removed() -> None:
    fields = {"f:text": {}, "f:map": {"f:a": {}}, "f:items": {'k:{"name":"a"}': {".": {}, "f:v": {}}}}
    assert remove(atom_of(ROOT), OBJECT, fields) == {
        "map": {"b": "2"},
        "whole": {"k": "v"},
        "items": [{"name": "b", "v": "2"}],
        "steps": ["s"],
    }


def test_a_field_of_an_item_is_removed_and_the_item_stays() -> None:
    result = remove(atom_of(ROOT), OBJECT, {"f:items": {'k:{"name":"b"}': {"f:v": {}}}})
    assert result["items"] == [{"name": "a", "v": "1"}, {"name": "b"}]


def test_what_loses_all_its_parts_becomes_null() -> None:
    fields = {
        "f:map": {"f:a": {}, "f:b": {}},
        "f:items": {'k:{"name":"a"}': {}, 'k:{"name":"b"}': {}},
        "f:whole": {"f:k": {}},
        "f:steps": {"i:0": {}},
    }
    assert remove(atom_of(ROOT), OBJECT, fields) == {
        "text": "x",
        "map": None,
        "whole": None,
        "items": None,
        "steps": None,
    }


def test_removing_nothing_returns_the_value_itself() -> None:
    assert remove(atom_of(ROOT), OBJECT, {}) is OBJECT


def test_only_the_given_fields_are_extracted() -> None:
    fields = {"f:text": {}, "f:map": {"f:a": {}}, "f:whole": {}, "f:items": {'k:{"name":"a"}': {".": {}, "f:v": {}}}}
    assert extract(atom_of(ROOT), OBJECT, fields) == {
        "text": "x",
        "map": {"a": "1"},
        "whole": {"k": "v"},
        "items": [{"v": "1"}],
    }
