"""Pictures of clusters as they run: read, kept live, and what Proxmox VE adds to their story."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.api.untyped import Untyped
from nagaya.infrastructure.proxmox.client import Proxmox, Token
from nagaya.insight.picture.live import Live
from nagaya.insight.picture.picture import Picture
from nagaya.insight.picture.read import read_cluster, read_kinds, read_picture, read_pictures
from nagaya.insight.story.asking import ask
from nagaya.insight.story.story import story
from nagaya.insight.story.tasks import tasks
from nagaya.insight.tree.document import document
from nagaya.insight.tree.tree import tree
from nagaya.kube.client import Client
from nagaya.kube.key import Key
from nagaya.kube.transport import Answer, Call, Transport
from support.lab import Lab, play_embedded
from support.manifests.simulated import Simulated
from support.proxmox_transport import ToEmulator
from support.proxmox_yard import DEFINITIONS, NAMESPACE, SECRETS, Yard, play
from support.servers import SERVERS, Play, player


@dataclass(slots=True)
class Counting:
    """A transport that remembers what it was asked."""

    inner: Transport
    asked: list[str]

    async def send(self, call: Call) -> Answer:
        self.asked.append(str(call))
        return await self.inner.send(call)

    def stream(self, call: Call) -> Any:
        return self.inner.stream(call)

    async def close(self) -> None:
        await self.inner.close()


async def _read(client: Client, namespace: str, name: str) -> Picture:
    kinds = await read_kinds(client)
    return await read_picture(client, kinds, await read_cluster(client, kinds, namespace, name), events=True)


def test_a_picture_costs_no_more_requests_for_more_machines() -> None:
    async def scenario(lab: Lab) -> None:
        counts = []
        for name, workers in (("small", 1), ("large", 6)):
            await lab.create(*Simulated(name, lab.namespace, workers=workers).manifests())
            await lab.available(name)
            counting = Counting(lab.transport(), [])
            client = Client(counting, world=lab.world)
            picture = await _read(client, lab.namespace, name)
            assert len(picture.machines) == workers + 1
            assert {each.text("spec", "clusterName") for each in picture.machines} == {name}
            assert f"{name}-kubeconfig" in picture.secrets
            counts.append(len(counting.asked))
            assert not [each for each in counting.asked if "/machines/" in each]
            await client.close()
        assert counts[0] == counts[1]
        both = await read_pictures(lab.client, await read_kinds(lab.client), events=True)
        for picture in both:
            alone = await _read(lab.client, lab.namespace, picture.cluster.name)
            assert document(tree(picture)) == document(tree(alone))
            assert (story(picture), picture.secrets) == (story(alone), alone.secrets)
        assert [each.cluster.name for each in both] == ["large", "small"]

    play_embedded(scenario)


BOAT = Kind("boats.example.com", "v1", "BoatMachine", "boatmachines", Untyped)


def _boats() -> Mapping[str, Any]:
    """The definition of a provider that nobody here knows."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": "boatmachines.boats.example.com", "labels": {"cluster.x-k8s.io/v1beta2": "v1"}},
        "spec": {
            "group": "boats.example.com",
            "scope": "Namespaced",
            "names": {"kind": "BoatMachine", "plural": "boatmachines", "singular": "boatmachine", "listKind": "Boats"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def test_objects_of_providers_that_nobody_knows_appear() -> None:
    async def scenario(lab: Lab) -> None:
        simulated = Simulated("demo", lab.namespace, workers=0, control_planes=0)
        await lab.create(*simulated.manifests())
        await lab.client.create(DEFINITIONS, _boats())

        async def served() -> bool:
            return any(each.kind == BOAT for each in await read_kinds(lab.client))

        await lab.until("boats are served", served)
        await asyncio.sleep(1)
        machine = simulated.control_plane(0)[1]
        machine["spec"]["infrastructureRef"] = {"apiGroup": BOAT.group, "kind": "BoatMachine", "name": "titanic"}
        await lab.create(machine)
        picture = await _read(lab.client, lab.namespace, "demo")
        assert [str(each.reference) for each in picture.missing] == [f"BoatMachine {lab.namespace}/titanic"]
        # It has no label yet, and is found because the Machine names it.
        await lab.client.create(BOAT, {"metadata": {"namespace": lab.namespace, "name": "titanic"}, "spec": {}})
        picture = await _read(lab.client, lab.namespace, "demo")
        assert [each.title for each in picture.of_kind("BoatMachine")] == ["BoatMachine titanic"]
        assert picture.missing == ()

    play_embedded(scenario)


@asynccontextmanager
async def _live(lab: Lab, name: str) -> AsyncIterator[Live]:
    live = Live(lab.client, lab.world, await read_kinds(lab.client), Key(lab.namespace, name), events=True)
    try:
        await live.start()
        yield live
    finally:
        await live.close()


@pytest.fixture(params=SERVERS)
def play_lab(request: pytest.FixtureRequest) -> Play:
    """Plays a scenario."""
    return player(request)


def test_a_live_picture_is_the_one_that_is_read(play_lab: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests())
        await lab.create(*Simulated("other", lab.namespace, workers=1).manifests())
        async with _live(lab, "demo") as live:
            while True:
                picture = await live.picture()
                assert picture is not None
                if picture.cluster.holds("Available"):
                    break
                await live.changed()
            # New machines count as up to date for ten seconds, whatever is known of them.
            await asyncio.sleep(11 if lab.real else 30)
            await lab.plane.manager.idle(live._cache)
            seen, read = await live.picture(), await _read(lab.client, lab.namespace, "demo")
            assert seen is not None
            assert document(tree(seen)) == document(tree(read))
            assert story(seen) == story(read)
            assert seen.secrets == read.secrets
            await lab.delete("Cluster", "demo")
            await lab.until("it is gone", lambda: _gone(live))

    play_lab(scenario)


async def _gone(live: Live) -> bool:
    return await live.picture() is None


def test_tasks_of_proxmox_are_told_with_their_logs() -> None:
    async def scenario(yard: Yard) -> None:
        facts = yard.there.client.facts
        assert isinstance(facts.credentials, Token)
        given = {"token": facts.credentials.id, "secret": facts.credentials.secret}
        data = {key: base64.b64encode(value.encode()).decode() for key, value in given.items()}
        await yard.user.create(SECRETS, {"metadata": {"namespace": NAMESPACE, "name": "pve"}, "data": data})
        spec = {"credentialsRef": {"name": "pve"}, "endpoints": [str(each) for each in facts.endpoints]}
        metadata = {"namespace": NAMESPACE, "name": "demo"}
        await yard.user.create(PROXMOX_CONNECTIONS, {"metadata": metadata, "spec": spec})
        await yard.cluster()
        await yard.machine("a")
        began: dict[str, Any] = {}
        while not (await yard.get("a")).status.initialization.provisioned:
            picture = await _read(yard.user, NAMESPACE, "harbour")
            began |= {each.upid.text: each for each in tasks(picture)}
            await asyncio.sleep(0.5)
        assert {each.upid.type for each in began.values()} >= {"qmclone"}
        picture = await _read(yard.user, NAMESPACE, "harbour")

        def opened(facts: Any) -> Proxmox:
            return Proxmox(facts, yard.server.world, transport=ToEmulator(yard.there.emulator))

        told = await ask(yard.user, yard.server.world, picture, tuple(began.values()), opened)
        clone = next(each for each in began.values() if each.upid.type == "qmclone")
        assert told[clone.upid.text].outcome == "succeeded"
        assert "TASK OK" in told[clone.upid.text].log[-1]
        kinds = {each.kind for each in picture.members}
        assert {"ProxmoxMachine", "ProxmoxVirtualMachine", "IPAddressClaim", "IPAddress", "InClusterIPPool"} <= kinds
        said = [each.what for each in story(picture, machine="a")]
        assert any("its VM is provisioned" in each for each in said)

    play(scenario)


def test_a_proxmox_that_cannot_be_asked_leaves_a_gap_in_the_story_and_no_more() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")

        async def begun() -> bool:
            return bool(tasks(await _read(yard.user, NAMESPACE, "harbour")))

        await yard.until(begun, 60, ("a",))
        picture = await _read(yard.user, NAMESPACE, "harbour")
        found = tasks(picture)
        assert found
        told = await ask(yard.user, yard.server.world, picture, found)
        assert all(each.outcome.startswith("how it went cannot be asked:") for each in told.values())
        assert any("cannot be asked" in each.what for each in story(picture, told=told))

    play(scenario)
