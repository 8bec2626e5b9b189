from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.authorizer import PrivilegedGroup, Union
from nagaya.apiserver.authz.escalation import EscalationCheck, only_concerns_collector
from nagaya.apiserver.authz.rbac import GROUP, RbacIndex
from nagaya.apiserver.meta.status import ApiError

BOB = User("bob", groups=("dev", "ops"))
PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
SECRETS = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}


def obj(name: str, **members: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **members}


def bound_to(kind: str, name: str) -> dict[str, Any]:
    return {"roleRef": {"apiGroup": GROUP, "kind": kind, "name": name}}


class Court:
    """A check with a bob who may do what the given rules say."""

    def __init__(self, *rules: dict[str, Any]) -> None:
        self.index = RbacIndex()
        self.index.upsert("clusterroles", obj("bobs", rules=list(rules)))
        self.index.upsert("clusterroles", obj("secret-reader", rules=[SECRETS]))
        self.index.upsert("clusterroles", obj("pod-reader", rules=[PODS]))
        who = {"subjects": [{"kind": "User", "name": "bob"}]}
        self.index.upsert("clusterrolebindings", obj("bobs", **bound_to("ClusterRole", "bobs"), **who))
        self.check = EscalationCheck(self.index, Union([PrivilegedGroup(), self.index]))

    def role(self, new: dict[str, Any], old: dict[str, Any] | None = None, **where: str) -> ApiError | None:
        resource = where.pop("resource", "clusterroles")
        user = BOB
        try:
            self.check.check_role(user, resource, new, old, **where)
        except ApiError as error:
            return error
        return None

    def binding(self, new: dict[str, Any], old: dict[str, Any] | None = None, namespace: str = "") -> ApiError | None:
        resource = "rolebindings" if namespace else "clusterrolebindings"
        try:
            self.check.check_binding(BOB, resource, new, old, namespace)
        except ApiError as error:
            return error
        return None


def test_what_one_has_can_be_granted() -> None:
    court = Court(PODS)
    assert court.role(obj("r", rules=[PODS])) is None
    assert court.role(obj("r", rules=[])) is None
    assert court.binding(obj("b", **bound_to("ClusterRole", "pod-reader"))) is None


def test_what_one_lacks_is_told() -> None:
    wanted = [
        {"verbs": ["get", "list", "delete"], "apiGroups": [""], "resources": ["pods", "secrets"]},
        {"verbs": ["get"], "nonResourceURLs": ["/foo"]},
    ]
    error = Court(PODS).role(obj("esc1", rules=wanted))
    assert error is not None
    assert error.message == (
        'clusterroles.rbac.authorization.k8s.io "esc1" is forbidden: user "bob" (groups=["dev" "ops"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "delete"]}\n'
        '{NonResourceURLs:["/foo"], Verbs:["get"]}'
    )
    assert error.status["details"] == {"name": "esc1", "group": GROUP, "kind": "clusterroles"}


def test_missing_roles_of_the_granter_are_told_too() -> None:
    court = Court(PODS)
    who = {"subjects": [{"kind": "User", "name": "bob"}]}
    court.index.upsert("clusterrolebindings", obj("x", **bound_to("ClusterRole", "gone"), **who))
    error = court.role(obj("r", rules=[SECRETS]), resource="roles", namespace="n")
    assert error is not None
    assert error.message.endswith(
        'Verbs:["get"]}; resolution errors: [roles.rbac.authorization.k8s.io "gone" not found]'
    )


def test_the_verb_escalate_allows_more() -> None:
    court = Court({"verbs": ["escalate"], "apiGroups": [GROUP], "resources": ["clusterroles"], "resourceNames": ["r"]})
    assert court.role(obj("r", rules=[SECRETS]), obj("r"), name="r") is None
    assert court.role(obj("q", rules=[SECRETS]), obj("q"), name="q") is not None
    assert court.role(obj("r", rules=[SECRETS]), resource="roles", namespace="n", name="r") is not None


def test_the_verb_bind_allows_more() -> None:
    rule = {"verbs": ["bind"], "apiGroups": [GROUP], "resources": ["clusterroles"]}
    court = Court(rule | {"resourceNames": ["secret-reader"]})
    assert court.binding(obj("b", **bound_to("ClusterRole", "secret-reader"))) is None
    assert court.binding(obj("b", **bound_to("ClusterRole", "secret-reader")), namespace="n") is None
    assert court.binding(obj("b", **bound_to("ClusterRole", "pod-reader"))) is not None


def test_members_of_masters_may_grant_anything() -> None:
    court = Court()
    boss = User("boss", groups=("system:masters",))
    court.check.check_role(boss, "clusterroles", obj("r", rules=[SECRETS]), None)
    court.check.check_binding(boss, "clusterrolebindings", obj("b", **bound_to("ClusterRole", "gone")), None)


def test_aggregation_is_for_administrators() -> None:
    aggregating = obj("r", rules=[], aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})
    error = Court(PODS).role(aggregating)
    assert error is not None
    assert error.message.endswith(": must have cluster-admin privileges to use the aggregationRule")
    assert Court(PODS).role(obj("r", rules=[]), aggregating) is not None
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    paths = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    assert Court(everything, paths).role(aggregating) is None


@pytest.mark.parametrize(
    ("reference", "namespace", "code", "message"),
    [
        (bound_to("ClusterRole", "nope"), "", 404, 'clusterrolebindings.rbac.authorization.k8s.io "nope" not found'),
        (bound_to("Role", "nope"), "n", 404, 'rolebindings.rbac.authorization.k8s.io "nope" not found'),
        (bound_to("Foo", "nope"), "", 500, 'unsupported role reference kind: "Foo"'),
        (bound_to("Role", "nope"), "", 400, "Namespace parameter required."),
        ({}, "n", 500, 'unsupported role reference kind: ""'),
    ],
)
def test_a_role_that_cannot_be_found_cannot_be_bound(
    reference: dict[str, Any], namespace: str, code: int, message: str
) -> None:
    error = Court().binding(obj("b", **reference), namespace=namespace)
    assert error is not None
    assert (error.code, error.message) == (code, message)


def test_a_binding_is_refused_with_what_is_lacking() -> None:
    error = Court(PODS).binding(obj("b1", **bound_to("ClusterRole", "secret-reader")), namespace="n")
    assert error is not None
    assert error.message == (
        'rolebindings.rbac.authorization.k8s.io "b1" is forbidden: user "bob" (groups=["dev" "ops"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    )


def test_garbage_collection_may_go_on() -> None:
    old = obj("r", rules=[SECRETS])
    court = Court()
    kept = {"metadata": {"name": "r", "finalizers": ["x"], "ownerReferences": [{"uid": "1"}]}, "rules": [SECRETS]}
    assert court.role(kept, old, name="r") is None
    labelled = {"metadata": {"name": "r", "labels": {"a": "b"}}, "rules": [SECRETS]}
    assert court.role(labelled, old, name="r") is not None
    binding = obj("b", **bound_to("ClusterRole", "secret-reader"))
    assert court.binding({**binding, "metadata": {"name": "b", "finalizers": ["x"]}}, binding) is None


def test_empty_and_missing_members_are_the_same_to_the_collector() -> None:
    assert only_concerns_collector({"metadata": {"name": "a", "labels": {}}, "rules": []}, {"metadata": {"name": "a"}})
