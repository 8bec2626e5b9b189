"""The same inputs as a real kube-apiserver was given, and the same answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from typing import Any

import pytest

from nagaya.apiserver.cel.crd_rules import compile_rules
from nagaya.apiserver.crd import definition, preparation
from nagaya.apiserver.crd.resource import CustomResource
from nagaya.apiserver.meta import object_meta
from support.subtest_cases import subtest_cases
from unit.apiserver.crd.recorded import causes, load


@subtest_cases("case", partial(load, "definitions"), ids=itemgetter("name"))
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


def _objects() -> Iterator[tuple[CustomResource, dict[str, Any]]]:
    setup, *cases = load("objects")
    schema = {"openAPIV3Schema": setup["schema"]}
    resource = CustomResource("P", {"name": "v1", "schema": schema, "subresources": setup["subresources"]})
    for case in cases:
        yield pytest.param(resource, case, id=json.dumps(case["spec"])[:60])


@subtest_cases(("resource", "case"), _objects)
def test_an_object_is_read_and_judged_as_by_the_real_server(resource: CustomResource, case: dict[str, Any]) -> None:
    body = {"apiVersion": "t.io/v1", "kind": "P", "metadata": {"name": "a"}, "spec": case["spec"]}
    if "status" in case:
        body["status"] = case["status"]
    before = json.dumps(body)
    obj, unknown = resource.decode(body)
    assert sorted(unknown) == case["unknown"]
    assert causes(resource.validator.validate(obj)) == case["errors"]
    if "accepted" in case:
        assert {name: obj[name] for name in ("spec", "status") if name in obj} == case["accepted"]
    assert json.dumps(body) == before


def _updates() -> Iterator[tuple[CustomResource, dict[str, Any], dict[str, Any]]]:
    setup, *cases = load("updates")
    schema = {"openAPIV3Schema": setup["schema"]}
    resource = CustomResource("Rt", {"name": "v1", "schema": schema, "subresources": {"status": {}}})
    for case in cases:
        yield pytest.param(resource, setup["old"], case, id=case["change"])


@subtest_cases(("resource", "stored", "case"), _updates)
def test_an_update_under_a_tightened_schema_is_judged_as_by_the_real_server(
    resource: CustomResource, stored: dict[str, Any], case: dict[str, Any]
) -> None:
    whole = {"apiVersion": "t.io/v1", "kind": "Rt", "metadata": {"name": "a"}}
    old = {**whole, **stored}
    new, _ = resource.decode({**whole, **case["new"]})
    if case["status"]:
        changed = {**old, "status": new["status"]} if "status" in new else {**whole, "spec": old["spec"]}
        errors = resource.validator.validate_status_update(changed, old)
    else:
        errors = resource.validator.validate_update({**new, "status": old["status"]}, old)
    assert causes(errors) == case["errors"]


def _compiled_rules() -> Iterator[dict[str, Any]]:
    return (case for case in load("rules")[1:] if "definition" in case)


@subtest_cases("case", _compiled_rules, ids=itemgetter("name"))
def test_rules_are_compiled_as_by_the_real_server(case: dict[str, Any]) -> None:
    new = preparation.prepare_create(preparation.default(case["definition"]))
    assert causes(definition.validate(new, compile_rules)) == case["errors"]


def _evaluated_rules() -> Iterator[tuple[CustomResource, dict[str, Any], dict[str, Any]]]:
    setup, *cases = load("rules")
    loose, tight = (CustomResource("Cel", setup[name], compile_rules) for name in ("loose", "tight"))
    for case in cases:
        if "new" in case:
            yield pytest.param(tight if case.get("tight") else loose, setup["old"], case, id=case["name"][:60])


@subtest_cases(("resource", "old", "case"), _evaluated_rules)
def test_rules_are_evaluated_as_by_the_real_server(
    resource: CustomResource, old: dict[str, Any], case: dict[str, Any]
) -> None:
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
