from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.authn.impersonation import Impersonation, requested
from nagaya.apiserver.authn.user import User, authenticated
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import PrivilegedGroup, Union
from nagaya.apiserver.authz.rbac import RbacIndex
from nagaya.apiserver.meta.status import ApiError
from support.subtest_cases import subtest_cases

AUTHN = "authentication.k8s.io"


def rule(verbs: str, groups: str, resources: str, *names: str) -> dict[str, Any]:
    found = {"verbs": verbs.split(), "apiGroups": [groups.replace("core", "")], "resources": resources.split()}
    return found | ({"resourceNames": list(names)} if names else {})


def on(mode: str) -> dict[str, Any]:
    return rule(f"impersonate-on:{mode}:list", "core", "pods")


def gate(*rules: dict[str, Any]) -> Impersonation:
    index = RbacIndex()
    index.upsert("clusterroles", {"metadata": {"name": "r"}, "rules": list(rules)})
    reference = {"kind": "ClusterRole", "name": "r"}
    subjects = [{"kind": "Group", "name": "dev"}]
    index.upsert("clusterrolebindings", {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects})
    return Impersonation(Union([PrivilegedGroup(), index]))


BOB = authenticated(User("bob", groups=("dev",)))
BOSS = User("boss", groups=("system:masters",))


def try_as(way: Impersonation, wanted: User, requester: User = BOB) -> tuple[str, tuple[str, ...], str]:
    found = way.impersonate(wanted, Attributes(requester, "list", "", "v1", "pods"))
    return found.user.name, found.user.groups, found.constraint


def refusal(way: Impersonation, wanted: User, requester: User = BOB) -> str:
    with pytest.raises(ApiError) as refused:
        try_as(way, wanted, requester)
    assert refused.value.code == 403
    return refused.value.message


def test_no_headers_mean_no_impersonation() -> None:
    assert requested([("accept", "x"), ("impersonate-user", "")]) is None


def test_headers_tell_whom_to_act_as() -> None:
    headers = [
        ("impersonate-user", "joe"),
        ("impersonate-user", "ignored"),
        ("impersonate-group", "g1"),
        ("impersonate-group", ""),
        ("impersonate-uid", "u"),
        ("impersonate-extra-scopes", "a"),
        ("impersonate-extra-acme.com%2fproject", "p"),
        ("impersonate-extra-scopes", "b"),
        ("impersonate-extra-100%", "c"),
    ]
    assert requested(headers) == User(
        "joe", "u", ("g1", ""), {"scopes": ("a", "b"), "acme.com/project": ("p",), "100%": ("c",)}
    )


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        (
            [("impersonate-group", "g1"), ("impersonate-group", 'g"2'), ("impersonate-extra-foo", "a")],
            'UID:"", Groups:[]string{"g1", "g\\"2"}, Extra:map[string][]string{"foo":[]string{"a"}}',
        ),
        ([("impersonate-uid", "x")], 'UID:"x", Groups:[]string(nil), Extra:map[string][]string(nil)'),
        (
            [("impersonate-extra-foo", "a"), ("impersonate-extra-bar", "")],
            'UID:"", Groups:[]string(nil), Extra:map[string][]string{"bar":[]string{""}, "foo":[]string{"a"}}',
        ),
    ],
)
def test_parts_without_a_name_are_a_mistake(headers: list[tuple[str, str]], shown: str) -> None:
    with pytest.raises(ApiError) as refused:
        requested(headers)
    assert refused.value.code == 400
    assert refused.value.message == (
        f'requested &user.DefaultInfo{{Name:"", {shown}}} without impersonating a user name'
    )


@subtest_cases(
    ("wanted", "groups"),
    [
        (User("joe"), ("system:authenticated",)),
        (User("joe", groups=("g",)), ("g", "system:authenticated")),
        (User("joe", groups=("system:unauthenticated",)), ("system:unauthenticated",)),
        (User("joe", groups=("system:authenticated",)), ("system:authenticated",)),
        (User("system:anonymous"), ("system:unauthenticated",)),
        (User("system:anonymous", groups=("x",)), ("x", "system:unauthenticated")),
        (
            User("system:serviceaccount:n:s"),
            ("system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"),
        ),
        (User("system:serviceaccount:n:s", groups=("g",)), ("g", "system:authenticated")),
        (User("system:node:n1"), ("system:authenticated",)),
    ],
)
def test_the_old_verb_allows_everyone_with_the_groups_that_belong_to_them(
    wanted: User, groups: tuple[str, ...]
) -> None:
    way = gate(rule("impersonate", "core", "users groups serviceaccounts"))
    assert try_as(way, wanted) == (wanted.name, groups, "")


def test_members_of_masters_may_act_as_anyone() -> None:
    name, groups, constraint = try_as(gate(), User("joe", groups=("system:masters",)), BOSS)
    assert (name, groups, constraint) == ("joe", ("system:masters", "system:authenticated"), "")


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (User("joe"), 'pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods"'),
        (
            User("system:serviceaccount:n:s"),
            'pods is forbidden: User "bob" cannot impersonate-on:serviceaccount:list resource "pods"',
        ),
        (
            User("system:serviceaccount:n:s", groups=("g",)),
            'serviceaccounts "s" is forbidden: User "bob" cannot impersonate resource "serviceaccounts" '
            'in API group "" in the namespace "n"',
        ),
        (
            User("system:node:n1"),
            'pods is forbidden: User "bob" cannot impersonate-on:arbitrary-node:list resource "pods"',
        ),
        (
            User("system:node:n1", groups=("g",)),
            'users "system:node:n1" is forbidden: User "bob" cannot impersonate resource "users" in API group ""',
        ),
    ],
)
def test_without_rights_the_first_way_that_applies_says_what_is_missing(wanted: User, problem: str) -> None:
    assert refusal(gate(), wanted).startswith(problem)


def test_every_part_of_the_user_needs_a_right_of_its_own() -> None:
    way = gate(rule("impersonate", "core", "users"))
    assert try_as(way, User("joe"))[0] == "joe"
    # Having worked once, the old way is tried first, so its refusals are the ones that are told.
    assert refusal(way, User("joe", groups=("g1",))) == (
        'groups "g1" is forbidden: User "bob" cannot impersonate resource "groups" in API group "" at the cluster scope'
    )
    assert refusal(way, User("joe", "u")) == (
        'uids.authentication.k8s.io "u" is forbidden: User "bob" cannot impersonate resource "uids" '
        'in API group "authentication.k8s.io" at the cluster scope'
    )
    assert refusal(way, User("joe", extra={"foo": ("g1",)})) == (
        'userextras.authentication.k8s.io "g1" is forbidden: User "bob" cannot impersonate resource "userextras/foo" '
        'in API group "authentication.k8s.io" at the cluster scope'
    )


def test_a_constrained_right_needs_both_halves() -> None:
    be, do = rule("impersonate:user-info", AUTHN, "users", "joe"), on("user-info")
    assert try_as(gate(be, do), User("joe")) == ("joe", ("system:authenticated",), "impersonate:user-info")
    assert "cannot impersonate-on:user-info:list" in refusal(gate(be), User("joe"))
    assert refusal(gate(do), User("joe")).startswith(
        'users.authentication.k8s.io "joe" is forbidden: User "bob" cannot impersonate:user-info resource "users"'
    )


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (User("joe", groups=("system:masters",)), "impersonating the system:masters group is not allowed"),
        (User("joe", groups=("",)), "impersonating the empty string group is not allowed"),
        (User("joe", extra={"": ("x",)}), "impersonating the empty string key in extra is not allowed"),
        (
            User("joe", extra={"foo": ("x",)}),
            "impersonating an invalid key in extra is not allowed: "
            'extra.key: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")',
        ),
        (User("joe", extra={"a.io/b": ("",)}), "impersonating the empty string value in extra is not allowed"),
        (User("joe", extra={"a.io/B": ("x",)}), 'impersonating a non-lowercase key in extra is not allowed: "a.io/B"'),
    ],
)
def test_some_things_are_never_allowed_in_the_constrained_way(wanted: User, problem: str) -> None:
    way = gate(rule("impersonate:user-info", AUTHN, "*"), on("user-info"))
    assert refusal(way, wanted).endswith(f": {problem}")


def test_many_groups_or_extras_may_be_allowed_at_once() -> None:
    many = User("joe", groups=("a", "b", "c", "d"), extra={"a.io/b": ("1", "2", "3", "4")})
    names = rule("impersonate:user-info", AUTHN, "users")
    groups = rule("impersonate:user-info", AUTHN, "groups", "*")
    extras = rule("impersonate:user-info", AUTHN, "userextras/*", "*")
    assert try_as(gate(names, groups, extras, on("user-info")), many)[0] == "joe"
    assert 'groups.authentication.k8s.io "a" is forbidden' in refusal(gate(names, on("user-info")), many)
    one_by_one = rule("impersonate:user-info", AUTHN, "groups userextras/a.io/b")
    assert try_as(gate(names, one_by_one, on("user-info")), many)[0] == "joe"


def test_a_service_account_is_impersonated_with_its_own_groups() -> None:
    way = gate(rule("impersonate:serviceaccount", AUTHN, "serviceaccounts"), on("serviceaccount"))
    name, groups, constraint = try_as(way, User("system:serviceaccount:n:s"))
    assert name == "system:serviceaccount:n:s"
    assert groups == ("system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated")
    assert constraint == "impersonate:serviceaccount"


def test_a_node_is_impersonated_as_a_node() -> None:
    way = gate(rule("impersonate:arbitrary-node", AUTHN, "nodes", "n1"), on("arbitrary-node"))
    assert try_as(way, User("system:node:n1"))[1] == ("system:nodes", "system:authenticated")
    assert refusal(way, User("system:node:n2")).startswith('nodes.authentication.k8s.io "n2" is forbidden')


def test_a_pod_may_act_as_its_own_node_only() -> None:
    way = gate(rule("impersonate:associated-node", AUTHN, "nodes"), on("associated-node"))
    extra = {"authentication.kubernetes.io/node-name": ("n1",)}
    pod = User("system:serviceaccount:n:s", groups=("dev",), extra=extra)
    name, groups, constraint = try_as(way, User("system:node:n1"), pod)
    assert (name, groups) == ("system:node:n1", ("system:nodes", "system:authenticated"))
    assert constraint == "impersonate:associated-node"
    assert "arbitrary-node" in refusal(way, User("system:node:n2"), pod)
    assert "arbitrary-node" in refusal(way, User("system:node:n1"), User("bob", groups=("dev",), extra=extra))


def test_acting_as_an_associated_node_is_refused_without_naming_it() -> None:
    extra = {"authentication.kubernetes.io/node-name": ("n1",)}
    pod = User("system:serviceaccount:n:s", groups=("dev",), extra=extra)
    assert refusal(gate(on("associated-node")), User("system:node:n1"), pod).startswith(
        'nodes.authentication.k8s.io "*" is forbidden'
    )
