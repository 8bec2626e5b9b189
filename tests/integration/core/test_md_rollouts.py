"""Cluster API's kcp_md_rollout, the part of the MachineDeployment: what changes in place, and what rolls machines."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest

from nagaya.api.cluster.annotations import DISABLE_MACHINE_CREATE, REVISION
from nagaya.api.cluster.taint import NODE_OUTDATED_REVISION
from support.lab import Lab, Scenario, condition, holds, owner, play_embedded
from support.manifests.simulated import Simulated
from support.servers import both_servers

Play = Callable[[Scenario], None]
NAME = "demo-workers"
OLD, NEW = "v1.36.3", "v1.36.4"
NODE_LABEL = "demo.node.cluster.x-k8s.io/colour"
NODE_ANNOTATION = "demo.node.cluster.x-k8s.io/shape"


@both_servers
def test_what_can_be_changed_in_place_reaches_machines_hosts_and_nodes_without_a_rollout(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests())
        await lab.available("demo")
        before = await lab.running(2)
        taint = {"key": "example.com/busy", "value": "yes", "effect": "NoSchedule", "propagation": "Always"}
        once = {"key": "example.com/new", "effect": "PreferNoSchedule", "propagation": "OnInitialization"}
        deletion = {
            "nodeDrainTimeoutSeconds": 11,
            "nodeVolumeDetachTimeoutSeconds": 12,
            "nodeDeletionTimeoutSeconds": 13,
        }
        spec = {
            "minReadySeconds": 1,
            "deletion": deletion,
            "readinessGates": [{"conditionType": "APIServerPodHealthy"}],
            "taints": [taint, once],
        }
        metadata = {
            "labels": {NODE_LABEL: "red", "plain": "label"},
            "annotations": {NODE_ANNOTATION: "round", "plain": "annotation"},
        }
        await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"metadata": metadata, "spec": spec}}})

        async def arrived() -> bool:
            for machine in await lab.workers():
                given = machine.spec
                times = given.deletion
                if (times.node_drain_timeout_seconds, times.node_volume_detach_timeout_seconds) != (11, 12):
                    return False
                if times.node_deletion_timeout_seconds != 13 or given.min_ready_seconds != 1:
                    return False
                if len(given.readiness_gates) != 1 or len(given.taints) != 2:
                    return False
                host = await lab.get("SimulatedMachine", given.infrastructure_ref.name)
                for obj in (machine, host):
                    if not metadata["labels"].items() <= obj.metadata.labels.items():
                        return False
                    if not metadata["annotations"].items() <= obj.metadata.annotations.items():
                        return False
                node = await lab.node("demo", machine.status.node_ref.name)
                assert node is not None
                if node.metadata.labels.get(NODE_LABEL) != "red" or "plain" in node.metadata.labels:
                    return False
                if node.metadata.annotations.get(NODE_ANNOTATION) != "round":
                    return False
                if "example.com/busy" not in _taints(node):
                    return False
            return True

        await lab.until("the changes reached every object", arrived)
        for machine in await lab.workers():
            node = await lab.node("demo", machine.status.node_ref.name)
            assert node is not None
            assert "example.com/new" not in _taints(node), "a taint for initialization came later"
        removed = {"metadata": {"labels": {NODE_LABEL: None}}, "spec": {"taints": None, "readinessGates": None}}
        await lab.merge("MachineDeployment", NAME, {"spec": {"template": removed}})

        async def left() -> bool:
            nodes = [await lab.node("demo", each.status.node_ref.name) for each in await lab.workers()]
            return all(
                node is not None and NODE_LABEL not in node.metadata.labels and "example.com/busy" not in _taints(node)
                for node in nodes
            )

        await lab.until("what was taken back is gone from the Nodes", left)
        await lab.rolled(NAME)
        assert {each.metadata.uid for each in await lab.workers()} == {each.metadata.uid for each in before}
        assert len(await lab.all("MachineSet")) == 1

    play(scenario)


@both_servers
def test_a_new_version_rolls_the_machines_one_by_one(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests())
        await lab.available("demo")
        before = await lab.running(2)
        (first,) = await lab.all("MachineSet")
        async with _within(lab, most=3, fewest=2):
            await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"spec": {"version": NEW}}}})
            deployment = await lab.rolled(NAME, NEW)
        after = await lab.running(2)
        assert not {each.metadata.uid for each in after} & {each.metadata.uid for each in before}
        assert deployment.metadata.annotations[REVISION] == "2"

        async def one_set() -> Any:
            sets = await lab.all("MachineSet")
            return sets if len(sets) == 1 else None

        (newest,) = await lab.until("the old MachineSet is gone", one_set)
        assert newest.metadata.uid != first.metadata.uid
        assert newest.metadata.annotations[REVISION] == "2"
        versions = {node.at("status", "nodeInfo", "kubeletVersion") for node in await lab.nodes("demo")}
        assert NEW in versions
        names = {each.status.node_ref.name for each in await lab.all("Machine")}
        assert {node.metadata.name for node in await lab.nodes("demo")} == names

    play(scenario)


def test_a_new_infrastructure_template_rolls_the_machines(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        demo = Simulated("demo", lab.namespace, workers=1)
        await lab.create(*demo.manifests(), demo.template("demo-larger", capacity={"cpu": 8}))
        await lab.available("demo")
        (before,) = await lab.running(1)
        reference = {"infrastructureRef": {"name": "demo-larger"}}
        await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"spec": reference}}})

        async def replaced() -> Any:
            return [each for each in await lab.workers() if each.metadata.uid != before.metadata.uid]

        await lab.until("there is a new machine", replaced)
        await lab.rolled(NAME)
        (after,) = await lab.running(1)
        node = await lab.node("demo", after.status.node_ref.name)
        assert node is not None
        assert node.at("status", "capacity", "cpu") == "8"
        host = await lab.get("SimulatedMachine", after.spec.infrastructure_ref.name)
        assert host.metadata.annotations["cluster.x-k8s.io/cloned-from-name"] == "demo-larger"

    play(scenario)


@pytest.mark.parametrize(
    ("surge", "unavailable", "most", "fewest"),
    [(1, 0, 5, 4), (0, 1, 4, 3), (2, 1, 6, 3), ("50%", "50%", 6, 2), ("26%", "26%", 6, 3), (4, 4, 8, 0)],
)
def test_a_rollout_keeps_to_its_bounds(surge: int | str, unavailable: int | str, most: int, fewest: int) -> None:
    """On virtual time only: the bounds are looked at often."""
    bounds = {"maxSurge": surge, "maxUnavailable": unavailable}
    rollout = {"strategy": {"type": "RollingUpdate", "rollingUpdate": bounds}}

    async def scenario(lab: Lab) -> None:
        demo = Simulated("demo", lab.namespace, workers=4, deployment={"rollout": rollout})
        await lab.create(*demo.manifests())
        await lab.available("demo")
        await lab.running(4)
        async with _within(lab, most, fewest):
            await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"spec": {"version": NEW}}}})
            await lab.rolled(NAME, NEW)

    play_embedded(scenario)


def test_nodes_of_the_old_revision_are_marked_during_a_rollout() -> None:
    async def scenario(lab: Lab) -> None:
        slow = {"startupSeconds": 60}
        demo = Simulated("demo", lab.namespace, workers=2)
        await lab.create(*demo.manifests(), demo.template("demo-slow", **slow))
        await lab.available("demo")
        before = await lab.running(2)
        reference = {"infrastructureRef": {"name": "demo-slow"}}
        await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"spec": reference}}})

        async def marked() -> bool:
            nodes = [await lab.node("demo", each.status.node_ref.name) for each in before]
            return all(node is not None and NODE_OUTDATED_REVISION in _taints(node) for node in nodes)

        await lab.until("the old Nodes are marked", marked, patience=30)
        await lab.rolled(NAME)
        assert all(NODE_OUTDATED_REVISION not in _taints(node) for node in await lab.nodes("demo"))

    play_embedded(scenario)


def test_on_delete_replaces_only_machines_that_somebody_deletes(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        deployment = {"rollout": {"strategy": {"type": "OnDelete"}}}
        await lab.create(*Simulated("demo", lab.namespace, workers=2, deployment=deployment).manifests())
        await lab.available("demo")
        before = await lab.running(2)
        await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"spec": {"version": NEW}}}})

        async def two_sets() -> Any:
            sets = await lab.all("MachineSet")
            return sets if len(sets) == 2 else None

        sets = await lab.until("there is a second MachineSet", two_sets)

        async def untouched() -> bool:
            machines = await lab.workers()
            return {each.metadata.uid for each in machines} == {each.metadata.uid for each in before} and not any(
                each.metadata.deleting for each in machines
            )

        await lab.always(2 if lab.real else 60, untouched)
        await lab.idle()
        deployment = await lab.get("MachineDeployment", NAME)
        assert condition(deployment, "RollingOut") == ("True", "RollingOut")
        await lab.delete("Machine", before[0].metadata.name)

        async def replaced() -> bool:
            machines = await lab.workers()
            gone = before[0].metadata.uid not in {each.metadata.uid for each in machines}
            versions = sorted(each.spec.version for each in machines if holds(each, "Available"))
            return gone and versions == [OLD, NEW]

        await lab.until("the deleted machine is replaced by a new one", replaced)
        (old,) = [each for each in await lab.all("MachineSet") if each.spec.template.spec.version == OLD]
        assert DISABLE_MACHINE_CREATE in old.metadata.annotations
        assert old.spec.replicas == 1
        await lab.delete("Machine", before[1].metadata.name)
        await lab.rolled(NAME, NEW)
        assert len(sets) == 2

    play(scenario)


def test_a_paused_deployment_scales_but_does_not_roll(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        (before,) = await lab.running(1)
        change = {"paused": True, "template": {"spec": {"version": NEW}}}
        await lab.merge("MachineDeployment", NAME, {"spec": change})

        async def kept() -> bool:
            return [each.metadata.uid for each in await lab.workers()] == [before.metadata.uid]

        await lab.always(2 if lab.real else 60, kept)
        await lab.merge("MachineDeployment", NAME, {"spec": {"replicas": 2}})
        machines = await lab.running(2)
        assert {each.spec.version for each in machines} == {OLD}
        await lab.merge("MachineDeployment", NAME, {"spec": {"paused": False}})
        await lab.rolled(NAME, NEW)

    play(scenario)


def test_rollout_after_replaces_machines_when_the_moment_has_come(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        (before,) = await lab.running(1)
        wait = 4 if lab.real else 3600
        moment = lab.world.clock.now().replace(microsecond=0) + timedelta(seconds=wait)
        after = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        await lab.merge("MachineDeployment", NAME, {"spec": {"rollout": {"after": after}}})

        async def kept_until_then() -> bool:
            kept = [each.metadata.uid for each in await lab.workers()] == [before.metadata.uid]
            return kept or lab.world.clock.now() >= moment

        await lab.always(2 if lab.real else 60, kept_until_then)
        if not lab.real:
            await asyncio.sleep(3500)  # of virtual time

        async def replaced() -> bool:
            machines = await lab.workers()
            return len(machines) == 1 and machines[0].metadata.uid != before.metadata.uid

        await lab.until("the machine is replaced", replaced)
        await lab.rolled(NAME)
        (deployment,) = await lab.all("MachineDeployment")
        assert deployment.metadata.annotations[REVISION] == "2"

    play(scenario)


def test_going_back_makes_a_newer_revision() -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        for revision, version in enumerate((NEW, OLD, NEW), start=2):
            await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"spec": {"version": version}}}})
            deployment = await lab.rolled(NAME, version)
            assert deployment.metadata.annotations[REVISION] == str(revision)

    play_embedded(scenario)


def test_a_change_during_a_rollout_goes_straight_to_the_newest() -> None:
    async def scenario(lab: Lab) -> None:
        demo = Simulated("demo", lab.namespace, workers=3, machine={"startupSeconds": 20})
        await lab.create(*demo.manifests())
        await lab.available("demo")
        await lab.running(3)
        await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"spec": {"version": NEW}}}})
        await asyncio.sleep(30)
        assert {each.spec.version for each in await lab.workers()} == {OLD, NEW}
        async with _within(lab, most=4, fewest=3):
            await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"spec": {"version": "v1.36.5"}}}})
            await lab.rolled(NAME, "v1.36.5")
        sets = {each.metadata.name for each in await lab.all("MachineSet")}
        assert {owner(each, "MachineSet") for each in await lab.workers()} <= sets

    play_embedded(scenario)


@contextlib.asynccontextmanager
async def _within(lab: Lab, most: int, fewest: int) -> AsyncIterator[None]:
    """See that there are never too many machines meanwhile, nor too few that work."""
    watching = asyncio.create_task(_watch(lab, most, fewest))
    try:
        yield
        if watching.done():
            watching.result()
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError, AssertionError):
            await watching


async def _watch(lab: Lab, most: int, fewest: int) -> None:
    while True:
        machines = [each for each in await lab.workers() if not each.metadata.deleting]
        works = [each for each in machines if holds(each, "Available")]
        assert len(machines) <= most, [each.metadata.name for each in machines]
        assert len(works) >= fewest, [(each.metadata.name, condition(each, "Available")) for each in machines]
        await asyncio.sleep(0.1)


def _taints(node: Any) -> set[str]:
    return {each["key"] for each in node.at("spec", "taints") or ()}
