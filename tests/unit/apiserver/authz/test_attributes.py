from __future__ import annotations

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import of_request
from nagaya.apiserver.web.request_info import RequestInfo

BOB = User("bob")


def test_a_resource_request_is_taken_over() -> None:
    info = RequestInfo("/p", "list", True, "apps", "v1", "n", "deployments", "scale", "x")
    info.field_selector, info.label_selector = "metadata.name=x,spec.nodeName!=y", "a in (b,c),!d"
    asked = of_request(BOB, info)
    assert (asked.user, asked.verb, asked.group, asked.version) == (BOB, "list", "apps", "v1")
    assert (asked.resource, asked.subresource, asked.name, asked.namespace) == ("deployments", "scale", "x", "n")
    assert [(each.field, each.operator, each.value) for each in asked.fields] == [
        ("metadata.name", "=", "x"),
        ("spec.nodeName", "!=", "y"),
    ]
    assert [each.key for each in asked.labels] == ["a", "d"]


def test_a_selector_that_cannot_be_read_counts_as_none() -> None:
    info = RequestInfo("/p", "list", True, "", "v1", "n", "pods")
    info.field_selector, info.label_selector = "a", "a in (b"
    asked = of_request(BOB, info)
    assert (asked.fields, asked.labels) == ((), ())


def test_other_requests_have_a_path_only() -> None:
    asked = of_request(BOB, RequestInfo("/healthz", "get"))
    assert (asked.is_resource, asked.path, asked.verb) == (False, "/healthz", "get")
