from __future__ import annotations

from typing import Any

from nagaya.apiserver.crd.scale import ScalePaths
from nagaya.apiserver.crd.schema import read
from nagaya.apiserver.crd.validate import Validator
from nagaya.apiserver.meta.field_errors import invalid, required
from unit.apiserver.crd.fake_rules import compile_rules

_NOT_CHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_SPEC = {
    "type": "object",
    "properties": {
        "color": {"type": "string", "enum": ["red", "blue"]},
        "replicas": {"type": "integer", "maximum": 5},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
    },
    "x-kubernetes-validations": [{"rule": "len(self.get('items', [])) < 3", "message": "too many"}],
}
_STATUS = {"type": "object", "properties": {"replicas": {"type": "integer", "maximum": 3}}}
_SCHEMA = {"type": "object", "required": ["spec"], "properties": {"spec": _SPEC, "status": _STATUS}}
_VALIDATOR = Validator(read(_SCHEMA), compile_rules, ScalePaths(".spec.replicas", ".status.replicas"))


def created(obj: dict[str, Any]) -> list[str]:
    return [str(error) for error in _VALIDATOR.validate(obj)]


def test_a_valid_object_has_no_errors() -> None:
    assert created({"spec": {"color": "red", "items": [{"name": "a"}]}}) == []


def test_a_failed_rule_is_reported() -> None:
    names = [{"name": "a"}, {"name": "b"}, {"name": "c"}]
    assert created({"spec": {"items": names}}) == ["spec: Invalid value: too many"]


def test_rules_are_not_checked_on_an_object_whose_shape_is_wrong() -> None:
    assert created({}) == ["spec: Required value", _NOT_CHECKED]
    assert created({"spec": {"color": "green"}})[-1] == _NOT_CHECKED


def test_rules_are_checked_when_only_bounds_are_broken() -> None:
    assert created({"spec": {"replicas": 9}}) == [
        "spec.replicas: Invalid value: 9: spec.replicas in body should be less than or equal to 5"
    ]


def test_findings_come_in_the_order_of_the_real_server() -> None:
    found = created({"spec": {"replicas": "a", "items": [{"name": "x"}, {"name": "x"}]}})
    assert found == [
        'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
        ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: a is of the type string, expected int64",
        'spec.items[1]: Duplicate value: {"name":"x"}',
        _NOT_CHECKED,
    ]


def test_what_the_caller_found_comes_first_and_can_block_rules() -> None:
    name = required("metadata.name", "name or generateName is required")
    assert [str(error) for error in _VALIDATOR.validate({"spec": {}}, [name])] == [str(name), _NOT_CHECKED]
    label = invalid("metadata.labels", "a b", "no")
    assert _VALIDATOR.validate({"spec": {}}, [label]) == [label]


def test_duplicates_that_were_there_before_are_tolerated() -> None:
    twice = {"spec": {"items": [{"name": "x"}, {"name": "x"}]}}
    once = {"spec": {"items": [{"name": "x"}]}}
    assert _VALIDATOR.validate_update(twice, twice) == []
    assert [str(error) for error in _VALIDATOR.validate_update(twice, once)] == [
        'spec.items[1]: Duplicate value: {"name":"x"}'
    ]


def test_an_unchanged_failure_of_a_rule_becomes_a_warning() -> None:
    names = [{"name": each} for each in "abc"]
    old = {"spec": {"items": names}, "status": {"replicas": 1}}
    warnings: list[str] = []
    assert _VALIDATOR.validate_update({**old, "status": {"replicas": 2}}, old, warnings=warnings) == []
    assert warnings == ["spec: Invalid value: too many"]


def test_a_status_update_is_only_checked_for_the_status() -> None:
    old = {"spec": {"replicas": 99}, "status": {"replicas": 1}}
    new = {"spec": {"replicas": 99}, "status": {"replicas": 7}}
    assert [str(error) for error in _VALIDATOR.validate_status_update(new, old)] == [
        "status.replicas: Invalid value: 7: replicas in body should be less than or equal to 3"
    ]
    assert _VALIDATOR.validate_status_update({"spec": {"replicas": 99}}, old) == []
