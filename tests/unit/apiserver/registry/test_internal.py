"""The server's own hands."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from nagaya.apiserver.admission.attributes import Attributes
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.server import ApiServer, Config

LEASES = GroupResource("coordination.k8s.io", "leases")
CONFIG_MAPS = GroupResource("", "configmaps")


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    server = await ApiServer.start(Config())
    yield server
    await server.stop()


@pytest.mark.parametrize("resource", [LEASES, CONFIG_MAPS], ids=str)
async def test_a_change_of_what_is_not_there_makes_nothing(server: ApiServer, resource: GroupResource) -> None:
    seen: list[JsonObject] = []

    def change(obj: JsonObject) -> JsonObject:
        seen.append(obj)
        return obj

    hands = Internal(server.backend, "test")
    assert await hands.change(resource, "default", "nope", change) is None
    assert seen == []
    assert hands.get(resource, "default", "nope") is None


async def test_a_change_that_changes_nothing_is_not_written(server: ApiServer) -> None:
    hands = Internal(server.backend, "test")
    made = await hands.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}, "data": {"x": "1"}})
    for change in (lambda _: None, lambda obj: obj):
        same = await hands.change(CONFIG_MAPS, "default", "a", change)
        assert same == made


async def test_what_is_left_as_it_is_troubles_nobody(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Internal(server.backend, "test")
    made = await hands.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}, "data": {"x": "1"}})
    asked: list[str] = []

    async def admit(write: Attributes) -> None:
        asked.append(write.name)

    monkeypatch.setattr(server.backend.admission, "mutate", admit)
    assert await hands.change(CONFIG_MAPS, "default", "a", lambda _: None) == made
    assert asked == []
    await hands.change(CONFIG_MAPS, "default", "a", lambda obj: {**obj, "data": {"x": "2"}})
    assert asked == ["a"]
