"""A hosted control plane that moves from one API to another, where the move is killed at some of its writes.

`NAGAYA_SIMULATE_WRITES=all` plays each. No controllers run: what they leave alone is another test's. Whatever happens,
the tenant is known by the same identity at the end, and exactly one of the two APIs has it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.controlplane import data_store, hosted_control_plane
from nagaya.api.controlplane.data_store import DATA_STORES
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.api.kind import Kind, Object
from nagaya.apiserver.server import ApiServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.clusters import owners
from nagaya.clusters.management import NAMESPACES
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.kube.patches import Merge
from nagaya.kube.transport import Answer, Call, NoAnswer
from nagaya.moving.annotations import MOVED_FROM, MOVING
from nagaya.moving.item import SECRETS
from nagaya.moving.move import Move, MoveFailed
from nagaya.world import World
from support.crashes import Killed
from support.prepared import start_prepared
from support.simulation import WRITES, chosen
from support.transports import Losing
from support.virtual_run import run

WORLD = World()
LONGEST = 45
"""More writes than this move has; that is checked."""


class Writes:
    """Those to both ends; at one of them the command dies, before or after it takes effect."""

    def __init__(self, die_at: int, takes_effect: bool) -> None:
        self.die_at = die_at
        self.takes_effect = takes_effect
        self.count = 0


class Way(Losing):
    """To one end."""

    def __init__(self, server: ApiServer, writes: Writes) -> None:
        super().__init__(InProcessTransport(server))
        self._writes = writes

    async def send(self, call: Call) -> Answer:
        writes = self._writes
        if writes.count >= writes.die_at:
            raise Killed(call)
        if call.method == "GET":
            return await super().send(call)
        writes.count += 1
        if writes.count == writes.die_at and not writes.takes_effect:
            raise Killed(call)
        answer = await super().send(call)
        if writes.count == writes.die_at:
            raise Killed(call)
        return answer


@asynccontextmanager
async def two_apis() -> AsyncIterator[tuple[ApiServer, ApiServer]]:
    source, target = await start_prepared(WORLD), await start_prepared(WORLD)
    try:
        yield source, target
    finally:
        await source.stop()
        await target.stop()


def client(server: ApiServer) -> Client:
    return Client(InProcessTransport(server), world=WORLD, field_manager="test")


async def declare(at: Client) -> dict[str, str]:
    """A tenant as its controllers leave it. Returns what it is known by."""
    metadata: dict[str, Any] = {"name": "shop", "namespace": "default"}
    reference = {"apiGroup": HOSTED_CONTROL_PLANES.group, "kind": HOSTED_CONTROL_PLANES.kind, "name": "shop"}
    cluster = await at.create(CLUSTERS, {"metadata": metadata, "spec": {"controlPlaneRef": reference}})
    done = {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}}
    await at.patch(CLUSTERS, "default", "shop", Merge({"status": done}), subresource="status")
    store = await at.create(
        DATA_STORES,
        {
            "metadata": {"name": "default", "finalizers": [data_store.FINALIZER]},
            "spec": {"driver": "etcd", "managed": True},
        },
    )
    word = {"namespace": "stores", "name": "db", "key": "word"}
    await at.create(NAMESPACES, {"metadata": {"name": "stores"}})
    await at.create(SECRETS, {"metadata": {"name": "db", "namespace": "stores"}, "data": {"word": "YQ=="}})
    reached = {
        "driver": "PostgreSQL",
        "endpoints": ["db:5432"],
        "basicAuth": {"username": word, "password": word},
    }
    await at.create(DATA_STORES, {"metadata": {"name": "db"}, "spec": reached})
    other = {
        "metadata": {**metadata, "name": "other", "ownerReferences": [_owner(CLUSTERS, cluster)]},
        "spec": {"version": "v1.36.3", "dataStoreRef": {"name": "db"}},
    }
    await at.create(HOSTED_CONTROL_PLANES, other)
    plane = await at.create(
        HOSTED_CONTROL_PLANES,
        {
            "metadata": {
                **metadata,
                "finalizers": [hosted_control_plane.FINALIZER],
                "ownerReferences": [_owner(CLUSTERS, cluster)],
            },
            "spec": {"version": "v1.36.3"},
        },
    )
    secret = {"name": "shop-ca", "namespace": "default", "ownerReferences": [_owner(HOSTED_CONTROL_PLANES, plane)]}
    await at.create(SECRETS, {"metadata": secret, "data": {"tls.crt": "YQ=="}})
    return {"tenantID": plane.metadata.uid, "storeID": store.metadata.uid}


def _owner(kind: Kind[Any], owner: Object) -> dict[str, Any]:
    reference = owners.controller(kind, owner)
    return {"apiVersion": reference.api_version, "kind": reference.kind, "name": reference.name, "uid": reference.uid,
            "controller": True}  # fmt: skip


async def move(source: ApiServer, target: ApiServer, writes: Writes) -> bool:
    """Whether it came to its end."""
    ends = [Client(Way(each, writes), world=WORLD, field_manager="mover") for each in (source, target)]
    errand = Move(*ends, lambda _: None)
    try:
        await errand.run(await errand.look(), stopped=True)
    except (NoAnswer, MoveFailed):
        return False
    return True


async def expect_only_at(source: Client, target: Client, known_by: dict[str, str]) -> None:
    moved: tuple[tuple[Kind[Any], str, str], ...] = (
        (CLUSTERS, "default", "shop"),
        (HOSTED_CONTROL_PLANES, "default", "shop"),
        (HOSTED_CONTROL_PLANES, "default", "other"),
        (DATA_STORES, "", "default"),
        (DATA_STORES, "", "db"),
        (SECRETS, "default", "shop-ca"),
        (SECRETS, "stores", "db"),
    )
    for kind, namespace, name in moved:
        found = await target.get(kind, namespace, name)
        assert not {MOVED_FROM, MOVING, PAUSED} & found.metadata.annotations.keys(), found
        with pytest.raises(NotFound):
            await source.get(kind, namespace, name)
    plane = await target.get(HOSTED_CONTROL_PLANES, "default", "shop")
    store = await target.get(DATA_STORES, "", "default")
    assert {"tenantID": plane.tenant_id, "storeID": store.store_id} == known_by
    assert plane.metadata.finalizers == (hosted_control_plane.FINALIZER,)
    [owner] = (await target.get(SECRETS, "default", "shop-ca")).metadata.owner_references
    assert owner.uid == plane.metadata.uid
    assert not (await target.get(CLUSTERS, "default", "shop")).spec.paused


@pytest.mark.parametrize("takes_effect", [True, False], ids=["answer", "request"])
@pytest.mark.parametrize("write", chosen(WRITES, range(2, LONGEST, 6), range(1, LONGEST)))
@pytest.mark.long("plays a move once for each of several writes")
async def test_a_move_that_was_killed_is_finished_by_the_same_command(write: int, takes_effect: bool) -> None:
    async with two_apis() as (source, target):
        known_by = await declare(client(source))
        writes = Writes(write, takes_effect)
        if await move(source, target, writes):
            assert writes.count < write, "it was not killed"
        assert await move(source, target, Writes(LONGEST, takes_effect)), f"killed at write {write}"
        await expect_only_at(client(source), client(target), known_by)


async def test_there_and_back_a_tenant_is_known_by_what_it_began_as() -> None:
    async with two_apis() as (source, target):
        known_by = await declare(client(source))
        assert await move(source, target, Writes(LONGEST, True))
        done = {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}}
        there = client(target)
        await there.patch(CLUSTERS, "default", "shop", Merge({"status": done}), subresource="status")
        assert await move(target, source, Writes(LONGEST, True))
        await expect_only_at(there, client(source), known_by)


def test_control_planes_whose_controllers_do_not_say_that_they_leave_them_alone_do_not_move() -> None:
    async def main() -> None:
        async with two_apis() as (source, target):
            await declare(client(source))
            errand = Move(client(source), client(target), lambda _: None)
            with pytest.raises(
                MoveFailed, match="controllers leave DataStore db, DataStore default, HostedControlPlane default/other"
            ):
                await errand.run(await errand.look())
            assert (await client(target).list(HOSTED_CONTROL_PLANES)).items == []

    run(main())


@pytest.mark.parametrize("end", ["source", "target"])
async def test_a_failure_on_the_way_says_which_api_it_is_about_and_that_nothing_is_lost(end: str) -> None:
    async with two_apis() as (source, target):
        known_by = await declare(client(source))
        dying = {"source": source, "target": target}[end]
        broken = Client(Way(dying, Writes(1, False)), world=WORLD, field_manager="mover")
        ends = (broken, client(target)) if end == "source" else (client(source), broken)
        errand = Move(*ends, lambda _: None)
        with pytest.raises(MoveFailed, match=f"The API of the {end} does not answer: .*repeat the command"):
            await errand.run(await errand.look(), stopped=True)
        assert await move(source, target, Writes(LONGEST, True))
        await expect_only_at(client(source), client(target), known_by)


async def test_pods_of_the_source_stand_in_the_way() -> None:
    async with two_apis() as (source, target):
        at = client(source)
        known_by = await declare(at)
        deployments = Kind("apps", "v1", "Deployment", "deployments", SECRETS.model)
        labels = {"hosted.nagaya.dev/control-plane": "shop"}
        owner = {"apiVersion": HOSTED_CONTROL_PLANES.api_version, "kind": "HostedControlPlane", "name": "shop",
                 "uid": known_by["tenantID"]}  # fmt: skip
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
        await at.create(
            deployments,
            {
                "metadata": {"name": "a", "namespace": "default", "labels": labels, "ownerReferences": [owner]},
                "spec": {"selector": {"matchLabels": labels}, "template": pod},
            },
        )
        errand = Move(at, client(target), lambda _: None)
        way = await errand.look()
        assert any("runs as pods of the source" in each for each in way.problems)
        with pytest.raises(MoveFailed):
            await errand.run(way)
