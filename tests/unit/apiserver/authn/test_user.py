from __future__ import annotations

import pytest

from nagaya.apiserver.authn import user
from nagaya.apiserver.authn.user import User


def test_user_info_leaves_out_what_is_empty() -> None:
    assert User("bob").as_info() == {"username": "bob"}
    full = User("bob", "1", ("a",), {"k": ("v", "w")})
    assert full.as_info() == {"username": "bob", "uid": "1", "groups": ["a"], "extra": {"k": ["v", "w"]}}


def test_an_authenticated_user_is_in_the_group_of_all() -> None:
    assert user.authenticated(User("bob", groups=("dev",))).groups == ("dev", "system:authenticated")


@pytest.mark.parametrize(
    "known",
    [
        user.ANONYMOUS,
        User("system:anonymous", groups=("x",)),
        User("bob", groups=("system:authenticated",)),
        User("bob", groups=("system:unauthenticated",)),
    ],
)
def test_a_user_about_whom_that_is_known_stays_as_it_is(known: User) -> None:
    assert user.authenticated(known) is known


def test_service_accounts_are_users_and_back() -> None:
    name = user.service_account_name("ns1", "sa.1")
    assert name == "system:serviceaccount:ns1:sa.1"
    assert user.split_service_account(name) == ("ns1", "sa.1")
    assert user.service_account_groups("ns1") == ("system:serviceaccounts", "system:serviceaccounts:ns1")


@pytest.mark.parametrize(
    "name",
    [
        "bob",
        "system:serviceaccount:ns1",
        "system:serviceaccount:a:b:c",
        "system:serviceaccount:NS:x",
        "system:serviceaccount:n.s:x",
        "system:serviceaccount::x",
        "system:serviceaccount:n:",
    ],
)
def test_other_names_are_not_service_accounts(name: str) -> None:
    assert user.split_service_account(name) is None


def test_a_node_needs_its_group() -> None:
    assert user.node_of(User("system:node:n1", groups=("system:nodes",))) == "n1"
    assert user.node_of(User("system:node:", groups=("system:nodes",))) == ""
    assert user.node_of(User("system:node:n1")) is None
    assert user.node_of(User("n1", groups=("system:nodes",))) is None


def test_a_node_name_is_a_domain_name() -> None:
    assert user.node_name_in("system:node:n1.example") == "n1.example"
    assert user.node_name_in("system:node:N_1") is None
    assert user.node_name_in("n1") is None


def test_lists_are_quoted_as_go_does() -> None:
    assert user.quoted(["a", 'b"c']) == '["a" "b\\"c"]'
    assert user.quoted([]) == "[]"


def test_users_are_hashable_despite_their_extra() -> None:
    assert len({User("a", extra={"x": ("y",)}), User("a", extra={"x": ("y",)})}) == 1
