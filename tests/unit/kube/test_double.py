"""The server of `support.kube` against the embedded one: what the runtime's tests rely on holds for both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.client import Client, WatchEvent
from nagaya.kube.errors import AlreadyExists, Conflict, NotFound
from nagaya.kube.patches import Merge
from nagaya.world import World
from support.crates import CRATES, Crate
from support.kube import FakeServer

NAME = {"name": "a", "namespace": "default"}


@pytest.fixture(params=["double", "embedded"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    world = World()
    if request.param == "double":
        yield FakeServer().client(world)
        return
    server = await ApiServer.start(Config(), world)
    await server.settled()
    yield Client(InProcessTransport(server), world=world)
    await server.stop()


async def events(client: Client, begin: str, count: int, labels: str = "") -> list[tuple[str, str, int]]:
    """Type, name and version of the next events, bookmarks left out."""
    found: list[WatchEvent[Crate]] = []
    watch = client.watch(CRATES, "default", resource_version=begin, labels=labels)
    async with asyncio.timeout(60), aclosing(watch):
        async for event in watch:
            if event.object is not None and not event.object.metadata.name.startswith("kube-"):
                found.append(event)
            if len(found) == count:
                break
    return [(each.type, each.object.metadata.name, int(each.resource_version)) for each in found if each.object]


async def test_a_watch_tells_every_change_after_the_list_in_order(client: Client) -> None:
    begin = (await client.list(CRATES, "default")).resource_version
    made = await client.create(CRATES, {"metadata": NAME, "data": {"x": "1"}})
    changed = await client.patch(CRATES, "default", "a", Merge({"data": {"x": "2"}}))
    assert await client.delete(CRATES, "default", "a") is None
    told = await events(client, begin, 3)
    assert [type for type, _, _ in told] == ["ADDED", "MODIFIED", "DELETED"]
    versions = [version for _, _, version in told]
    assert versions[:2] == [int(made.metadata.resource_version), int(changed.metadata.resource_version)]
    assert int(begin) < versions[0] < versions[1] < versions[2]


async def test_a_list_is_as_new_as_the_last_write(client: Client) -> None:
    made = await client.create(CRATES, {"metadata": NAME})
    found = await client.list(CRATES, "default")
    assert int(found.resource_version) >= int(made.metadata.resource_version)
    assert "a" in [obj.metadata.name for obj in found.items]


async def test_a_patch_that_changes_nothing_keeps_the_version_and_tells_nobody(client: Client) -> None:
    made = await client.create(CRATES, {"metadata": NAME, "data": {"x": "1"}})
    same = await client.patch(CRATES, "default", "a", Merge({"data": {"x": "1"}}))
    assert same.metadata.resource_version == made.metadata.resource_version


async def test_writes_for_another_state_or_another_object_are_refused(client: Client) -> None:
    made = await client.create(CRATES, {"metadata": NAME})
    await client.patch(CRATES, "default", "a", Merge({"data": {"x": "1"}}))
    with pytest.raises(Conflict):
        await client.patch(CRATES, "default", "a", Merge({"data": {"x": "2"}}, made.metadata.resource_version))
    with pytest.raises(Conflict, match="the UID in the precondition"):
        await client.delete(CRATES, "default", "a", uid="0d5a2f6e-0d3c-4a53-9d2e-5f0e6f2a6b3c")
    with pytest.raises(AlreadyExists):
        await client.create(CRATES, {"metadata": NAME})
    with pytest.raises(NotFound):
        await client.get(CRATES, "default", "b")


async def test_a_finalizer_holds_up_a_deletion_until_it_is_removed(client: Client) -> None:
    begin = (await client.list(CRATES, "default")).resource_version
    await client.create(CRATES, {"metadata": {**NAME, "finalizers": ["example.com/hold"]}})
    left = await client.delete(CRATES, "default", "a")
    assert left is not None
    assert left.metadata.deleting
    last = await client.patch(CRATES, "default", "a", Merge({"metadata": {"finalizers": None}}))
    assert last.metadata.finalizers == ()
    assert not last.metadata.deletion_grace_period_seconds
    with pytest.raises(NotFound):
        await client.get(CRATES, "default", "a")
    told = await events(client, begin, 3)
    assert [type for type, _, _ in told] == ["ADDED", "MODIFIED", "DELETED"]
    assert told[-1][2] >= int(last.metadata.resource_version)


async def test_a_selection_tells_of_coming_and_going(client: Client) -> None:
    begin = (await client.list(CRATES, "default")).resource_version
    await client.create(CRATES, {"metadata": NAME})
    await client.patch(CRATES, "default", "a", Merge({"metadata": {"labels": {"team": "blue"}}}))
    out = await client.patch(CRATES, "default", "a", Merge({"metadata": {"labels": {"team": "red"}}}))
    told = await events(client, begin, 2, "team=blue")
    assert [type for type, _, _ in told] == ["ADDED", "DELETED"]
    assert told[-1][2] == int(out.metadata.resource_version)
    assert [obj.metadata.name for obj in (await client.list(CRATES, "default", labels="team")).items] == ["a"]
