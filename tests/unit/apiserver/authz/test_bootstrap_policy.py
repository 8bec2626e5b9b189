from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from nagaya.apiserver.authz import bootstrap_policy, rbac_validation
from nagaya.apiserver.authz.rbac import RbacIndex, role_of


def digest(objects: Iterable[dict[str, Any]]) -> tuple[int, str]:
    """Number and digest of objects, sorted, without what only says which kind they are."""
    listed = [{key: value for key, value in each.items() if key not in ("kind", "apiVersion")} for each in objects]
    listed.sort(key=lambda each: (each["metadata"].get("namespace", ""), each["metadata"]["name"]))
    return len(listed), hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()


def test_the_defaults_are_those_of_kube_apiserver_1_36() -> None:
    """The digests are of what a kube-apiserver v1.36.3 lists after its first start (name, labels, annotations,
    content)."""
    assert digest(bootstrap_policy.cluster_roles()) == (
        69,
        "844f3fd71873d2f8e3499a134347afc04c3118b7c8f8d7f896eb50a800dec2cd",
    )
    assert digest(bootstrap_policy.cluster_role_bindings()) == (
        50,
        "68398ed44ed4cffafc9f9f77d909cd7a37e30712e4b7729715ed7fca46c306de",
    )
    assert digest(bootstrap_policy.namespace_roles()) == (
        7,
        "36b65e8bf7f8723abb2898735a83e7a0ea372ec4f1962ff652d9fd4493b9f651",
    )
    assert digest(bootstrap_policy.namespace_role_bindings()) == (
        7,
        "0d575242af1b1be25505807a753a53a96866f97992d6bf15c7b9702adc72944d",
    )


def test_the_defaults_are_valid() -> None:
    for role in bootstrap_policy.cluster_roles():
        assert rbac_validation.validate_cluster_role(role) == []
    for role in bootstrap_policy.namespace_roles():
        assert rbac_validation.validate_role(role) == []
    for binding in bootstrap_policy.cluster_role_bindings():
        assert rbac_validation.validate_cluster_role_binding(binding) == []
    for binding in bootstrap_policy.namespace_role_bindings():
        assert rbac_validation.validate_role_binding(binding) == []


def test_every_binding_finds_its_role() -> None:
    index = RbacIndex()
    for resource, obj in bootstrap_policy.everything():
        index.upsert(resource, obj)
    bound = [*bootstrap_policy.cluster_role_bindings(), *bootstrap_policy.namespace_role_bindings()]
    for binding in bound:
        assert index.role_rules(role_of(binding), binding["metadata"].get("namespace", "")) is not None


def test_each_call_makes_new_objects() -> None:
    first = next(bootstrap_policy.cluster_roles())
    first["metadata"]["labels"]["x"] = "y"
    first["rules"].clear()
    second = next(bootstrap_policy.cluster_roles())
    assert "x" not in second["metadata"]["labels"]
    assert second["rules"]


def test_the_nodes_rules_are_those_of_their_role() -> None:
    assert {"verbs": ["create"], "apiGroups": [""], "resources": ["pods/eviction"]} in bootstrap_policy.node_rules()
