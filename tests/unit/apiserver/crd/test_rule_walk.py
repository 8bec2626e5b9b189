from __future__ import annotations

from typing import Any

from nagaya.apiserver.crd import rule_walk
from nagaya.apiserver.crd.ratchet import Correlation
from nagaya.apiserver.crd.rules import Budget
from nagaya.apiserver.crd.schema import read
from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.schema.types import MISSING
from unit.apiserver.crd.fake_rules import compile_rules


def rule(text: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {"rule": text, "message": message or text, **more}


def ruled(schema: dict[str, Any], *rules: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": list(rules)}


_TEXT = {"type": "string"}
_FIXED = ruled(_TEXT, rule("self == oldSelf", "is immutable"))
_KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


def run(schema: dict[str, Any], new: Any, old: Any = MISSING, budget: int = 100) -> tuple[list[str], list[str]]:
    node = read(schema)
    tree = rule_walk.compile_schema(node, compile_rules, resource_root=True)
    assert tree is not None
    walk = rule_walk.RuleWalk(Budget(budget))
    walk.check(tree, new, old, Path(), None if old is MISSING else Correlation(new, old, node))
    return [str(error) for error in walk.errors], walk.warnings


def errors(schema: dict[str, Any], new: Any, old: Any = MISSING) -> list[str]:
    return run(schema, new, old)[0]


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_a_schema_without_rules_has_no_tree() -> None:
    assert rule_walk.compile_schema(read(obj(a=_TEXT)), compile_rules, resource_root=True) is None


def test_a_scalar_is_shown_and_an_object_is_not() -> None:
    schema = obj(color=ruled(_TEXT, rule("self == 'red'", "must be red")), spec=ruled(obj(), rule("False", "never")))
    assert errors(schema, {"color": "blue", "spec": {}}) == [
        'color: Invalid value: "blue": must be red',
        "spec: Invalid value: never",
    ]


def test_outer_rules_come_before_inner_ones() -> None:
    schema = ruled(obj(a=ruled(_TEXT, rule("False", "inner"))), rule("False", "outer"))
    assert errors(schema, {"a": "x"}) == ["<nil>: Invalid value: outer", 'a: Invalid value: "x": inner']


def test_rules_apply_to_entries_and_items() -> None:
    text = ruled(_TEXT, rule("self != 'bad'", "is bad"))
    schema = obj(
        map={"type": "object", "additionalProperties": text},
        list={"type": "array", "items": text},
    )
    assert errors(schema, {"map": {"k": "bad", "l": "good"}, "list": ["good", "bad"]}) == [
        'list[1]: Invalid value: "bad": is bad',
        'map[k]: Invalid value: "bad": is bad',
    ]


def test_null_and_absent_values_are_not_checked() -> None:
    schema = obj(a=ruled({"type": "string", "nullable": True}, rule("False")))
    assert errors(schema, {"a": None}) == []
    assert errors(schema, {}) == []


def test_a_reason_and_a_field_path_place_the_error() -> None:
    schema = ruled(obj(), rule("False", "say why", reason="FieldValueRequired", fieldPath=".spec.why"))
    assert errors(schema, {}) == ["spec.why: Required value: say why"]
    schema = obj(a=ruled(_TEXT, rule("False", "unused", reason="FieldValueDuplicate")))
    assert errors(schema, {"a": "x"}) == ['a: Duplicate value: "x"']


def test_a_transition_rule_needs_something_to_compare_with() -> None:
    schema = obj(color=_FIXED)
    assert errors(schema, {"color": "red"}) == []
    assert errors(schema, {"color": "red"}, {}) == []
    assert errors(schema, {"color": "red"}, {"color": "red"}) == []
    assert errors(schema, {"color": "red"}, {"color": "blue"}) == ['color: Invalid value: "red": is immutable']


def test_an_optional_old_value_lets_a_transition_rule_run_on_creation() -> None:
    schema = obj(color=ruled(_TEXT, rule("oldSelf is not MISSING", "is new", optionalOldSelf=True)))
    assert errors(schema, {"color": "red"}) == ['color: Invalid value: "red": is new']
    assert errors(schema, {"color": "red"}, {"color": "blue"}) == []


def test_items_of_a_map_are_compared_with_their_old_selves() -> None:
    schema = obj(nodes={"type": "array", "items": obj(name=_TEXT, ip=_FIXED), **_KEYED})
    old = {"nodes": [{"name": "a", "ip": "1"}, {"name": "b", "ip": "2"}]}
    new = {"nodes": [{"name": "b", "ip": "2"}, {"name": "a", "ip": "9"}, {"name": "c", "ip": "3"}]}
    assert errors(schema, new, old) == ['nodes[1].ip: Invalid value: "9": is immutable']


def test_items_of_other_lists_have_no_old_selves() -> None:
    schema = obj(list={"type": "array", "items": _FIXED})
    assert errors(schema, {"list": ["b"]}, {"list": ["a"]}) == []


def test_what_an_update_leaves_alone_only_causes_a_warning() -> None:
    schema = obj(color=ruled(_TEXT, rule("self == 'red'", "must be red")), size=_TEXT)
    found = run(schema, {"color": "blue", "size": "2"}, {"color": "blue", "size": "1"})
    assert found == ([], ['color: Invalid value: "blue": must be red'])


def test_an_item_that_cannot_be_matched_is_as_changed_as_its_list() -> None:
    schema = obj(list={"type": "array", "items": ruled(_TEXT, rule("False", "never"))}, other=_TEXT)
    unchanged = run(schema, {"list": ["a"], "other": "2"}, {"list": ["a"], "other": "1"})
    assert unchanged == ([], ['list[0]: Invalid value: "a": never'])
    assert errors(schema, {"list": ["a", "b"]}, {"list": ["a"]}) == [
        'list[0]: Invalid value: "a": never',
        'list[1]: Invalid value: "b": never',
    ]


def test_a_transition_rule_holds_even_for_unchanged_values() -> None:
    schema = obj(color=ruled(_TEXT, rule("oldSelf is None", "never again")))
    assert errors(schema, {"color": "a"}, {"color": "a"}) == ['color: Invalid value: "a": never again']


def test_a_rule_that_cannot_be_evaluated_is_an_error_even_for_unchanged_values() -> None:
    schema = obj(color=ruled(_TEXT, rule("crash")))
    assert errors(schema, {"color": "a"}, {"color": "a"}) == [
        'color: Invalid value: "string": no such key: x evaluating rule: crash'
    ]


def test_evaluation_ends_when_the_budget_is_used_up() -> None:
    schema = obj(
        a=ruled(_TEXT, rule("True")), b=ruled(_TEXT, rule("False", "never")), c=ruled(_TEXT, rule("False", "never"))
    )
    assert run(schema, {"a": "x", "b": "x", "c": "x"}, budget=1)[0] == [
        'b: Invalid value: "string": '
        "validation failed due to running out of cost budget, no further validation rules will be run"
    ]
