"""A control plane of kubeadm machines comes up, grows, shrinks, and goes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from integration.controlplane.kubeadm_cluster import KubeadmCluster, settled
from nagaya.api.catalog import PARTS
from nagaya.cli.admission import AdmissionServer
from nagaya.kube.errors import Invalid
from nagaya.kube.patches import MERGE
from support.lab import KINDS, Lab, Scenario
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


@both_servers
def test_kubectl_scale_is_held_to_the_rules_of_the_control_plane(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        # Elsewhere Nagaya's webhook has to cover the subresource; the embedded server asks its rules.
        webhook = AdmissionServer(lab.client, lab.world, PARTS["controlplane-kubeadm"], stop_timeout=240.0)
        if lab.real:
            await webhook.start("127.0.0.1", 0)
        try:
            plane = next(
                each
                for each in KubeadmCluster("demo", lab.namespace, control_planes=3).manifests()
                if each["kind"] == "KubeadmControlPlane"
            )
            await lab.create(plane)
            kind = KINDS["KubeadmControlPlane"]
            path = kind.path(lab.namespace, "demo", "scale")
            for replicas in (0, 2):
                content = {"spec": {"replicas": replicas}}
                with pytest.raises(Invalid, match=r"spec\.replicas"):
                    await lab.client.raw("PATCH", path, content=content, content_type=MERGE)
            await lab.client.raw("PATCH", path, content={"spec": {"replicas": 5}}, content_type=MERGE)
            assert (await lab.client.get(kind, lab.namespace, "demo")).spec.replicas == 5
        finally:
            if lab.real:
                await webhook.stop()

    play(scenario)
