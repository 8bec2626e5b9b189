from __future__ import annotations

import random
from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import Decision, Verdict
from nagaya.apiserver.authz.rbac import RESOURCES, RbacIndex
from support.thoroughness import seed_of

READ_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}


def role(name: str, *rules: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, "rules": list(rules)}


def subject(kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    return {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})}


def binding(name: str, kind: str, target: str, *subjects: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"metadata": metadata, "roleRef": {"kind": kind, "name": target}, "subjects": list(subjects)}


@pytest.fixture
def index() -> RbacIndex:
    return RbacIndex()


def ask(index: RbacIndex, user: User, namespace: str = "", verb: str = "list", resource: str = "pods") -> Decision:
    return index.authorize(Attributes(user, verb, "", "v1", resource, namespace=namespace))


def test_without_bindings_there_is_no_opinion(index: RbacIndex) -> None:
    assert ask(index, User("bob")) == Decision(Verdict.NO_OPINION, "")


@pytest.mark.parametrize(
    ("who", "user", "described"),
    [
        (subject("User", "bob"), User("bob"), 'User "bob"'),
        (subject("Group", "dev"), User("joe", groups=("x", "dev")), 'Group "dev"'),
        (
            subject("ServiceAccount", "s", "n"),
            User("system:serviceaccount:n:s"),
            'ServiceAccount "s/n"',
        ),
    ],
)
def test_a_cluster_binding_holds_everywhere(index: RbacIndex, who: dict[str, Any], user: User, described: str) -> None:
    index.upsert("clusterroles", role("reader", READ_PODS))
    index.upsert("clusterrolebindings", binding("b", "ClusterRole", "reader", subject("User", "other"), who))
    reason = f'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to {described}'
    for namespace in ("", "default"):
        assert ask(index, user, namespace) == Decision(Verdict.ALLOW, reason)
    assert not ask(index, user, verb="delete").allowed
    assert not ask(index, User("stranger")).allowed


def test_the_first_subject_that_applies_is_named(index: RbacIndex) -> None:
    index.upsert("clusterroles", role("reader", READ_PODS))
    subjects = (subject("Group", "dev"), subject("User", "bob"))
    index.upsert("clusterrolebindings", binding("b", "ClusterRole", "reader", *subjects))
    assert ask(index, User("bob", groups=("dev",))).reason.endswith('to Group "dev"')
    assert ask(index, User("bob")).reason.endswith('to User "bob"')


def test_a_role_binding_holds_in_its_namespace(index: RbacIndex) -> None:
    index.upsert("roles", role("reader", READ_PODS, namespace="here"))
    who = subject("ServiceAccount", "s")
    index.upsert("rolebindings", binding("b", "Role", "reader", who, namespace="here"))
    account = User("system:serviceaccount:here:s")
    assert ask(index, account, "here") == Decision(
        Verdict.ALLOW, 'RBAC: allowed by RoleBinding "b/here" of Role "reader" to ServiceAccount "s/here"'
    )
    assert not ask(index, account, "there").allowed
    assert not ask(index, account).allowed
    assert not ask(index, User("system:serviceaccount:there:s"), "here").allowed


def test_a_cluster_role_can_be_bound_in_a_namespace(index: RbacIndex) -> None:
    index.upsert("clusterroles", role("reader", READ_PODS))
    index.upsert("rolebindings", binding("b", "ClusterRole", "reader", subject("User", "bob"), namespace="here"))
    assert ask(index, User("bob"), "here").allowed
    assert not ask(index, User("bob"), "there").allowed


def test_a_service_account_without_a_namespace_matches_nobody_cluster_wide(index: RbacIndex) -> None:
    index.upsert("clusterroles", role("reader", READ_PODS))
    index.upsert("clusterrolebindings", binding("b", "ClusterRole", "reader", subject("ServiceAccount", "s")))
    assert not ask(index, User("system:serviceaccount::s")).allowed


def test_paths_are_allowed_by_cluster_roles(index: RbacIndex) -> None:
    index.upsert("clusterroles", role("r", {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/x/*"]}))
    index.upsert("clusterrolebindings", binding("b", "ClusterRole", "r", subject("User", "bob")))

    def allowed(path: str, verb: str = "get") -> bool:
        return index.authorize(Attributes(User("bob"), verb, path=path, is_resource=False)).allowed

    assert allowed("/healthz")
    assert allowed("/x/y/z")
    assert not allowed("/healthz/etcd")
    assert not allowed("/healthz", "post")


def test_missing_roles_are_told_when_nothing_allows(index: RbacIndex) -> None:
    bob = subject("User", "bob")
    index.upsert("clusterrolebindings", binding("b2", "ClusterRole", "m2", bob, subject("Group", "dev")))
    index.upsert("clusterrolebindings", binding("b1", "ClusterRole", "m1", bob))
    index.upsert("rolebindings", binding("b", "Role", "m3", bob, namespace="here"))
    user = User("bob", groups=("dev",))
    assert ask(index, user).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "m1" not found, '
        'clusterrole.rbac.authorization.k8s.io "m2" not found]'
    )
    assert ask(index, user, "here").reason.endswith(', role.rbac.authorization.k8s.io "m3" not found]')
    index.upsert("clusterroles", role("m1", READ_PODS))
    assert ask(index, user).allowed
    assert ask(index, user, verb="delete").reason == ('RBAC: clusterrole.rbac.authorization.k8s.io "m2" not found')


def test_a_reference_to_another_kind_is_told(index: RbacIndex) -> None:
    index.upsert("clusterrolebindings", binding("b", "Foo", "x", subject("User", "bob")))
    assert ask(index, User("bob")).reason == 'RBAC: unsupported role reference kind: "Foo"'


def test_changes_count_at_once(index: RbacIndex) -> None:
    bob = User("bob")
    index.upsert("clusterroles", role("reader", READ_PODS))
    index.upsert("clusterrolebindings", binding("b", "ClusterRole", "reader", subject("User", "bob")))
    assert ask(index, bob).allowed
    index.upsert("clusterroles", role("reader"))
    assert not ask(index, bob).allowed
    index.upsert("clusterroles", role("reader", READ_PODS))
    index.upsert("clusterrolebindings", binding("b", "ClusterRole", "reader", subject("User", "joe")))
    assert not ask(index, bob).allowed
    index.upsert("clusterrolebindings", binding("b", "ClusterRole", "reader", subject("User", "bob")))
    index.delete("clusterrolebindings", "", "b")
    assert not ask(index, bob).allowed
    index.delete("clusterrolebindings", "", "never there")
    index.delete("rolebindings", "nowhere", "x")


def test_an_unknown_resource_is_a_mistake(index: RbacIndex) -> None:
    with pytest.raises(ValueError, match="not a resource of rbac"):
        index.upsert("pods", role("x"))


def test_all_rules_of_a_user_can_be_listed(index: RbacIndex) -> None:
    named = {**READ_PODS, "resourceNames": ["a"]}
    path = {"verbs": ["get"], "nonResourceURLs": ["/x"]}
    bob = subject("User", "bob")
    index.upsert("clusterroles", role("c", named, path))
    index.upsert("clusterrolebindings", binding("b", "ClusterRole", "c", bob, subject("Group", "dev")))
    index.upsert("clusterrolebindings", binding("a", "ClusterRole", "gone", bob))
    index.upsert("roles", role("r", READ_PODS, namespace="here"))
    index.upsert("rolebindings", binding("b", "Role", "r", bob, namespace="here"))
    rules = index.rules_for(User("bob", groups=("dev",)), "here")
    assert rules.resource_rules == [named, READ_PODS]
    assert rules.non_resource_rules == [path]
    assert rules.errors == ('clusterrole.rbac.authorization.k8s.io "gone" not found',)
    assert not rules.incomplete


def test_the_index_after_many_changes_is_the_index_of_what_is_left() -> None:
    """Objects come, change and go in any order; what counts is only which of them are there in the end."""
    chance = random.Random(seed_of(3))
    users = ["bob", "joe", "system:serviceaccount:n1:s"]

    def subjects() -> list[dict[str, Any]]:
        choices = [
            subject("User", "bob"),
            subject("User", "joe"),
            subject("Group", "dev"),
            subject("ServiceAccount", "s", "n1"),
        ]
        return chance.sample(choices, chance.randint(0, 2))

    def make(resource: str) -> dict[str, Any]:
        name = f"x{chance.randint(0, 2)}"
        namespace = chance.choice(["n1", "n2"]) if resource in ("roles", "rolebindings") else ""
        if resource.endswith("roles"):
            verbs = chance.sample(["get", "list"], 1)
            return role(name, {**READ_PODS, "verbs": verbs}, namespace=namespace)
        kind = "ClusterRole" if resource == "clusterrolebindings" else chance.choice(["Role", "ClusterRole"])
        target = f"x{chance.randint(0, 2)}"
        return binding(name, kind, target, *subjects(), namespace=namespace)

    changed, left = RbacIndex(), {resource: {} for resource in RESOURCES}
    for _ in range(400):
        resource = chance.choice(RESOURCES)
        obj = make(resource)
        key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        if chance.random() < 0.3:
            changed.delete(resource, *key)
            left[resource].pop(key, None)
        else:
            changed.upsert(resource, obj)
            left[resource][key] = obj
        fresh = RbacIndex()
        for each, objects in left.items():
            fresh.replace(each, objects.values())
        name = chance.choice(users)
        user = User(name, groups=("dev",) if chance.random() < 0.3 else ())
        namespace = chance.choice(["", "n1", "n2"])
        assert changed.resolve(user, namespace) == fresh.resolve(user, namespace)
        for verb in ("get", "list"):
            decisions = [ask(each, user, namespace, verb).allowed for each in (changed, fresh)]
            rules, _missing = fresh.resolve(user, namespace)
            assert decisions == [any(verb in rule["verbs"] for rule in rules)] * 2
    changed.replace("clusterrolebindings", [])
    changed.replace("rolebindings", [])
    assert changed.resolve(User("bob", groups=("dev",)), "n1") == ([], [])
