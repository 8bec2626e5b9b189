"""Defaults and checks that whoever starts a server brings along."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web.request import Request

BOATS = "/apis/example.com/v1/namespaces/default/boats"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "boats.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@dataclass(frozen=True, slots=True)
class Wrong:
    field: str
    body: str
    reason: str = "FieldValueInvalid"


class Crews:
    """A boat has a crew of one unless it says otherwise; nobody is put ashore; pirates are not served."""

    beside = None
    keeps = None

    def default(self, new: Mapping[str, Any], old: Mapping[str, Any] | None, /) -> Mapping[str, Any]:
        if new["spec"].get("flag") == "skull":
            raise ValueError("no pirates")
        return {**new, "spec": {"crew": 1, **new["spec"]}}

    def validate(self, new: Mapping[str, Any], old: Mapping[str, Any] | None, /) -> Sequence[Wrong]:
        before = 0 if old is None else old["spec"]["crew"]
        if new["spec"]["crew"] < before:
            return [Wrong("spec.crew", f"Invalid value: {new['spec']['crew']}: must not be less than {before}")]
        return []


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    tokens = {"admin": User("admin", groups=("system:masters",))}
    server = await ApiServer.start(Config(tokens=tokens, rules={"boats.example.com": Crews()}))
    await ask(server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    await server.settled()
    yield server
    await server.stop()


async def ask(server: ApiServer, method: str, path: str, content: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"Authorization": "Bearer admin", "Content-Type": kind}
    answer = await server.handle(Request.make(method, path, json.dumps(content).encode(), headers))
    return answer.status, json.loads(answer.body)


def boat(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "a"}, "spec": spec}


async def test_what_was_left_out_is_filled_in(server: ApiServer) -> None:
    code, made = await ask(server, "POST", BOATS, boat())
    assert (code, made["spec"]) == (201, {"crew": 1})


async def test_a_wrong_field_is_named_as_for_any_other_kind(server: ApiServer) -> None:
    await ask(server, "POST", BOATS, boat(crew=3))
    code, answer = await ask(server, "PATCH", f"{BOATS}/a", {"spec": {"crew": 2}})
    assert code == 422
    assert answer["message"] == 'Boat.example.com "a" is invalid: spec.crew: Invalid value: 2: must not be less than 3'
    assert answer["details"]["causes"] == [
        {
            "reason": "FieldValueInvalid",
            "message": "Invalid value: 2: must not be less than 3",
            "field": "spec.crew",
        }
    ]


async def test_a_write_that_is_refused_as_a_whole_is_forbidden(server: ApiServer) -> None:
    code, answer = await ask(server, "POST", BOATS, boat(flag="skull"))
    assert (code, answer["message"]) == (403, 'boats.example.com "a" is forbidden: no pirates')


async def test_status_is_not_looked_at(server: ApiServer) -> None:
    await ask(server, "POST", BOATS, boat(crew=3))
    code, answer = await ask(server, "PATCH", f"{BOATS}/a/status", {"status": {"afloat": True}})
    assert (code, answer["status"], answer["spec"]) == (200, {"afloat": True}, {"crew": 3})
