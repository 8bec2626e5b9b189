"""Cluster API's kubeadm_join_old_nodes: a worker of the old version joins a control plane of the new one, and its boot
data tell it which kubeadm that takes."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from integration.controlplane.kubeadm_cluster import KubeadmCluster, settled
from nagaya.api.cluster.annotations import SKIP_PREFLIGHT_CHECKS
from support.lab import SECRETS, Lab, Scenario, message

Play = Callable[[Scenario], None]
OLD, NEW = "v1.35.4", "v1.36.2"
WORKERS = "demo-workers"
FETCHES = {
    "path": "/usr/local/bin/fetch-kubeadm.sh",
    "permissions": "0755",
    "contentFormat": "Template",
    "content": "fetch kubeadm {{ .controlPlane.version }}\n",
}


@pytest.mark.parametrize("play", ["embedded"], indirect=True)
def test_an_old_worker_joins_with_the_kubeadm_of_the_new_control_plane(play: Play) -> None:
    """On virtual time only: two rollouts take long."""

    async def scenario(lab: Lab) -> None:
        cluster = KubeadmCluster("demo", lab.namespace, version=OLD, workers=1)
        join = cluster.bootstrap()
        join["spec"]["template"]["spec"]["files"] = [FETCHES]
        await lab.create(*[join if each["kind"] == join["kind"] else each for each in cluster.manifests()])
        await settled(lab, "demo", 1, OLD)
        (first,) = await lab.running(1)
        assert f"fetch kubeadm {OLD}\n" in await _boot_data(lab, first)

        await lab.merge("KubeadmControlPlane", "demo", {"spec": {"version": NEW}})
        await settled(lab, "demo", 1, NEW)
        await lab.merge("MachineDeployment", WORKERS, {"spec": {"replicas": 2}})

        async def refused() -> bool:
            (machine_set,) = await lab.all("MachineSet")
            return "kubeadm version skew policy" in message(machine_set, "ScalingUp")

        await lab.until("it is told why there are no more workers", refused)
        assert [each.metadata.uid for each in await lab.workers()] == [first.metadata.uid]

        skipped = {SKIP_PREFLIGHT_CHECKS: "KubeadmVersionSkew,ControlPlaneVersionSkew"}
        await lab.annotate("KubeadmConfigTemplate", "demo", **skipped)
        machines = {each.metadata.uid: each for each in await lab.running(2)}
        kept = machines.pop(first.metadata.uid)
        (joined,) = machines.values()
        assert (kept.spec.version, joined.spec.version) == (OLD, OLD)
        assert f"fetch kubeadm {NEW}\n" in await _boot_data(lab, joined)
        assert joined.status.node_info.kubelet_version == OLD

        await lab.merge("MachineDeployment", WORKERS, {"spec": {"template": {"spec": {"version": NEW}}}})
        await lab.rolled(WORKERS, NEW)
        await lab.available("demo")

    play(scenario)


async def _boot_data(lab: Lab, machine: Any) -> str:
    """The text of what a machine boots with; files in it are indented."""
    secret = await lab.client.get(SECRETS, lab.namespace, machine.spec.bootstrap.data_secret_name)
    return base64.b64decode(secret.at("data", "value")).decode()
