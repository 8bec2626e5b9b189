from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from nagaya.apiserver.crd import definition, preparation
from unit.apiserver.crd.fake_rules import compile_rules

Change = Callable[[dict[str, Any]], Any]
_SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}


def stored() -> dict[str, Any]:
    """A definition that has been served for a while."""
    crd = {
        "metadata": {"name": "widgets.example.io", "generation": 1},
        "spec": {
            "group": "example.io",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": _SCHEMA},
                {"name": "v2", "served": True, "storage": False, "schema": _SCHEMA},
            ],
        },
    }
    crd = preparation.prepare_create(preparation.default(copy.deepcopy(crd)))
    crd["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    crd["status"]["acceptedNames"] = crd["spec"]["names"]
    return crd


def updated(change: Change, old: dict[str, Any] | None = None) -> list[str]:
    old = old or stored()
    new = copy.deepcopy(old)
    change(new)
    prepared = preparation.prepare_update(preparation.default(new), old)
    return [str(error) for error in definition.validate_update(prepared, old, None)]


def test_a_definition_is_named_by_what_it_defines() -> None:
    assert definition.name_problems("widgets.example.io", stored()) == []
    assert definition.name_problems("gadgets.example.io", stored()) == ['must be spec.names.plural+"."+spec.group']


def test_an_update_that_changes_nothing_is_fine() -> None:
    assert updated(lambda new: None) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda new: new["spec"].update(scope="Cluster"),
            'spec.scope: Invalid value: "Cluster": field is immutable',
        ),
        (
            lambda new: new["spec"]["names"].update(kind="Gadget"),
            'spec.names.kind: Invalid value: "Gadget": field is immutable',
        ),
        (
            lambda new: new["spec"].update(group="other.io"),
            'spec.group: Invalid value: "other.io": field is immutable',
        ),
        (
            lambda new: new["spec"]["names"].update(plural="gadgets"),
            'spec.names.plural: Invalid value: "gadgets": field is immutable',
        ),
        (
            lambda new: new["spec"].update(preserveUnknownFields=True),
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, "
            "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ),
        (
            lambda new: new["spec"]["versions"][1].pop("schema"),
            "spec.versions[1].schema.openAPIV3Schema: Required value",
        ),
        (
            lambda new: new["spec"]["versions"][1].update(
                schema={"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}
            ),
            "spec.versions[1].schema.openAPIV3Schema.properties[a].type: Required value: "
            "must not be empty for specified object fields",
        ),
    ],
)
def test_what_an_update_may_not_do(change: Change, message: str) -> None:
    assert updated(change) == [message]


def test_kind_and_scope_may_change_until_the_kind_is_served() -> None:
    old = stored()
    old["status"]["conditions"] = []
    assert updated(lambda new: new["spec"].update(scope="Cluster"), old) == []


def test_what_all_versions_share_is_named_once_at_the_top() -> None:
    def untype_all(new: dict[str, Any]) -> None:
        for version in new["spec"]["versions"]:
            version["schema"] = {"openAPIV3Schema": {}}

    assert updated(untype_all) == [
        "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"
    ]


def test_a_new_storage_version_is_added_to_the_stored_ones() -> None:
    old = stored()
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["storage"] = False
    new["spec"]["versions"][1]["storage"] = True
    prepared = preparation.prepare_update(new, old)
    assert prepared["status"]["storedVersions"] == ["v1", "v2"]
    assert prepared["metadata"]["generation"] == 2
    assert definition.validate_update(prepared, old, None) == []


def test_a_version_that_objects_may_be_stored_in_cannot_go() -> None:
    def drop_first(new: dict[str, Any]) -> None:
        new["spec"]["versions"].pop(0)
        new["spec"]["versions"][0]["storage"] = True

    assert updated(drop_first) == [
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; '
        "v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures "
        "no data remains persisted in v1 and removes v1 from status.storedVersions"
    ]
    assert updated(lambda new: new["spec"]["versions"].pop(1)) == []


def test_a_ca_bundle_is_checked_once_conversion_can_have_worked() -> None:
    webhook = {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "x", "namespace": "y"}, "caBundle": "Zm9v"},
    }

    def convert(new: dict[str, Any]) -> None:
        new["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}

    assert updated(convert) == [
        'spec.conversion.webhookClientConfig.caBundle: Invalid value: "Zm9v": '
        "unable to load root certificates: unable to parse bytes as PEM block"
    ]
    broken = stored()
    convert(broken)
    assert updated(lambda new: None, broken) == []


def test_only_the_names_in_a_status_are_checked() -> None:
    crd = stored()
    crd["status"]["acceptedNames"] = {"plural": "X_"}
    crd["status"]["storedVersions"] = ["v9"]
    found = [str(error) for error in definition.validate_status_update(crd)]
    assert len(found) == 1
    assert found[0].startswith('status.acceptedNames.plural: Invalid value: "X_": a DNS-1035 label')


def test_conditions_are_true_or_not() -> None:
    assert definition.is_established(stored())
    assert not definition.has_condition(stored(), "Terminating")
    assert not definition.is_established({})


def test_an_expensive_rule_that_is_already_there_blocks_only_changes_of_its_schema() -> None:
    old = stored()
    for version in old["spec"]["versions"]:
        rules = [{"rule": "True", "cost": 10**9}]
        schema = {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-validations": rules}}}
        version["schema"] = {"openAPIV3Schema": schema}
    new = copy.deepcopy(old)
    new["spec"]["names"]["shortNames"] = ["wd"]

    assert definition.validate_update(new, old, compile_rules) == []
    new["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["status"] = {"type": "object"}
    found = [error.field for error in definition.validate_update(new, old, compile_rules)]
    assert found
    assert all(field.startswith("spec.versions[1].schema.openAPIV3Schema") for field in found)
