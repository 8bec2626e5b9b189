"""What a request is authorised by is what it is served by, however its query is written."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web.request import Request, parse_query
from nagaya.world import World
from support.in_process import ADMIN, Api, MovingClock

_PIECES = st.sampled_from(
    ["watch", "%77atch", "wat%63h", "w", "%", "%7", "+", "=", "&", ";", "1", "false", "%26", "%3D", "%FF", "?", "#"]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_a_peek_finds_what_parsing_finds(text: str) -> None:
    parsed = [value for name, value in parse_qsl(text, keep_blank_values=True) if name == "watch"]
    peeked = Request.make("GET", f"/?{text}").peek("watch")

    assert peeked == (parsed[0] if parsed else None)
    assert parse_query(text).get("watch", []) == parsed


def test_a_very_long_value_counts_as_none_given() -> None:
    assert Request.make("GET", f"/?a=b&c={'x' * 5000}&c=d").peek("c") == ""


@pytest.mark.parametrize(
    "query",
    [
        "%66ieldSelector=&fieldSelector=metadata.name%3Dmine",
        "%66ieldSelector=metadata.name%3Dother&fieldSelector=metadata.name%3Dmine",
        "field%53elector=metadata.name!%3Dnone&fieldSelector=metadata.name%3Dmine",
        "%66ieldSelector=&watch=1&fieldSelector=metadata.name%3Dmine",
    ],
)
async def test_who_may_see_one_object_sees_no_other_by_writing_a_selector_twice(query: str) -> None:
    clock = MovingClock()
    users = {"admin": ADMIN, "reader": User("reader", groups=("system:authenticated",))}
    server = await ApiServer.start(Config(tokens=users), World(clock=clock))
    api = Api(server, clock)
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"], "verbs": ["list", "watch"]}]
    await api.create(f"{rbac}/roles", {"metadata": {"name": "r"}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}
    await api.create(f"{rbac}/rolebindings", {"metadata": {"name": "r"}, "roleRef": role, "subjects": [subject]})
    for name in ("mine", "other"):
        await api.config_map(name)
    path = "/api/v1/namespaces/default/configmaps"

    code, answer = await api.ask("GET", f"{path}?fieldSelector=metadata.name%3Dmine", user="reader")
    assert (code, [each["metadata"]["name"] for each in answer["items"]]) == (200, ["mine"])
    response = await server.handle(Request.make("GET", f"{path}?{query}", b"", {"Authorization": "Bearer reader"}))
    assert (response.status, json.loads(response.body)["reason"]) == (403, "Forbidden")
    await server.stop()
