"""Cluster API's md_scale: a MachineDeployment grows, shrinks, and is deleted after everything that belongs to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from support.lab import Lab, Scenario, condition, holds
from support.manifests.simulated import Simulated
from support.servers import both_servers

Play = Callable[[Scenario], None]
NAME = "demo-workers"
FINALIZER = "example.com/not-yet"


def test_a_machine_deployment_scales_out_and_in(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        (first,) = await lab.running(1)
        await lab.merge("MachineDeployment", NAME, {"spec": {"replicas": 3}})
        machines = await lab.running(3)
        assert first.metadata.uid in {each.metadata.uid for each in machines}
        assert len(await lab.nodes("demo")) == 4
        await lab.merge("MachineDeployment", NAME, {"spec": {"replicas": 1}})
        (left,) = await lab.running(1)
        assert left.metadata.uid in {each.metadata.uid for each in machines}

        async def settled() -> bool:
            deployment = await lab.get("MachineDeployment", NAME)
            return not holds(deployment, "ScalingDown") and len(await lab.all("SimulatedMachine")) == 2

        await lab.until("the others are gone with their hosts", settled)
        assert len(await lab.nodes("demo")) == 2
        assert len(await lab.all("MachineSet")) == 1
        await _counted(lab, 1)

    play(scenario)


def test_a_machine_deployment_scales_to_nothing_and_back(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        await lab.merge("MachineDeployment", NAME, {"spec": {"replicas": 0}})
        assert await lab.running(0) == []
        assert holds(await lab.get("MachineDeployment", NAME), "Available")
        await lab.merge("MachineDeployment", NAME, {"spec": {"replicas": 1}})
        assert len(await lab.running(1)) == 1

    play(scenario)


@both_servers
def test_a_foreground_deletion_takes_the_machine_deployment_last(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests())
        await lab.available("demo")
        machine, *_ = await lab.running(2)
        await lab.hold("Machine", machine.metadata.name, FINALIZER)
        await lab.delete("MachineDeployment", NAME, propagation="Foreground")

        async def one_left() -> bool:
            left = [each.metadata.name for each in await lab.workers()]
            assert await lab.all("MachineDeployment"), "gone before its machines"
            assert await lab.all("MachineSet"), "gone before its machines"
            return left == [machine.metadata.name]

        await lab.until("the other machine is gone", one_left)
        deployment = await lab.get("MachineDeployment", NAME)
        assert condition(deployment, "Deleting") == ("True", "Deleting")
        await lab.release("Machine", machine.metadata.name, FINALIZER)

        async def gone() -> bool:
            left = await lab.workers(), await lab.all("MachineSet"), await lab.all("MachineDeployment")
            for first, then in itertools.pairwise(left):
                assert then or not first, "something is left of a deployment that is gone"
            return not any(left)

        await lab.until("everything of the deployment is gone", gone)
        await _counted(lab, 0)

    play(scenario)


async def _counted(lab: Lab, workers: int) -> None:
    """Wait until the Cluster, which does not count at every change, says how many workers there are."""

    async def check() -> bool:
        cluster = await lab.get("Cluster", "demo")
        return (cluster.status.workers.replicas or 0) == workers and holds(cluster, "Available")

    await lab.until(f"the Cluster counts {workers} workers", check)
