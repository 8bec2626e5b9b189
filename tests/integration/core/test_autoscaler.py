"""Cluster API's autoscaler: what the cluster autoscaler's provider reads and writes, as it reads and writes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nagaya.api.cluster.annotations import (
    AUTOSCALER_MAX_SIZE,
    AUTOSCALER_MIN_SIZE,
    CLUSTER_NAMESPACE,
    DELETE_MACHINE,
    MACHINE,
    REVISION,
)
from nagaya.api.cluster.labels import MACHINE_DEPLOYMENT_NAME
from support.lab import Lab, Scenario, owner, play_embedded
from support.manifests.simulated import Manifest, Simulated
from support.servers import both_servers

Play = Callable[[Scenario], None]
NAME = "demo-workers"


@both_servers
def test_the_scale_subresource_scales_and_annotated_machines_go_first(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        (oldest,) = await lab.running(1)
        assert await _scale(lab, "GET") == (1, 1)
        assert (await _scale(lab, "PATCH", 3))[0] == 3
        machines = await lab.running(3)
        assert await _scale(lab, "GET") == (3, 3)
        chosen = next(each for each in machines if each.metadata.uid != oldest.metadata.uid)
        await lab.annotate("Machine", chosen.metadata.name, **{DELETE_MACHINE: "2026-11-01T00:00:00Z"})
        await _scale(lab, "PATCH", 2)
        left = await lab.running(2)
        expected = {each.metadata.uid for each in machines} - {chosen.metadata.uid}
        assert {each.metadata.uid for each in left} == expected

    play(scenario)


def test_nodes_lead_to_their_group(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests())
        await lab.available("demo")
        await lab.running(2)
        machines = {each.spec.provider_id: each for each in await lab.all("Machine")}
        assert len(machines) == 3, "the ends of provider IDs must be unique"
        assert len({each.rpartition("/")[2] for each in machines}) == 3
        sets = {each.metadata.name: each for each in await lab.all("MachineSet")}
        for node in await lab.nodes("demo"):
            machine = machines[node.at("spec", "providerID")]
            assert node.metadata.annotations[MACHINE] == machine.metadata.name
            assert node.metadata.annotations[CLUSTER_NAMESPACE] == lab.namespace
            if set_name := owner(machine, "MachineSet"):
                machine_set = sets[set_name]
                assert owner(machine_set, "MachineDeployment") == NAME
                assert machine_set.metadata.labels[MACHINE_DEPLOYMENT_NAME] == NAME
                assert machine_set.metadata.annotations[REVISION] == "1"
        (deployment,) = await lab.all("MachineDeployment")
        selected = dict(each.split("=") for each in deployment.status.selector.split(","))
        found = [each for each in machines.values() if selected.items() <= each.metadata.labels.items()]
        assert {owner(each, "MachineSet") for each in found} == set(sets)
        assert len(found) == 2

    play(scenario)


def test_a_group_scales_from_nothing_by_what_its_template_promises(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        demo = Simulated("demo", lab.namespace, workers=0, machine={"startupSeconds": 1, "capacity": {"cpu": 8}})
        await lab.create(*demo.manifests())
        await lab.available("demo")

        async def promised() -> Any:
            template = await lab.get("SimulatedMachineTemplate", "demo-worker")
            return template if template.status.capacity else None

        template = await lab.until("the template says what machines will be like", promised)
        capacity = template.status.capacity
        assert (capacity["cpu"], capacity["memory"]) == ("8", "8Gi")
        assert (template.status.node_info.architecture, template.status.node_info.operating_system) == (
            "amd64",
            "linux",
        )
        await _scale(lab, "PATCH", 1)
        (machine,) = await lab.running(1)
        node = await lab.node("demo", machine.status.node_ref.name)
        assert node is not None
        assert {**capacity}.items() <= node.at("status", "capacity").items()

    play(scenario)


def test_replicas_that_are_left_out_follow_from_the_sizes_of_the_group() -> None:
    """Where admission runs: in the embedded server."""

    async def scenario(lab: Lab) -> None:
        demo = Simulated("demo", lab.namespace)
        sizes = {AUTOSCALER_MIN_SIZE: "2", AUTOSCALER_MAX_SIZE: "4"}
        await lab.create(_without_replicas(demo.workers_(), "plain", {}))
        await lab.create(_without_replicas(demo.workers_(), "sized", sizes))
        assert (await lab.get("MachineDeployment", "plain")).spec.replicas == 1
        assert (await lab.get("MachineDeployment", "sized")).spec.replicas == 2
        for asked, expected in ((7, 4), (3, 3), (1, 2)):
            await lab.merge("MachineDeployment", "sized", {"spec": {"replicas": asked}})
            await lab.merge("MachineDeployment", "sized", {"spec": {"replicas": None}})
            assert (await lab.get("MachineDeployment", "sized")).spec.replicas == expected

    play_embedded(scenario, parts=("infrastructure-simulated",))


def _without_replicas(deployment: Manifest, name: str, annotations: dict[str, str]) -> Manifest:
    spec = {key: value for key, value in deployment["spec"].items() if key != "replicas"}
    return {
        **deployment,
        "metadata": {**deployment["metadata"], "name": name, "annotations": annotations},
        "spec": spec,
    }


async def _scale(lab: Lab, method: str, replicas: int | None = None) -> tuple[int, int]:
    """What is wanted, and what there is, by the scale subresource as the autoscaler speaks to it."""
    path = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{lab.namespace}/machinedeployments/{NAME}/scale"
    content = None if replicas is None else {"spec": {"replicas": replicas}}
    answer = await lab.client.raw(method, path, content=content, content_type="application/merge-patch+json")
    scale = json.loads(answer.body)
    assert scale["kind"] == "Scale"
    return scale["spec"]["replicas"], scale["status"]["replicas"]
