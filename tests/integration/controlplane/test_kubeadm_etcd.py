"""Trouble with etcd is told, keeps changes away, and is over when it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from integration.controlplane.kubeadm_cluster import KubeadmCluster, control_planes, settled
from support.lab import Lab, Scenario, condition, message

Play = Callable[[Scenario], None]


async def suffers(lab: Lab, machine: Any, *modes: str) -> None:
    """From now on a machine has these faults. The control plane is nudged: etcd tells nobody by itself."""
    faults = [{"stage": "Run", "mode": each} for each in modes]
    await lab.merge("SimulatedMachine", machine.spec.infrastructure_ref.name, {"spec": {"faults": faults or None}})


async def nudged(lab: Lab, what: str, check: Callable[[Any], bool]) -> None:
    """Wait until a control plane says something, having it looked at meanwhile."""
    number = 0

    async def said() -> bool:
        nonlocal number
        number += 1
        await lab.annotate("KubeadmControlPlane", "demo", nudge=str(number))
        return check(await lab.get("KubeadmControlPlane", "demo"))

    await lab.until(what, said)


def test_an_alarm_is_told_and_no_machine_is_made_until_it_is_over(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*KubeadmCluster("demo", lab.namespace).manifests())
        (machine,) = await settled(lab, "demo", 1)
        await suffers(lab, machine, "EtcdNoSpace")
        await nudged(
            lab, "the alarm is told", lambda plane: condition(plane, "EtcdClusterHealthy") == ("False", "NotHealthy")
        )
        machine = await lab.get("Machine", machine.metadata.name)
        assert message(machine, "EtcdMemberHealthy") == "Etcd reports alarms: NOSPACE"
        await lab.merge("KubeadmControlPlane", "demo", {"spec": {"replicas": 3}})
        await nudged(
            lab,
            "scaling up is blocked",
            lambda plane: "* waiting for etcd cluster to become healthy" in message(plane, "ScalingUp"),
        )
        assert len(await control_planes(lab)) == 1
        await suffers(lab, machine)
        await settled(lab, "demo", 3)

    play(scenario)


def test_an_etcd_that_is_down_is_told_of_and_comes_back(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*KubeadmCluster("demo", lab.namespace).manifests())
        (machine,) = await settled(lab, "demo", 1)
        await suffers(lab, machine, "EtcdDown")
        await nudged(lab, "etcd is missed", lambda plane: condition(plane, "EtcdClusterHealthy")[0] != "True")
        told = message(await lab.get("Machine", machine.metadata.name), "EtcdMemberHealthy")
        assert told.startswith("Failed to "), told
        await suffers(lab, machine)
        await nudged(lab, "etcd is back", lambda plane: condition(plane, "EtcdClusterHealthy")[0] == "True")
        await settled(lab, "demo", 1)

    play(scenario)
