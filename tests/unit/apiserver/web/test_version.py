from __future__ import annotations

import json

import pytest

from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.web import version
from nagaya.apiserver.web.handler import Exchange
from nagaya.apiserver.web.request import Request, Response
from nagaya.apiserver.web.request_info import read


def asked(method: str, accept: str = "") -> Response:
    request = Request.make(method, "/version", headers={"Accept": accept} if accept else {})
    answer = version.endpoint(version.document("1.2.3"))(Exchange(request, read(request), "audit"))
    assert isinstance(answer, Response)
    return answer


@pytest.mark.parametrize("accept", ["", "*/*", "application/json;as=Table;v=v1;g=meta.k8s.io"])
def test_the_version_is_indented_whoever_asks(accept: str) -> None:
    answer = asked("GET", accept)
    assert answer.body.startswith(b'{\n  "major": "1",\n  "minor": "36"')
    assert json.loads(answer.body)["gitVersion"] == "v1.36.3+nagaya.1.2.3"


@pytest.mark.parametrize("method", ["POST", "PUT", "HEAD", "DELETE", "FOO"])
def test_the_version_can_only_be_read(method: str) -> None:
    with pytest.raises(ApiError) as refused:
        asked(method)
    assert refused.value.code == 405


def test_the_version_is_told_in_json_alone() -> None:
    with pytest.raises(ApiError) as refused:
        asked("GET", "application/yaml")
    assert refused.value.message.endswith("Available representations: application/json")
