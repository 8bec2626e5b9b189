"""The same inputs as a real kube-apiserver was given, and the same answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nagaya.apiserver.cel.crd_rules import compile_rules
from nagaya.apiserver.crd import definition, preparation
from nagaya.apiserver.crd.resource import CustomResource
from nagaya.apiserver.meta import object_meta
from unit.apiserver.crd.recorded import causes, load


@pytest.mark.parametrize("case", [pytest.param(each, id=each["name"]) for each in load("definitions")])
def test_a_definition_is_judged_as_by_the_real_server(case: dict[str, Any]) -> None:
    new = preparation.prepare_create(preparation.default(case["definition"]))
    errors = object_meta.validate(
        new["metadata"],
        namespaced=False,
        name_check=lambda name, prefix: definition.name_problems(name, new, prefix=prefix),
    )
    errors += definition.validate(new, None)
    assert causes(errors) == case["errors"]
    if not errors:
        assert sorted(preparation.format_warnings(new)) == case["warnings"]


_SETUP, *_OBJECTS = load("objects")
_RESOURCE = CustomResource(
    "P", {"name": "v1", "schema": {"openAPIV3Schema": _SETUP["schema"]}, "subresources": _SETUP["subresources"]}
)


@pytest.mark.parametrize("case", [pytest.param(each, id=json.dumps(each["spec"])[:60]) for each in _OBJECTS])
def test_an_object_is_read_and_judged_as_by_the_real_server(case: dict[str, Any]) -> None:
    body = {"apiVersion": "t.io/v1", "kind": "P", "metadata": {"name": "a"}, "spec": case["spec"]}
    if "status" in case:
        body["status"] = case["status"]
    before = json.dumps(body)
    obj, unknown = _RESOURCE.decode(body)
    assert sorted(unknown) == case["unknown"]
    assert causes(_RESOURCE.validator.validate(obj)) == case["errors"]
    if "accepted" in case:
        assert {name: obj[name] for name in ("spec", "status") if name in obj} == case["accepted"]
    assert json.dumps(body) == before


_TIGHTENED, *_UPDATES = load("updates")
_TIGHT = CustomResource(
    "Rt",
    {"name": "v1", "schema": {"openAPIV3Schema": _TIGHTENED["schema"]}, "subresources": {"status": {}}},
)


@pytest.mark.parametrize("case", [pytest.param(each, id=each["change"]) for each in _UPDATES])
def test_an_update_under_a_tightened_schema_is_judged_as_by_the_real_server(case: dict[str, Any]) -> None:
    whole = {"apiVersion": "t.io/v1", "kind": "Rt", "metadata": {"name": "a"}}
    old = {**whole, **_TIGHTENED["old"]}
    new, _ = _TIGHT.decode({**whole, **case["new"]})
    if case["status"]:
        changed = {**old, "status": new["status"]} if "status" in new else {**whole, "spec": old["spec"]}
        errors = _TIGHT.validator.validate_status_update(changed, old)
    else:
        errors = _TIGHT.validator.validate_update({**new, "status": old["status"]}, old)
    assert causes(errors) == case["errors"]


_RULED, *_RULES = load("rules")
_LOOSE_RULES = CustomResource("Cel", _RULED["loose"], compile_rules)
_TIGHT_RULES = CustomResource("Cel", _RULED["tight"], compile_rules)


@pytest.mark.parametrize("case", [pytest.param(each, id=each["name"]) for each in _RULES if "definition" in each])
def test_rules_are_compiled_as_by_the_real_server(case: dict[str, Any]) -> None:
    new = preparation.prepare_create(preparation.default(case["definition"]))
    assert causes(definition.validate(new, compile_rules)) == case["errors"]


@pytest.mark.parametrize("case", [pytest.param(each, id=each["name"][:60]) for each in _RULES if "new" in each])
def test_rules_are_evaluated_as_by_the_real_server(case: dict[str, Any]) -> None:
    old = _RULED["old"]
    resource = _TIGHT_RULES if case.get("tight") else _LOOSE_RULES
    new, _ = resource.decode({**{name: old[name] for name in ("apiVersion", "kind", "metadata")}, **case["new"]})
    warnings: list[str] = []
    match case.get("update"):
        case None:
            errors = resource.validator.validate(new)
        case "status":
            changed = {**old, "status": new["status"]}
            errors = resource.validator.validate_status_update(changed, old, warnings=warnings)
        case _:
            errors = resource.validator.validate_update({**new, "status": old["status"]}, old, warnings=warnings)
    assert causes(errors) == case["errors"]
    assert sorted(warnings) == case["warnings"]
