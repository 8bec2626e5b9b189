"""A small definition with everything in it, and the whole answers that the real server gave for its objects."""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.cel.crd_rules import compile_rules
from nagaya.apiserver.crd.resource import CustomResource
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.gvk import GroupKind

_ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "v": {"type": "string"}},
}
_SPEC = {
    "type": "object",
    "properties": {
        "color": {
            "type": "string",
            "enum": ["red", "blue"],
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "color is immutable"}],
        },
        "iors": {"x-kubernetes-int-or-string": True},
        "items": {
            "type": "array",
            "items": _ITEM,
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-list-type": "map",
        },
        "replicas": {"type": "integer", "format": "int32", "default": 1, "maximum": 5, "minimum": 0},
    },
    "x-kubernetes-validations": [{"rule": "!has(self.items) || self.items.size() < 4", "message": "too many"}],
}
_VERSION = {
    "name": "v1",
    "schema": {
        "openAPIV3Schema": {
            "type": "object",
            "required": ["spec"],
            "properties": {
                "spec": _SPEC,
                "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
            },
        }
    },
    "subresources": {
        "status": {},
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    },
}
_WIDGET = CustomResource("Widget", _VERSION, compile_rules)
_NOT_CHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def widget(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w2"}, **members}


def refusal(**members: Any) -> str:
    obj, _ = _WIDGET.decode(widget(**members))
    return status.invalid(GroupKind("x.io", "Widget"), "w2", _WIDGET.validator.validate(obj)).message


def test_defaults_are_filled_in_and_unknown_fields_dropped() -> None:
    obj, unknown = _WIDGET.decode(widget(spec={"color": "red", "bogus": 1}))
    assert obj["spec"] == {"color": "red", "replicas": 1}
    assert unknown == ['unknown field "spec.bogus"']
    assert _WIDGET.validator.validate(obj) == []


def test_several_things_wrong_at_once() -> None:
    assert refusal(spec={"replicas": "a", "color": "green", "items": [{"v": "x"}]}) == (
        'Widget.x.io "w2" is invalid: ['
        'spec.color: Unsupported value: "green": supported values: "red", "blue", '
        "spec.items[0].name: Required value, "
        'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", '
        ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: a is of the type string, expected int64, "
        f"{_NOT_CHECKED}]"
    )


def test_a_number_out_of_range() -> None:
    assert refusal(spec={"replicas": 9}) == (
        'Widget.x.io "w2" is invalid: '
        "spec.replicas: Invalid value: 9: spec.replicas in body should be less than or equal to 5"
    )


def test_a_missing_spec() -> None:
    assert refusal() == f'Widget.x.io "w2" is invalid: [spec: Required value, {_NOT_CHECKED}]'


def test_a_key_twice_in_a_list() -> None:
    assert refusal(spec={"items": [{"name": "a"}, {"name": "a"}]}) == (
        'Widget.x.io "w2" is invalid: spec.items[1]: Duplicate value: {"name":"a"}'
    )


def test_a_rule_that_does_not_hold() -> None:
    assert refusal(spec={"items": [{"name": each} for each in "abcd"]}) == (
        'Widget.x.io "w2" is invalid: spec: Invalid value: too many'
    )


def test_a_transition_that_is_not_allowed() -> None:
    old, _ = _WIDGET.decode(widget(spec={"color": "red"}))
    new, _ = _WIDGET.decode(widget(spec={"color": "blue"}))
    assert [str(error) for error in _WIDGET.validator.validate_update(new, old)] == [
        'spec.color: Invalid value: "blue": color is immutable'
    ]
    assert _WIDGET.validator.validate_update(old, old) == []
