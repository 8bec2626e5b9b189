"""Cluster API's quick start: a cluster comes up, keeps still, and mends what others damage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from nagaya.api.cluster.cluster import FINALIZER as CLUSTER_FINALIZER
from nagaya.api.cluster.machine import FINALIZER as MACHINE_FINALIZER
from support.lab import KINDS, Lab, Scenario, holds
from support.manifests.simulated import Simulated
from support.servers import both_servers

Play = Callable[[Scenario], None]


def test_a_cluster_becomes_available_with_all_its_machines(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace).manifests())
        cluster = await lab.available("demo")
        assert cluster.status.phase == "Provisioned"
        assert cluster.spec.control_plane_endpoint.valid
        machines = await lab.all("Machine")
        assert len(machines) == 4
        for machine in machines:
            assert machine.status.phase == "Running", machine
            assert holds(machine, "Ready")
            assert holds(machine, "Available")
            assert machine.spec.provider_id
        names = {machine.status.node_ref.name for machine in machines}
        assert {node.metadata.name for node in await lab.nodes("demo")} == names
        counts = cluster.status.workers
        assert (counts.desired_replicas, counts.replicas, counts.available_replicas) == (3, 3, 3)
        (deployment,) = await lab.all("MachineDeployment")
        assert (deployment.status.phase, deployment.status.available_replicas) == ("Running", 3)

    play(scenario)


def test_every_object_belongs_to_the_next(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace).manifests())
        await lab.available("demo")
        (deployment,) = await lab.all("MachineDeployment")
        (machine_set,) = await lab.all("MachineSet")
        assert _owners(deployment) == [("Cluster", "demo", False)]
        assert _owners(machine_set) == [("MachineDeployment", deployment.metadata.name, True)]
        for machine in await lab.all("Machine"):
            owner = ("Cluster", "demo", False)
            if "control-plane" not in machine.metadata.name:
                owner = ("MachineSet", machine_set.metadata.name, True)
            assert _owners(machine) == [owner]
            host = await lab.get("SimulatedMachine", machine.spec.infrastructure_ref.name)
            assert _owners(host) == [("Machine", machine.metadata.name, True)]

    play(scenario)


@both_servers
def test_owners_and_finalizers_that_somebody_removed_come_back(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        (deployment,) = await lab.all("MachineDeployment")
        damaged = [("Cluster", "demo"), ("MachineDeployment", deployment.metadata.name), ("SimulatedCluster", "demo")]
        damaged += [("Machine", each.metadata.name) for each in await lab.all("Machine")]
        before = {each: await lab.get(*each) for each in damaged}
        for kind, name in damaged:
            await lab.merge(kind, name, {"metadata": {"finalizers": None, "ownerReferences": None}})

        async def mended() -> bool:
            for each, old in before.items():
                new = await lab.get(*each)
                if set(new.metadata.finalizers) != set(old.metadata.finalizers):
                    return False
                if _owners(new) != _owners(old):
                    return False
            return True

        await lab.until("finalizers and owners are back", mended)
        assert CLUSTER_FINALIZER in (await lab.get("Cluster", "demo")).metadata.finalizers
        assert all(MACHINE_FINALIZER in each.metadata.finalizers for each in await lab.all("Machine"))

    play(scenario)


@both_servers
def test_a_cluster_in_which_nothing_happens_is_not_written_to(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace).manifests())
        await lab.available("demo")
        # New machines count as up to date for ten seconds, whatever is known of them.
        await asyncio.sleep(11 if lab.real else 60)
        await lab.idle()
        before = await _everything(lab)
        # Shows that nothing is written; virtual time is long enough for status updates that are delayed.
        await asyncio.sleep(2 if lab.real else 1800)
        after = await _everything(lab)
        assert after.keys() == before.keys()
        for name, obj in before.items():
            assert after[name] == obj, name

    play(scenario)


def _owners(obj: Any) -> list[tuple[str, str, bool]]:
    return [(each.kind, each.name, bool(each.controller)) for each in obj.metadata.owner_references]


async def _everything(lab: Lab) -> dict[str, Any]:
    found = {}
    for kind in KINDS:
        for obj in await lab.all(kind) if KINDS[kind].namespaced else ():
            found[f"{kind}/{obj.metadata.name}"] = obj
    return found
