from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.authz import rbac_validation as validation
from nagaya.apiserver.authz.rbac import GROUP

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def texts(errors: list[Any]) -> list[str]:
    return [str(error) for error in errors]


def binding(*subjects: dict[str, Any], **reference: str) -> dict[str, Any]:
    whole = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "x", **reference}
    return {"metadata": {"name": "b"}, "roleRef": whole, "subjects": list(subjects)}


def test_rules_need_verbs_groups_and_resources() -> None:
    rules = [
        {"apiGroups": [""], "resources": ["pods"]},
        {"verbs": []},
        {"verbs": ["get"], "nonResourceURLs": ["/x"], "apiGroups": [""], "resources": ["p"]},
        {"verbs": [], "nonResourceURLs": ["/x"]},
    ]
    assert texts(validation.validate_cluster_role({"rules": rules})) == [
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[1].verbs: Required value: verbs must contain at least one value",
        "rules[1].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[1].resources: Required value: resource rules must supply at least one resource",
        'rules[2].nonResourceURLs: Invalid value: ["/x"]: '
        "rules cannot apply to both regular resources and non-resource URLs",
        "rules[3].verbs: Required value: verbs must contain at least one value",
    ]


def test_paths_are_not_in_namespaces() -> None:
    rule = {"verbs": ["get"], "nonResourceURLs": ["/x"]}
    assert texts(validation.validate_role({"rules": [rule]})) == [
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'
    ]


def test_a_role_may_be_empty() -> None:
    assert validation.validate_role({"rules": None}) == []
    assert validation.validate_cluster_role({}) == []


def test_an_aggregation_rule_selects_something() -> None:
    assert texts(validation.validate_cluster_role({"aggregationRule": {}})) == [
        "aggregationRule.clusterRoleSelectors: Required value: "
        "at least one clusterRoleSelector required if aggregationRule is non-nil"
    ]


def test_selectors_are_checked_unless_they_were_wrong_before() -> None:
    expressions = [{"key": "x", "operator": "In", "values": ["a b"]}]
    role = {"aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": expressions}]}}
    where = "aggregationRule.clusterRoleSelectors[0]"
    first, second = texts(validation.validate_cluster_role(role))
    assert first.startswith(f'{where}.matchExpressions[0].values[0]: Invalid value: "a b": a valid label must be')
    assert second == f"{where}: Invalid value: null: invalid label selector."
    # A selector that cannot be read is refused in any case.
    assert texts(validation.validate_cluster_role(role, role)) == [second]


def test_a_binding_names_a_role() -> None:
    assert texts(validation.validate_cluster_role_binding(binding(apiGroup="x", kind="Role", name="a/b%"))) == [
        f'roleRef.apiGroup: Unsupported value: "x": supported values: "{GROUP}"',
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        "roleRef.name: Invalid value: \"a/b%\": may not contain '/'",
        "roleRef.name: Invalid value: \"a/b%\": may not contain '%'",
    ]
    assert texts(validation.validate_role_binding(binding(kind="Zap", name=""))) == [
        'roleRef.kind: Unsupported value: "Zap": supported values: "Role", "ClusterRole"',
        "roleRef.name: Required value",
    ]
    assert validation.validate_role_binding(binding(kind="Role")) == []


def test_subjects_are_users_groups_or_accounts() -> None:
    subjects = [
        {"kind": "User", "name": "", "apiGroup": GROUP},
        {"kind": "Group", "name": "g", "apiGroup": "foo"},
        {"kind": "ServiceAccount", "name": "A B"},
        {"kind": "ServiceAccount", "name": "ok", "apiGroup": "x", "namespace": "n"},
        {"kind": "Foo", "name": "x"},
        {"kind": "ServiceAccount"},
    ]
    assert texts(validation.validate_cluster_role_binding(binding(*subjects))) == [
        "subjects[0].name: Required value",
        f'subjects[1].apiGroup: Unsupported value: "foo": supported values: "{GROUP}"',
        f'subjects[2].name: Invalid value: "A B": {SUBDOMAIN}',
        "subjects[2].namespace: Required value",
        'subjects[3].apiGroup: Unsupported value: "x": supported values: ""',
        'subjects[4].kind: Unsupported value: "Foo": supported values: "ServiceAccount", "User", "Group"',
        "subjects[5].name: Required value",
        "subjects[5].namespace: Required value",
    ]


def test_in_a_namespace_an_account_needs_none() -> None:
    assert validation.validate_role_binding(binding({"kind": "ServiceAccount", "name": "x"})) == []


@pytest.mark.parametrize("member", ["apiGroup", "kind", "name"])
def test_a_binding_keeps_its_role(member: str) -> None:
    old = binding()
    new = binding(**{member: "other"})
    errors = texts(validation.validate_role_binding(new, old))
    shown = {"APIGroup": GROUP, "Kind": "ClusterRole", "Name": "x"}
    shown[{"apiGroup": "APIGroup", "kind": "Kind", "name": "Name"}[member]] = "other"
    inner = ",".join(f'"{key}":"{value}"' for key, value in shown.items())
    assert errors[-1] == f"roleRef: Invalid value: {{{inner}}}: cannot change roleRef"
    assert validation.validate_role_binding(old, binding()) == []


def test_groups_are_filled_in() -> None:
    given = {
        "roleRef": {"kind": "ClusterRole", "name": "a"},
        "subjects": [
            {"kind": "User", "name": "u"},
            {"kind": "Group", "name": "g", "apiGroup": "x"},
            {"kind": "ServiceAccount", "name": "s"},
        ],
    }
    validation.default_binding(given)
    assert given == {
        "roleRef": {"kind": "ClusterRole", "name": "a", "apiGroup": GROUP},
        "subjects": [
            {"kind": "User", "name": "u", "apiGroup": GROUP},
            {"kind": "Group", "name": "g", "apiGroup": "x"},
            {"kind": "ServiceAccount", "name": "s"},
        ],
    }
    nothing: dict[str, Any] = {}
    validation.default_binding(nothing)
    assert nothing == {"roleRef": {"apiGroup": GROUP}}
