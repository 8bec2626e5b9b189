"""Rules that need a rule language; what a schema may say otherwise is in the recorded cases."""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.crd import schema_rules
from nagaya.apiserver.crd.schema import MAX_DEPTH
from nagaya.apiserver.meta.field_errors import Path
from unit.apiserver.crd.fake_rules import compile_rules


def problems(raw: dict[str, Any], *, rules: bool = True) -> list[str]:
    found = schema_rules.check(raw, Path("s"), status=False, compile_rules=compile_rules if rules else None)
    return [str(error) for error in found]


def ruled(schema: dict[str, Any], *rules: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": list(rules)}


def field(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}}


_TEXT = {"type": "string"}
_FIXED = ruled(_TEXT, {"rule": "self == oldSelf"})


def test_a_sound_schema_with_rules_passes() -> None:
    assert problems(field(_FIXED)) == []
    assert problems(ruled(field(_TEXT), {"rule": "self"})) == []


def test_a_rule_that_does_not_compile_is_shown_with_the_reason() -> None:
    assert problems(field(ruled(_TEXT, {"rule": "nonsense<1", "message": "m"}))) == [
        's.properties[x].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"nonsense\\u003c1","Message":"m",'
        '"MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: '
        "compilation failed: no such thing"
    ]


def test_rules_are_not_compiled_where_the_schema_is_unsound() -> None:
    found = problems(field(ruled({**_TEXT, "uniqueItems": True}, {"rule": "nonsense"})))
    assert len(found) == 1
    assert found[0].startswith("s.properties[x].uniqueItems: Forbidden")


def test_old_values_can_only_be_used_where_they_can_be_found() -> None:
    plain = {"type": "array", "items": {"type": "array", "items": _FIXED}}
    assert problems(field(plain)) == [
        's.properties[x].items.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": '
        "oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[x]"
    ]
    keyed = {
        "type": "array",
        "items": {"type": "object", "required": ["k"], "properties": {"k": _TEXT, "v": _FIXED}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    assert problems(field(keyed)) == []
    assert problems(field({"type": "object", "additionalProperties": _FIXED})) == []


def test_an_optional_old_value_must_be_used() -> None:
    assert problems(field(ruled(_TEXT, {"rule": "True", "optionalOldSelf": True}))) == [
        "s.properties[x].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: "
        "may not be set if oldSelf is not used in rule"
    ]


def test_a_default_must_satisfy_the_rules() -> None:
    even = ruled({"type": "integer", "default": 3}, {"rule": "self % 2 == 0", "message": "must be even"})
    assert problems(field(even)) == ["s.properties[x].default: Invalid value: 3: must be even"]
    assert problems(field({**even, "default": 4})) == []


def test_a_default_must_be_possible_as_a_new_value() -> None:
    rule = {"rule": "oldSelf is not MISSING", "message": "not for new ones", "optionalOldSelf": True}
    assert problems(field(ruled({**_TEXT, "default": "a"}, rule))) == [
        's.properties[x].default: Invalid value: "a": not for new ones'
    ]


def test_without_a_rule_language_rules_are_refused() -> None:
    assert problems(field(_FIXED), rules=False) == [
        "s.properties[x].x-kubernetes-validations: Internal error: this server cannot evaluate rules"
    ]


def test_a_schema_that_nests_too_deeply_is_refused() -> None:
    raw: dict[str, Any] = {"type": "string"}
    for _ in range(MAX_DEPTH + 1):
        raw = {"type": "array", "items": raw}
    assert problems(field(raw)) == [f's: Invalid value: "": schema nests deeper than {MAX_DEPTH} levels']


def test_the_deepest_schema_that_is_allowed_can_be_checked() -> None:
    raw: dict[str, Any] = {"type": "string", "default": "x"}
    for _ in range(MAX_DEPTH - 1):
        raw = {"type": "object", "properties": {"x": raw}}
    assert problems(raw) == []


def test_a_rule_may_cost_less_the_more_values_it_is_evaluated_for() -> None:
    rule = {"rule": "True", "cost": 20_000}
    for most, refused in ((100, 0), (501, 1)):
        items = {"type": "array", "maxItems": most, "items": ruled(_TEXT, rule)}
        assert len(problems(field(items))) == refused
    unbounded = {"type": "array", "items": ruled(_TEXT, rule)}
    [problem] = problems(field(unbounded))
    assert "exceeds budget by factor of 2.0x" in problem


def test_the_rules_of_a_known_schema_may_cost_what_they_like() -> None:
    raw = field(ruled(_TEXT, {"rule": "True", "cost": 10**12}))
    found = schema_rules.check(raw, Path("s"), status=False, compile_rules=compile_rules)
    assert [error.field for error in found] == [
        "s.properties[x].x-kubernetes-validations[0].rule",
        "s.properties[x].x-kubernetes-validations[0].rule",
        "s",
    ]
    assert schema_rules.check(raw, Path("s"), status=False, compile_rules=compile_rules, known=True) == []
