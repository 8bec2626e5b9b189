from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import Condition, OwnerReference
from nagaya.api.model import Model
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.api import Api
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.conditions import condition, set_condition
from nagaya.kube.errors import Conflict, Invalid
from nagaya.kube.key import Key
from nagaya.kube.patches import Apply, Merge
from nagaya.kube.status_change import News
from nagaya.world import World

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 11, 1, 13, 0, tzinfo=UTC)
A = Key("default", "a")
CONDITION = {
    "type": "object",
    "required": ["type", "status", "reason", "message", "lastTransitionTime"],
    "properties": {
        **{name: {"type": "string"} for name in ("type", "status", "reason", "message", "lastTransitionTime")},
        "observedGeneration": {"type": "integer"},
    },
}
STATUS = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "phase": {"type": "string"},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": CONDITION,
        },
    },
}
DEFINITION: dict[str, Any] = {
    "metadata": {"name": "boats.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "boats", "singular": "boat", "kind": "Boat"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": STATUS}}},
            }
        ],
    },
}


class BoatStatus(Model):
    """What a boat says of itself."""

    size: int | None = None
    phase: str | None = None
    conditions: tuple[Condition, ...] = ()


class Boat(Resource):
    """A kind with a status."""

    status: BoatStatus = BoatStatus()


BOATS = Kind("example.com", "v1", "Boat", "boats", Boat)
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)


@dataclass
class Here:
    """A server with a kind Boat, a boat `a`, and a controller's view of it."""

    client: Client
    cache: Cache
    api: Api
    server: ApiServer

    @property
    def boat(self) -> Boat:
        found = self.cache.get(BOATS, A)
        assert found is not None
        return found

    async def writes(self) -> int:
        return self.server.store.revision


@pytest.fixture
async def here() -> AsyncIterator[Here]:
    world = World()
    server = await ApiServer.start(Config(), world)
    await server.settled()
    client = Client(InProcessTransport(server), world=world)
    await client.create(DEFINITIONS, DEFINITION)
    await server.settled()
    cache = Cache(client, world)
    cache.start(BOATS)
    await cache.synced()
    api = Api(client, cache, "captain")
    await api.create(BOATS, {"metadata": {"name": "a", "namespace": "default"}})
    yield Here(client, cache, api, server)
    await cache.close()
    await server.stop()


async def test_what_was_written_is_in_the_cache_at_once(here: Here) -> None:
    assert here.boat.metadata.name == "a"
    changed = await here.api.metadata(BOATS, here.boat, labels={"colour": "red"}, annotations={"note": "x"})
    assert here.boat is changed
    assert here.boat.metadata.labels == {"colour": "red"}


async def test_metadata_that_is_right_is_not_written(here: Here) -> None:
    owner = OwnerReference(api_version="v1", kind="ConfigMap", name="o", uid="11111111-2222-3333-4444-555555555555")
    wanted: dict[str, Any] = {
        "labels": {"colour": "red", "none": None},
        "annotations": {"note": "x"},
        "finalizers": ("example.com/hold",),
        "owners": (owner,),
    }
    old = here.boat
    await here.api.metadata(BOATS, old, **wanted)
    before = await here.writes()
    await here.api.metadata(BOATS, here.boat, **wanted)
    await here.api.metadata(BOATS, old, **wanted)
    assert await here.writes() == before
    await here.api.metadata(BOATS, here.boat, labels={"colour": None})
    assert here.boat.metadata.labels == {}
    assert here.boat.metadata.annotations == {"note": "x"}


async def test_lists_are_replaced_only_in_the_state_they_were_read_in(here: Here) -> None:
    old = here.boat
    await here.client.patch(BOATS, "default", "a", Merge({"metadata": {"finalizers": ["example.com/other"]}}))
    with pytest.raises(Conflict):
        await Api(here.client, Cache(here.client, World()), "captain").metadata(
            BOATS, old, finalizers=("example.com/ours",)
        )


async def owners(here: Here) -> tuple[OwnerReference, OwnerReference]:
    """Two objects that exist: what others own alone is garbage."""
    made = [
        await here.client.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}}) for name in "op"
    ]
    one, other = (
        OwnerReference(api_version="v1", kind="ConfigMap", name=each.metadata.name, uid=each.metadata.uid)
        for each in made
    )
    return one, other


def blind(here: Here) -> Api:
    """One that hears of no change."""
    return Api(here.client, Cache(here.client, World()), "captain")


async def test_owners_are_given_whatever_else_happens_to_the_object(here: Here) -> None:
    old = here.boat
    one, other = await owners(here)
    await here.client.patch(BOATS, "default", "a", Merge({"metadata": {"finalizers": ["example.com/other"]}}))
    owned = await blind(here).metadata(
        BOATS,
        old,
        owners=(one,),
        labels={"example.com/colour": "red", "none": None},
        annotations={"example.com/note": "~x"},
    )
    assert owned.metadata.owner_references == (one,)
    assert owned.metadata.finalizers == ("example.com/other",)
    assert owned.metadata.labels == {"example.com/colour": "red"}
    assert owned.metadata.annotations == {"example.com/note": "~x"}
    await here.client.patch(BOATS, "default", "a", Merge({"metadata": {"labels": {"new": "one"}}}))
    both = await blind(here).metadata(BOATS, owned, owners=(one, other), labels={"example.com/colour": None})
    assert both.metadata.owner_references == (one, other)
    assert both.metadata.labels == {"new": "one"}
    assert (await blind(here).metadata(BOATS, both, owners=())).metadata.owner_references == ()


async def test_owners_that_somebody_else_gave_meanwhile_are_not_lost(here: Here) -> None:
    old = here.boat
    one, other = await owners(here)
    theirs = msgspec.to_builtins((other,))
    await here.client.patch(BOATS, "default", "a", Merge({"metadata": {"ownerReferences": theirs}}))
    with pytest.raises(Conflict):
        await blind(here).metadata(BOATS, old, owners=(one,))
    with pytest.raises(Invalid, match="no more than 63"):
        await blind(here).metadata(
            BOATS, await here.client.get(BOATS, "default", "a"), owners=(one,), labels={"colour": "r" * 64}
        )


async def test_an_object_is_gone_from_the_cache_when_its_deletion_is_answered(here: Here) -> None:
    boat = here.boat
    assert await here.api.delete(BOATS, boat) is None
    assert here.cache.get(BOATS, A) is None
    assert await here.api.delete(BOATS, boat) is None, "gone is fine"
    again = await here.api.create(BOATS, {"metadata": {"name": "a", "namespace": "default"}})
    assert await here.api.delete(BOATS, boat) is None
    assert here.boat.metadata.uid == again.metadata.uid, "another object of the same name stays"
    await here.cache.current()
    assert here.boat.metadata.uid == again.metadata.uid


async def test_the_write_that_removes_the_last_finalizer_ends_the_object(here: Here) -> None:
    held = await here.api.metadata(BOATS, here.boat, finalizers=("example.com/hold",))
    left = await here.api.delete(BOATS, held)
    assert left is not None
    assert here.boat.metadata.deleting
    await here.api.metadata(BOATS, here.boat, finalizers=())
    assert here.cache.get(BOATS, A) is None
    await here.cache.current()
    assert here.cache.get(BOATS, A) is None


async def test_a_status_is_told_once(here: Here) -> None:
    ready = set_condition((), condition("Ready", True, "Good"), now=NOW, generation=1)
    told = BoatStatus(size=3, phase="Afloat", conditions=ready)
    await here.api.status(BOATS, here.boat, told, conditions={"Ready"}, fields={"size", "phase"})
    assert here.boat.status == told
    before = await here.writes()
    later = set_condition((), condition("Ready", True, "Good"), now=LATER, generation=1)
    await here.api.status(
        BOATS, here.boat, BoatStatus(size=3, phase="Afloat", conditions=later), conditions={"Ready"}, fields={"size"}
    )
    assert await here.writes() == before
    assert here.boat.status.conditions[0].last_transition_time == NOW


async def test_true_is_told_where_1_was_said(here: Here) -> None:
    config_map = {"metadata": {"name": "a", "namespace": "default"}, "status": {"open": 1}}
    sent: list[Any] = []

    class Telling(Client):
        async def patch(self, kind: Kind[Any], namespace: str, name: str, patch: Any, **_: Any) -> Any:
            sent.append(patch.content["status"])
            return kind.convert({**config_map, "status": patch.content["status"]})

    api = Api(Telling(here.client.transport, world=World()), here.cache, "captain")
    held = CONFIG_MAPS.convert(config_map)
    await api.status(CONFIG_MAPS, held, {"open": 1}, fields={"open"})
    assert sent == []
    await api.status(CONFIG_MAPS, held, {"open": True}, fields={"open"})
    assert sent == [{"open": True}]


async def test_a_field_that_is_left_out_is_removed_even_if_another_manager_claims_it(here: Here) -> None:
    ready = set_condition((), condition("Ready", True, "Good"), now=NOW, generation=1)
    told = BoatStatus(size=3, phase="Afloat", conditions=ready)
    await here.api.status(BOATS, here.boat, told, conditions={"Ready"}, fields={"size", "phase"})
    same = {"status": {"phase": "Afloat", "conditions": msgspec.to_builtins(ready)}}
    await here.client.patch(BOATS, "default", "a", Apply(same, "somebody-else"), subresource="status")
    await here.cache.current()
    await here.api.status(BOATS, here.boat, BoatStatus(size=3), conditions={"Ready"}, fields={"size", "phase"})
    assert here.boat.status == BoatStatus(size=3)
    assert (await here.client.get(BOATS, "default", "a")).status == BoatStatus(size=3)


async def test_a_condition_is_removed_whole_though_another_manager_claims_a_part_of_it(here: Here) -> None:
    """As when one controller hands a machine over to another, which says more, and takes it back in the end."""
    first = set_condition((), condition("Ready", False, "Handed", "Over."), now=NOW, generation=1)
    handed = {"status": {"conditions": msgspec.to_builtins(first)}}
    await here.client.patch(BOATS, "default", "a", Apply(handed, "somebody-else"), subresource="status")
    await here.cache.current()
    second = set_condition((), condition("Ready", False, "Taken", "Seen to."), now=LATER, generation=1)
    await here.api.status(BOATS, here.boat, BoatStatus(conditions=second), conditions={"Ready"})
    await here.api.status(BOATS, here.boat, {"size": 2}, conditions={"Ready"}, fields={"size"})
    assert (await here.client.get(BOATS, "default", "a")).status == BoatStatus(size=2)
    before = await here.writes()
    await here.api.status(BOATS, here.boat, {"size": 2}, conditions={"Ready"}, fields={"size"})
    assert await here.writes() == before


async def test_what_others_tell_is_left_alone(here: Here) -> None:
    theirs = {
        "status": {
            "phase": "Theirs",
            "conditions": [
                {
                    "type": "Foreign",
                    "status": "True",
                    "reason": "R",
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
        }
    }
    await here.client.patch(BOATS, "default", "a", Apply(theirs, "somebody-else"), subresource="status")
    await here.cache.current()
    ours = set_condition((), condition("Ready", False, "Bad", "Leaks."), now=NOW, generation=1)
    await here.api.status(BOATS, here.boat, BoatStatus(size=1, conditions=ours), conditions={"Ready"}, fields={"size"})
    await here.api.status(BOATS, here.boat, {}, conditions={"Ready"}, fields={"size"})
    assert here.boat.status.phase == "Theirs"
    assert [each.type for each in here.boat.status.conditions] == ["Foreign"]


async def test_the_status_of_an_object_that_is_gone_is_told_to_nobody(here: Here) -> None:
    boat = here.boat
    await here.client.delete(BOATS, "default", "a")
    assert await here.api.status(BOATS, boat, {"size": 1}, fields={"size"}) is not None
    await here.cache.current()
    assert here.cache.get(BOATS, A) is None


async def test_details_are_told_with_the_next_news_or_when_they_have_waited(here: Here) -> None:
    news = News(fields=("phase",))

    async def tell(size: int, phase: str | None, wait: float = 60.0) -> float | None:
        told = BoatStatus(size=size, phase=phase)
        return await here.api.news(BOATS, here.boat, told, news, fields=("size", "phase"), wait=wait)

    before = await here.writes()
    left = await tell(1, None)
    assert left is not None
    assert 59 < left <= 60
    assert await here.writes() == before
    assert await tell(2, "Afloat") is None
    assert here.boat.status == BoatStatus(size=2, phase="Afloat")
    assert await tell(2, "Afloat") is None
    assert await here.writes() == before + 1
    left = await tell(3, "Afloat", wait=0.01)
    assert left is not None
    await asyncio.sleep(left)  # as callers do
    assert await tell(4, "Afloat", wait=0.01) is None
    assert here.boat.status.size == 4


async def test_details_that_are_right_again_are_forgotten(here: Here) -> None:
    async def tell(size: int | None) -> float | None:
        return await here.api.news(BOATS, here.boat, BoatStatus(size=size), News(), fields=("size",), wait=0.01)

    left = await tell(1)
    assert left is not None
    assert await tell(None) is None
    await asyncio.sleep(left)  # if they were not forgotten, they would have waited for long enough now
    assert await tell(2) is not None


async def test_nothing_waits_on_an_object_that_goes(here: Here) -> None:
    boat = await here.api.metadata(BOATS, here.boat, finalizers=("example.com/anchor",))
    going = await here.api.delete(BOATS, boat)
    assert going is not None
    assert await here.api.news(BOATS, going, BoatStatus(size=1), News(), fields=("size",), wait=60) is None
    assert here.boat.status.size == 1
