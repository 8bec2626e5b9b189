"""Control plane machines that fail are replaced: while the cluster comes up, and when it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from integration.controlplane.kubeadm_cluster import CLUSTER_API, KubeadmCluster, control_planes, settled, told
from support.lab import Lab, Scenario

Play = Callable[[Scenario], None]
TEMPLATE = "demo-control-plane"


def health_check(lab: Lab) -> dict[str, Any]:
    label = {"cluster.x-k8s.io/control-plane": ""}
    unhealthy = [{"type": "Ready", "status": status, "timeoutSeconds": 5} for status in ("False", "Unknown")]
    return {
        "apiVersion": CLUSTER_API,
        "kind": "MachineHealthCheck",
        "metadata": {"name": "demo", "namespace": lab.namespace},
        "spec": {
            "clusterName": "demo",
            "selector": {"matchLabels": label},
            "checks": {"unhealthyNodeConditions": unhealthy, "nodeStartupTimeoutSeconds": 30},
        },
    }


async def with_template(lab: Lab, cluster: KubeadmCluster, **more: Any) -> None:
    """From now on machines are made like this."""
    await lab.delete("SimulatedMachineTemplate", TEMPLATE)

    async def gone() -> bool:
        return await lab.get("SimulatedMachineTemplate", TEMPLATE) is None

    await lab.until("the old template is gone", gone)
    await lab.create(cluster.template("control-plane", **more))


async def replaced(lab: Lab, machine: str) -> None:
    async def check() -> bool:
        return machine not in {each.metadata.name for each in await control_planes(lab)}

    try:
        await lab.until(f"Machine {machine} is replaced", check, 300)
    except AssertionError as error:
        error.add_note(await told(lab, "demo"))
        raise


async def made(lab: Lab, count: int) -> list[Any]:
    async def check() -> list[Any]:
        found = await control_planes(lab)
        return found if len(found) == count else []

    return await lab.until(f"there are {count} control plane machines", check)


def test_machines_that_do_not_boot_and_one_that_dies_are_replaced(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        cluster = KubeadmCluster("demo", lab.namespace, control_planes=3)
        broken = {"faults": [{"stage": "Boot", "mode": "Hang"}]}
        wanted = [each for each in cluster.manifests() if each["kind"] != "SimulatedMachineTemplate"]
        await lab.create(cluster.template("control-plane", **broken), *wanted, health_check(lab))
        (first,) = await made(lab, 1)
        await with_template(lab, cluster)
        await replaced(lab, first.metadata.name)

        machines = await settled(lab, "demo", 3)
        victim = machines[0]
        host = victim.spec.infrastructure_ref.name
        await lab.merge("SimulatedMachine", host, {"spec": {"faults": [{"stage": "Run", "mode": "NetworkGone"}]}})
        await replaced(lab, victim.metadata.name)
        healed = await settled(lab, "demo", 3)
        assert victim.metadata.name not in {each.metadata.name for each in healed}
        plane = await lab.get("KubeadmControlPlane", "demo")
        assert plane.status.last_remediation.machine == victim.metadata.name

    play(scenario)


@pytest.mark.parametrize("play", ["embedded"], indirect=True)
def test_a_second_machine_that_does_not_boot_is_replaced_too(play: Play) -> None:
    """On virtual time only: half a minute has to pass until a machine counts as not booted."""

    async def scenario(lab: Lab) -> None:
        cluster = KubeadmCluster("demo", lab.namespace)
        await lab.create(*cluster.manifests(), health_check(lab))
        (first,) = await settled(lab, "demo", 1)
        await with_template(lab, cluster, faults=[{"stage": "Boot", "mode": "Hang"}])
        await lab.merge("KubeadmControlPlane", "demo", {"spec": {"replicas": 3}})
        found = await made(lab, 2)
        (second,) = [each for each in found if each.metadata.name != first.metadata.name]
        await with_template(lab, cluster)
        await replaced(lab, second.metadata.name)
        names = {each.metadata.name for each in await settled(lab, "demo", 3)}
        assert first.metadata.name in names

    play(scenario)
