"""A control plane machine that somebody made by hand is taken over, with its authorities, and stays what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from integration.controlplane.kubeadm_cluster import (
    BOOTSTRAP_API,
    CLUSTER_API,
    CLUSTER_NAME,
    SIMULATED_API,
    KubeadmCluster,
    settled,
)
from support.lab import SECRETS, Lab, Scenario, owner
from support.servers import both_servers

Play = Callable[[Scenario], None]
PURPOSES = ("ca", "etcd", "proxy", "sa")
OF_MACHINE = ("etcd", "proxy", "sa")
"""Those that the machine's own KubeadmConfig brings; a simulated cluster without a control plane has the first."""


def by_hand(cluster: KubeadmCluster) -> list[dict[str, Any]]:
    """A cluster whose only machine nobody manages."""
    name = "by-hand"
    whole = cluster.cluster()
    whole["spec"].pop("controlPlaneRef")
    labels = {CLUSTER_NAME: cluster.name, "cluster.x-k8s.io/control-plane": ""}
    metadata = {"name": name, "namespace": cluster.namespace, "labels": labels}
    machine = {
        "clusterName": cluster.name,
        "version": cluster.version,
        "bootstrap": {"configRef": {"apiGroup": BOOTSTRAP_API.split("/")[0], "kind": "KubeadmConfig", "name": name}},
        "infrastructureRef": {"apiGroup": SIMULATED_API.split("/")[0], "kind": "SimulatedMachine", "name": name},
    }
    cloned = {
        "cluster.x-k8s.io/cloned-from-name": f"{cluster.name}-control-plane",
        "cluster.x-k8s.io/cloned-from-groupkind": "SimulatedMachineTemplate.infrastructure.cluster.x-k8s.io",
    }
    settings = cluster.control_plane()["spec"]["kubeadmConfigSpec"]
    return [
        whole,
        cluster.infrastructure(),
        {"apiVersion": BOOTSTRAP_API, "kind": "KubeadmConfig", "metadata": metadata, "spec": settings},
        {
            "apiVersion": SIMULATED_API,
            "kind": "SimulatedMachine",
            "metadata": {**metadata, "annotations": cloned},
            "spec": dict(cluster.machine),
        },
        {"apiVersion": CLUSTER_API, "kind": "Machine", "metadata": metadata, "spec": machine},
    ]


@both_servers
def test_a_machine_and_its_authorities_are_adopted_as_they_are(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        cluster = KubeadmCluster("demo", lab.namespace)
        await lab.create(*by_hand(cluster))

        async def runs() -> Any:
            machine = await lab.get("Machine", "by-hand")
            return machine if machine.status.node_ref is not None else None

        before = await lab.until("the machine runs", runs)
        keys = {each: (await _secret(lab, each)).at("data") for each in PURPOSES}
        for each in OF_MACHINE:
            assert owner(await _secret(lab, each), "KubeadmConfig") == "by-hand"

        await lab.create(cluster.template("control-plane"), cluster.control_plane())
        reference = cluster.cluster()["spec"]["controlPlaneRef"]
        await lab.merge("Cluster", "demo", {"spec": {"controlPlaneRef": reference}})
        (after,) = await settled(lab, "demo", 1)
        assert after.metadata.uid == before.metadata.uid
        assert owner(after, "KubeadmControlPlane") == "demo"
        for each in OF_MACHINE:
            assert owner(await _secret(lab, each), "KubeadmControlPlane") == "demo"
        assert keys == {each: (await _secret(lab, each)).at("data") for each in PURPOSES}

        await lab.merge("KubeadmControlPlane", "demo", {"spec": {"replicas": 3}})
        await settled(lab, "demo", 3)

    play(scenario)


async def _secret(lab: Lab, purpose: str) -> Any:
    return await lab.client.get(SECRETS, lab.namespace, f"demo-{purpose}")
