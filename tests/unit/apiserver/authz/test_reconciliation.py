from __future__ import annotations

import copy
from typing import Any

from nagaya.apiserver.authz.reconciliation import Repair, Step, reconcile, repairs

AUTO = "rbac.authorization.kubernetes.io/autoupdate"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
EXTRA = {"verbs": ["list"], "apiGroups": ["x"], "resources": ["y"]}
USER = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "u"}
OTHER = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "v"}


def role(**members: Any) -> dict[str, Any]:
    metadata = {"name": "r", "labels": {"l": "1"}, "annotations": {AUTO: "true"}}
    return {"metadata": metadata, "rules": [RULE], **members}


def binding(**members: Any) -> dict[str, Any]:
    metadata = {"name": "b", "labels": {"l": "1"}, "annotations": {AUTO: "true"}}
    return {"metadata": metadata, "roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": [USER], **members}


def changed(resource: str, expected: dict[str, Any], existing: dict[str, Any]) -> dict[str, Any]:
    before = copy.deepcopy(existing)
    repair = reconcile(resource, expected, existing)
    assert repair is not None
    assert repair.step is Step.UPDATE
    assert existing == before
    assert reconcile(resource, expected, repair.object) is None
    return repair.object


def test_what_is_missing_is_created() -> None:
    assert reconcile("clusterroles", role(), None) == Repair(Step.CREATE, "clusterroles", role())


def test_what_is_complete_is_left_alone() -> None:
    assert reconcile("clusterroles", role(), role()) is None
    assert reconcile("clusterroles", role(), role(rules=[EXTRA, RULE])) is None
    assert reconcile("clusterrolebindings", binding(), binding(subjects=[OTHER, USER])) is None


def test_missing_rules_are_added_after_what_is_there() -> None:
    assert changed("roles", role(), role(rules=[EXTRA]))["rules"] == [EXTRA, RULE]
    assert changed("roles", role(), role(rules=None))["rules"] == [RULE]


def test_labels_and_annotations_are_added_but_not_overwritten() -> None:
    bare = role(metadata={"name": "r", "labels": {"l": "mine"}})
    metadata = changed("clusterroles", role(), bare)["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"l": "mine"}, {AUTO: "true"})


def test_an_administrator_can_say_hands_off() -> None:
    own = role(metadata={"name": "r", "annotations": {AUTO: "false"}}, rules=[])
    assert reconcile("clusterroles", role(), own) is None
    other = binding(
        metadata={"name": "b", "annotations": {AUTO: "false"}}, roleRef={"kind": "ClusterRole", "name": "x"}
    )
    assert reconcile("clusterrolebindings", binding(), other) is None


def test_selectors_are_added_and_unwanted_aggregation_is_ended() -> None:
    first, second = {"matchLabels": {"a": "1"}}, {"matchLabels": {"b": "2"}}
    wanted = role(rules=None, aggregationRule={"clusterRoleSelectors": [first]})
    there = role(rules=[RULE], aggregationRule={"clusterRoleSelectors": [second]})
    assert changed("clusterroles", wanted, there)["aggregationRule"] == {"clusterRoleSelectors": [second, first]}
    assert changed("clusterroles", wanted, role())["aggregationRule"] == {"clusterRoleSelectors": [first]}
    assert "aggregationRule" not in changed("clusterroles", role(), there)


def test_missing_subjects_are_added() -> None:
    assert changed("clusterrolebindings", binding(), binding(subjects=[OTHER]))["subjects"] == [OTHER, USER]
    assert changed("rolebindings", binding(), binding(subjects=None))["subjects"] == [USER]


def test_a_binding_to_another_role_is_made_anew() -> None:
    repair = reconcile("clusterrolebindings", binding(), binding(roleRef={"kind": "ClusterRole", "name": "x"}))
    assert repair == Repair(Step.RECREATE, "clusterrolebindings", binding())


def test_an_empty_server_gets_everything_and_a_complete_one_nothing() -> None:
    stored: dict[tuple[str, str, str], dict[str, Any]] = {}

    def lookup(resource: str, namespace: str, name: str) -> dict[str, Any] | None:
        return stored.get((resource, namespace, name))

    for step, resource, obj in repairs(lookup):
        assert step is Step.CREATE
        stored[resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]] = obj
    assert len(stored) == 133
    assert list(repairs(lookup)) == []
    del stored["clusterroles", "", "view"]
    assert [(each.step, each.object["metadata"]["name"]) for each in repairs(lookup)] == [(Step.CREATE, "view")]
