"""Pause: a Cluster or one object of it is left alone, and goes on where it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nagaya.api.cluster.annotations import PAUSED
from support.lab import Lab, Scenario, condition, holds
from support.manifests.simulated import Simulated
from support.servers import both_servers

Play = Callable[[Scenario], None]
NAME = "demo-workers"


@both_servers
def test_nothing_of_a_paused_cluster_is_changed_until_it_goes_on(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        (before,) = await lab.running(1)
        await lab.merge("Cluster", "demo", {"spec": {"paused": True}})
        kinds = ("Cluster", "MachineDeployment", "MachineSet", "Machine", "SimulatedCluster", "SimulatedMachine")

        async def told() -> bool:
            objects = [each for kind in kinds for each in await lab.all(kind)]
            return all(condition(each, "Paused") == ("True", "Paused") for each in objects)

        await lab.until("every object says that it is paused", told)
        await lab.merge("MachineDeployment", NAME, {"spec": {"replicas": 2}})
        await lab.delete("Machine", before.metadata.name)

        async def still() -> bool:
            (machine,) = await lab.workers()
            return bool(machine.metadata.uid == before.metadata.uid and machine.status.phase == "Running")

        await lab.always(2 if lab.real else 600, still)
        await lab.merge("Cluster", "demo", {"spec": {"paused": False}})

        async def replaced() -> bool:
            return before.metadata.uid not in {each.metadata.uid for each in await lab.workers()}

        await lab.until("the deletion goes on", replaced)
        await lab.running(2)
        assert condition(await lab.available("demo"), "Paused") == ("False", "NotPaused")

    play(scenario)


def test_a_paused_object_is_left_alone_and_the_others_go_on(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        await lab.running(1)
        (machine_set,) = await lab.all("MachineSet")
        await lab.annotate("MachineSet", machine_set.metadata.name, **{PAUSED: ""})
        await lab.merge("MachineDeployment", NAME, {"spec": {"replicas": 2}})

        async def asked() -> bool:
            found = await lab.get("MachineSet", machine_set.metadata.name)
            return bool(found.spec.replicas == 2 and holds(found, "Paused"))

        await lab.until("the deployment has scaled the paused set", asked)

        async def still() -> bool:
            return len(await lab.workers()) == 1

        await lab.always(1 if lab.real else 600, still)
        await lab.annotate("MachineSet", machine_set.metadata.name, **{PAUSED: None})
        await lab.running(2)

    play(scenario)


def test_a_paused_cluster_is_not_deleted(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        await lab.running(1)
        await lab.merge("Cluster", "demo", {"spec": {"paused": True}})
        await lab.delete("Cluster", "demo")
        await asyncio.sleep(1 if lab.real else 600)  # shows that nothing happens
        assert (await lab.get("Cluster", "demo")).metadata.deleting
        machines = await lab.all("Machine")
        assert len(machines) == 2
        assert not any(each.metadata.deleting for each in machines)
        await lab.merge("Cluster", "demo", {"spec": {"paused": False}})
        await lab.gone("demo")

    play(scenario)
