from __future__ import annotations

import pytest

from nagaya.apiserver.web.request import Request
from nagaya.apiserver.web.request_info import read
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("method", "target", "verb", "place"),
    [
        ("GET", "/api/v1/namespaces", "list", ("", "v1", "namespaces", "", "", "")),
        ("GET", "/api/v1/namespaces/a", "get", ("", "v1", "namespaces", "a", "a", "")),
        ("PUT", "/api/v1/namespaces/a/finalize", "update", ("", "v1", "namespaces", "a", "a", "finalize")),
        ("POST", "/api/v1/namespaces/a/pods", "create", ("", "v1", "pods", "a", "", "")),
        ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection", ("", "v1", "pods", "a", "", "")),
        ("DELETE", "/api/v1/namespaces/a/pods/p", "delete", ("", "v1", "pods", "a", "p", "")),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/a/deployments/d/scale",
            "patch",
            ("apps", "v1", "deployments", "a", "d", "scale"),
        ),
        ("GET", "/api/v1/pods?watch=1", "watch", ("", "v1", "pods", "", "", "")),
        ("GET", "/api/v1/pods?watch=false", "list", ("", "v1", "pods", "", "", "")),
        ("GET", "/api/v1/watch/namespaces/a/pods/p", "watch", ("", "v1", "pods", "a", "p", "")),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp", "list", ("", "v1", "pods", "", "p", "")),
        ("GET", "/apis/x.io/v1/things/t", "get", ("x.io", "v1", "things", "", "t", "")),
    ],
)
def test_a_url_is_read_once_for_everyone(method: str, target: str, verb: str, place: tuple[str, ...]) -> None:
    info = read(Request.make(method, target))
    assert info.is_resource
    assert info.verb == verb
    assert (info.group, info.version, info.resource, info.namespace, info.name, info.subresource) == place


@pytest.mark.parametrize("path", ["/", "/healthz", "/api", "/apis/apps", "/apis/apps/v1", "/openapi/v3/api/v1"])
def test_paths_that_are_not_resources(path: str) -> None:
    info = read(Request.make("GET", path))
    assert not info.is_resource
    assert (info.verb, info.path) == ("get", path)
