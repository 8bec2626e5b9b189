"""The fields that a configuration claims."""

from typing import Any

from nagaya.apiserver.apply.atoms import atom_of
from nagaya.apiserver.apply.value_set import set_of, with_named_fields
from nagaya.apiserver.schema.types import Field, List, ListKind, Map, Scalar, Struct, Untyped
from support.subtest_cases import subtest_cases

TEXT = Scalar("string")
INNER = Struct({"x": Field(TEXT), "y": Field(TEXT)})
ROOT = Struct(
    {
        "text": Field(TEXT),
        "nested": Field(INNER),
        "map": Field(Map(INNER)),
        "whole": Field(Struct({"r": Field(TEXT)}, atomic=True)),
        "items": Field(List(INNER, ListKind.MAP, ("x",))),
        "tags": Field(List(TEXT, ListKind.SET)),
        "steps": Field(List(TEXT)),
        "any": Field(Untyped()),
    }
)


@subtest_cases(
    ("config", "claimed"),
    [
        ({"text": "x"}, {"f:text": {}}),
        (
            {"text": None, "nested": None, "map": None, "tags": None},
            {"f:text": {}, "f:nested": {}, "f:map": {}, "f:tags": {}},
        ),
        ({"nested": {"x": "1"}}, {"f:nested": {"f:x": {}}}),
        ({"nested": {}}, {"f:nested": {}}),
        ({"map": {"k": {"x": "1"}, "l": {}}}, {"f:map": {"f:k": {".": {}, "f:x": {}}, "f:l": {}}}),
        ({"whole": {"r": "1"}}, {"f:whole": {}}),
        ({"steps": []}, {"f:steps": {}}),
        ({"tags": [], "items": []}, {}),
        ({"tags": ["a", "b"]}, {"f:tags": {'v:"a"': {}, 'v:"b"': {}}}),
        ({"items": [{"x": "a", "y": "1"}]}, {"f:items": {'k:{"x":"a"}': {".": {}, "f:x": {}, "f:y": {}}}}),
        ({"items": [{"x": "a", "y": "1"}, {"x": "a"}]}, {"f:items": {'k:{"x":"a"}': {}}}),
        ({"any": {"a": {"b": [1]}, "c": {}}}, {"f:any": {"f:a": {".": {}, "f:b": {}}, "f:c": {}}}),
        ({"any": []}, {"f:any": {}}),
    ],
)
def test_leaves_are_claimed_and_whatever_can_be_removed(config: dict[str, Any], claimed: dict[str, Any]) -> None:
    assert set_of(atom_of(ROOT), config) == claimed


def test_items_that_lost_their_key_are_not_mistaken_for_others() -> None:
    assert set_of(atom_of(ROOT), {"items": [{"y": "1"}, None, {"x": "a"}]})["f:items"]['k:{"x":"a"}']


def test_named_fields_that_lead_to_members_become_members() -> None:
    fields = {
        "f:nested": {"f:x": {}},
        "f:map": {"f:k": {"f:x": {}}},
        "f:items": {'k:{"x":"a"}': {"f:y": {}}},
        "f:any": {"f:a": {"f:b": {}}},
        "f:unknown": {"f:a": {}},
    }
    assert with_named_fields(fields, atom_of(ROOT)) == {
        "f:nested": {".": {}, "f:x": {}},
        "f:map": {".": {}, "f:k": {"f:x": {}}},
        "f:items": {".": {}, 'k:{"x":"a"}': {"f:y": {}}},
        "f:any": {".": {}, "f:a": {"f:b": {}}},
        "f:unknown": {"f:a": {}},
    }
