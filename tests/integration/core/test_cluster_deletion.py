"""Cluster API's cluster_deletion: objects go in phases, each held up by finalizers; and whenever it is begun, nothing
is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from nagaya.kube.key import Key
from support.lab import SECRETS, Lab, Scenario, condition, owner, play_embedded
from support.manifests.simulated import Simulated
from support.servers import both_servers
from support.simulation import WRITES, chosen, shares

Play = Callable[[Scenario], None]
FINALIZER = "test.example.com/block"
DEPLOYMENT = "demo-workers"
CONTROL_PLANE = "demo-control-plane-0"


@both_servers
def test_objects_go_in_phases_that_finalizers_hold_up(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        (worker,) = await lab.running(1)
        (machine_set,) = await lab.all("MachineSet")
        phases = [
            ("SimulatedMachine", worker.spec.infrastructure_ref.name),
            ("Machine", worker.metadata.name),
            ("MachineSet", machine_set.metadata.name),
            ("MachineDeployment", DEPLOYMENT),
            ("SimulatedMachine", CONTROL_PLANE),
            ("Machine", CONTROL_PLANE),
            ("SimulatedCluster", "demo"),
            ("Cluster", "demo"),
        ]
        for phase in phases:
            await lab.hold(*phase, FINALIZER)
        await lab.delete("Cluster", "demo")
        parallel = {("SimulatedMachine", CONTROL_PLANE), ("Machine", CONTROL_PLANE)}
        for number, phase in enumerate(phases):

            async def going(phase: tuple[str, str] = phase) -> bool:
                obj = await lab.get(*phase)
                return bool(obj.metadata.deleting and obj.metadata.finalizers == (FINALIZER,))

            await lab.until(f"only the test holds {phase}", going)
            for later in phases[number + 1 :]:
                obj = await lab.get(*later)
                assert obj is not None, f"{later} is gone before {phase}"
            if ("SimulatedCluster", "demo") in phases[number + 1 :]:
                assert not (await lab.get("SimulatedCluster", "demo")).metadata.deleting, phase
            if phase not in parallel and phase[0] != "Cluster":
                cluster = await lab.get("Cluster", "demo")
                assert cluster.status.phase == "Deleting"
                assert condition(cluster, "Deleting")[0] == "True"
            await lab.release(*phase, FINALIZER)
        await lab.gone("demo")

    play(scenario)


def test_templates_go_with_their_cluster(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        template = await lab.get("SimulatedMachineTemplate", "demo-worker")
        assert owner(template, "Cluster") == "demo"
        await lab.delete("Cluster", "demo")
        await lab.gone("demo")

        async def collected() -> bool:
            return await lab.get("SimulatedMachineTemplate", "demo-worker") is None

        await lab.until("the template goes with the Cluster that it belongs to", collected)

    play(scenario)


def test_a_cluster_can_be_made_again_under_its_old_name(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        demo = Simulated("demo", lab.namespace, workers=1)
        await lab.create(*demo.manifests())
        first = await lab.available("demo")
        await lab.delete("Cluster", "demo")
        await lab.gone("demo")

        async def collected() -> bool:
            return await lab.get("SimulatedMachineTemplate", "demo-worker") is None

        await lab.until("the template is gone too", collected)
        await lab.create(*demo.manifests())
        second = await lab.available("demo")
        assert first.metadata.uid != second.metadata.uid
        assert len(await lab.nodes("demo")) == 2

    play(scenario)


@pytest.mark.parametrize("instants", shares(chosen(WRITES, range(0, 60, 3), range(60)), 10))
@pytest.mark.long("plays a cluster's life once for each of many moments")
def test_deleted_at_any_instant_of_its_creation_nothing_is_left(instants: list[int]) -> None:
    """On virtual time only: at instants of a creation, which takes three seconds. `NAGAYA_SIMULATE_WRITES=all` plays
    sixty of them, by default it is a third."""

    async def scenario(lab: Lab) -> None:
        for instant in instants:
            name = f"demo-{instant}"
            await lab.create(*Simulated(name, lab.namespace, workers=2).manifests())
            await asyncio.sleep(instant * 0.05)
            await lab.delete("Cluster", name)
            await lab.gone(name)
            assert lab.plane.tenants is not None
            assert lab.plane.tenants.get(Key(lab.namespace, name)) is None

    play_embedded(scenario)


@pytest.mark.parametrize("limits", shares(chosen(WRITES, range(0, 60, 2), range(60)), 15))
@pytest.mark.long("plays a cluster's life once for each of many writes")
def test_deleted_after_any_number_of_writes_nothing_is_left(limits: list[int]) -> None:
    """On virtual time only: right after writes of a creation, its user's included. `NAGAYA_SIMULATE_WRITES=all` plays
    each, by default it is every second."""

    async def scenario(lab: Lab) -> None:
        for limit in limits:
            name = f"demo-{limit}"
            begun = await _version(lab)
            creating = asyncio.create_task(lab.create(*Simulated(name, lab.namespace, workers=1).manifests()))
            while await _version(lab) - begun < limit:
                if creating.done() and await _is_available(lab, name):
                    break
                await asyncio.sleep(0.003)
            await lab.delete("Cluster", name)
            await creating
            if await lab.get("Cluster", name) is None:
                # Whoever deletes before everything is made has to remove what was made for nobody.
                for kind in ("MachineDeployment", "Machine", "SimulatedMachine", "SimulatedCluster"):
                    for obj in await lab.all(kind):
                        await lab.delete(kind, obj.metadata.name)
            await lab.delete("Cluster", name)
            await lab.gone(name)

    play_embedded(scenario)


async def _version(lab: Lab) -> int:
    """How many writes the server has seen."""
    return int((await lab.client.list(SECRETS, lab.namespace)).resource_version)


async def _is_available(lab: Lab, name: str) -> bool:
    cluster = await lab.get("Cluster", name)
    return cluster is not None and condition(cluster, "Available")[0] == "True"
