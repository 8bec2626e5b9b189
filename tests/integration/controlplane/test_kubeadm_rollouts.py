"""Control planes that change: what can be changed in place is, and everything else machine by machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from integration.controlplane.kubeadm_cluster import KubeadmCluster, control_planes, settled
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from support.lab import Lab, Scenario

pytestmark = pytest.mark.long("rolls a control plane machine by machine")

Play = Callable[[Scenario], None]
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
DAEMON_SETS = Kind("apps", "v1", "DaemonSet", "daemonsets", Untyped)


@pytest.mark.parametrize("surge", [1, 0])
def test_a_new_version_replaces_one_machine_after_the_other(play: Play, surge: int) -> None:
    async def scenario(lab: Lab) -> None:
        rollout = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}}}
        cluster = KubeadmCluster("demo", lab.namespace, control_planes=3, control_plane_spec={"rollout": rollout})
        await lab.create(*cluster.manifests())
        old = {each.metadata.name for each in await settled(lab, "demo", 3)}
        counts = set()
        await lab.merge("KubeadmControlPlane", "demo", {"spec": {"version": "v1.36.3"}})

        async def rolled() -> bool:
            machines = await control_planes(lab)
            counts.add(len(machines))
            return all(each.spec.version == "v1.36.3" for each in machines)

        await lab.until("all machines are of the new version", rolled, 300)
        machines = await settled(lab, "demo", 3, "v1.36.3")
        assert old.isdisjoint(each.metadata.name for each in machines)
        assert counts <= ({3, 4} if surge else {2, 3})
        tenant = lab.tenant("demo")
        configuration = await tenant.get(CONFIG_MAPS, "kube-system", "kubeadm-config")
        assert "kubernetesVersion: v1.36.3" in configuration.at("data", "ClusterConfiguration")

        async def follows() -> bool:
            proxy = await tenant.get(DAEMON_SETS, "kube-system", "kube-proxy")
            return _images(proxy) == ["registry.k8s.io/kube-proxy:v1.36.3"]

        await lab.until("kube-proxy follows", follows)

    play(scenario)


def test_what_can_change_in_place_does_and_then_both_kinds_of_machines_roll(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*KubeadmCluster("demo", lab.namespace, workers=1).manifests())
        (first,) = await settled(lab, "demo", 1)
        (worker,) = await lab.running(1)
        metadata = {"labels": {"label": "new"}, "annotations": {"annotation": "new"}}
        taint = {"key": "example.com/x", "value": "y", "effect": "NoSchedule", "propagation": "Always"}
        spec = {"deletion": {"nodeDrainTimeoutSeconds": 10}, "taints": [taint]}
        await lab.merge(
            "KubeadmControlPlane", "demo", {"spec": {"machineTemplate": {"metadata": metadata, "spec": spec}}}
        )
        await lab.merge(
            "MachineDeployment", "demo-workers", {"spec": {"template": {"metadata": metadata, "spec": spec}}}
        )

        async def in_place() -> bool:
            return all([_is_changed(await lab.get("Machine", each.metadata.name)) for each in (first, worker)])

        await lab.until("both machines have changed", in_place)
        (kept,) = await settled(lab, "demo", 1)
        assert kept.metadata.uid == first.metadata.uid
        assert [each.metadata.uid for each in await lab.workers()] == [worker.metadata.uid]

        await lab.merge("KubeadmControlPlane", "demo", {"spec": {"version": "v1.36.3"}})
        (replaced,) = await settled(lab, "demo", 1, "v1.36.3")
        assert replaced.metadata.uid != first.metadata.uid
        assert _is_changed(replaced)
        await lab.merge("MachineDeployment", "demo-workers", {"spec": {"template": {"spec": {"version": "v1.36.3"}}}})
        await lab.rolled("demo-workers", "v1.36.3")

    play(scenario)


def _is_changed(machine: Any) -> bool:
    metadata, spec = machine.metadata, machine.spec
    return (
        metadata.labels.get("label") == "new"
        and metadata.annotations.get("annotation") == "new"
        and spec.deletion.node_drain_timeout_seconds == 10
        and [each.key for each in spec.taints] == ["example.com/x"]
    )


def _images(obj: Untyped) -> list[str]:
    return [each["image"] for each in obj.at("spec", "template", "spec", "containers") or ()]
