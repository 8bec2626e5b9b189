from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nagaya.apiserver.server import ApiServer, Config
from nagaya.world import World
from support.in_process import ADMIN, Api, MovingClock

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOATS = "/apis/example.com/v1/namespaces/default/boats"


def boat(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": name, **metadata}}


@pytest.fixture
async def closing() -> AsyncIterator[Api]:
    """A definition that is being deleted, and cannot go before its last object."""
    clock = MovingClock()
    server = await ApiServer.start(Config(tokens={"admin": ADMIN}), World(clock=clock))
    api = Api(server, clock)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "boats", "singular": "boat", "kind": "Boat"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    await api.create(DEFINITIONS, {"metadata": {"name": "boats.example.com"}, "spec": spec})
    await api.create(BOATS, boat("held", finalizers=["example.com/held"]))
    await api.delete(f"{DEFINITIONS}/boats.example.com")
    yield api
    await server.stop()


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
async def test_a_definition_that_is_being_deleted_takes_no_new_objects(closing: Api, query: str) -> None:
    code, answer = await closing.ask("POST", BOATS + query, boat("late"))

    assert code == 403
    assert answer["message"] == (
        'boats.example.com "late" is forbidden: create not allowed while custom resource definition is terminating'
    )


async def test_nor_does_it_take_them_by_apply(closing: Api) -> None:
    code, answer = await closing.ask(
        "PATCH", f"{BOATS}/late?fieldManager=me", boat("late"), kind="application/apply-patch+yaml"
    )

    assert code == 403
    assert answer["reason"] == "Forbidden"
    assert await closing.get(f"{BOATS}/late") is None


async def test_what_it_has_can_be_changed_though_discovery_no_longer_says_so(closing: Api) -> None:
    changed = await closing.merge(f"{BOATS}/held", {"metadata": {"labels": {"a": "b"}}})
    listed = await closing.must("/apis/example.com/v1")

    assert changed["metadata"]["labels"] == {"a": "b"}
    assert listed["resources"][0]["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]


async def test_it_goes_with_its_last_object(closing: Api) -> None:
    await closing.merge(f"{BOATS}/held", {"metadata": {"finalizers": None}})

    assert await closing.get(f"{DEFINITIONS}/boats.example.com") is None


async def test_a_deprecated_version_names_the_best_one_to_use_instead() -> None:
    server = await ApiServer.start(Config(tokens={"admin": ADMIN}))
    api = Api(server, MovingClock())
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [
        {"name": "v1beta1", "served": True, "storage": False, "deprecated": True, "schema": schema},
        {"name": "v1", "served": True, "storage": True, "schema": schema},
        {"name": "v2", "served": True, "storage": False, "schema": schema},
        {"name": "v3", "served": False, "storage": False, "schema": schema},
        {"name": "v4alpha1", "served": True, "storage": False, "deprecated": True, "schema": schema},
    ]
    names = {"plural": "boats", "singular": "boat", "kind": "Boat"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    await api.create(DEFINITIONS, {"metadata": {"name": "boats.example.com"}, "spec": spec})

    served = {each.gvr.version: each.deprecation for each in server.backend.catalog if each.gvr.resource == "boats"}

    assert served == {
        "v1beta1": "example.com/v1beta1 Boat is deprecated; use example.com/v2 Boat",
        "v1": "",
        "v2": "",
        "v4alpha1": "example.com/v4alpha1 Boat is deprecated; use example.com/v2 Boat",
    }
    await server.stop()
