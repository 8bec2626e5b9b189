from __future__ import annotations

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.refusal import forbidden

BOB = User("bob")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            Attributes(BOB, "list", resource="pods"),
            'pods is forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster scope',
        ),
        (
            Attributes(BOB, "get", resource="pods", subresource="log", name="x", namespace="n"),
            'pods "x" is forbidden: User "bob" cannot get resource "pods/log" in API group "" in the namespace "n"',
        ),
        (
            Attributes(BOB, "patch", "apps", "v1", "deployments", "scale", "x", "n"),
            'deployments.apps "x" is forbidden: User "bob" cannot patch resource "deployments/scale" '
            'in API group "apps" in the namespace "n"',
        ),
        (
            Attributes(BOB, "get", path="/metrics", is_resource=False),
            'forbidden: User "bob" cannot get path "/metrics"',
        ),
        (
            Attributes(BOB, "get", path="/foo<&>", is_resource=False),
            'forbidden: User "bob" cannot get path "/foo&lt;&amp;&gt;"',
        ),
        (
            Attributes(BOB, "get", resource="pods", name="<x>", namespace="n"),
            'pods "<x>" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "n"',
        ),
    ],
)
def test_what_was_not_allowed_is_told(asked: Attributes, message: str) -> None:
    assert forbidden(asked).message == message


def test_the_reason_follows() -> None:
    error = forbidden(Attributes(BOB, "list", resource="pods"), "RBAC: because")
    assert error.message.endswith("at the cluster scope: RBAC: because")
    assert error.status["details"] == {"kind": "pods"}
    assert (error.code, error.reason) == (403, "Forbidden")


def test_a_path_has_no_details() -> None:
    assert forbidden(Attributes(BOB, "get", path="/x", is_resource=False)).status["details"] == {}
