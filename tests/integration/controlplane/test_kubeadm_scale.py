"""A control plane of kubeadm machines comes up, grows, shrinks, and goes."""

from __future__ import annotations

from collections.abc import Callable

from integration.controlplane.kubeadm_cluster import KubeadmCluster, settled
from support.lab import Lab, Scenario
from support.servers import both_servers

Play = Callable[[Scenario], None]


def test_one_machine_starts_the_cluster_and_workers_join_it(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*KubeadmCluster("demo", lab.namespace, workers=2).manifests())
        (machine,) = await settled(lab, "demo", 1)
        cluster = await lab.available("demo")
        await lab.running(2)
        assert cluster.status.initialization.control_plane_initialized
        names = {each.metadata.name for each in await lab.nodes("demo")}
        assert machine.status.node_ref.name in names
        assert len(names) == 3

    play(scenario)


@both_servers
def test_a_control_plane_grows_shrinks_and_goes(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*KubeadmCluster("demo", lab.namespace, control_planes=3).manifests())
        first = {each.metadata.name for each in await settled(lab, "demo", 3)}
        await lab.merge("KubeadmControlPlane", "demo", {"spec": {"replicas": 1}})
        (left,) = await settled(lab, "demo", 1)
        assert left.metadata.name in first
        await lab.merge("KubeadmControlPlane", "demo", {"spec": {"replicas": 3}})
        await settled(lab, "demo", 3)
        await lab.delete("Cluster", "demo")
        await lab.gone("demo")

    play(scenario)
