"""What a process tells Prometheus of clusters and machines follows what the objects say."""

from __future__ import annotations

from collections.abc import Callable

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.kube.patches import Merge
from support.lab import Lab, Scenario
from support.manifests.simulated import Simulated

Play = Callable[[Scenario], None]


def test_figures_follow_a_cluster_from_its_creation_to_its_end(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        def told(figure: str, **labels: str) -> float | None:
            return lab.plane.metrics.registry.get_sample_value(figure, {"namespace": lab.namespace, **labels})

        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests())
        cluster = await lab.available("demo")
        who = {"name": "demo", "uid": cluster.metadata.uid, "cluster_name": "demo"}
        assert told("capi_cluster_status_phase", phase="Provisioned", **who) == 1
        assert told("capi_cluster_status_phase", phase="Deleting", **who) == 0
        assert told("capi_cluster_status_condition", type="Available", status="True", **who) == 1
        assert told("capi_cluster_status_condition", type="Available", status="False", **who) == 0
        assert told("capi_cluster_spec_paused", **who) == 0
        assert told("capi_cluster_created", **who) == cluster.metadata.creation_timestamp.timestamp()
        for machine in await lab.all("Machine"):
            one = {"name": machine.metadata.name, "uid": machine.metadata.uid, "cluster_name": "demo"}
            facts = {
                "version": machine.spec.version,
                "provider_id": machine.spec.provider_id,
                "failure_domain": machine.status.failure_domain or machine.spec.failure_domain,
                "node_name": machine.status.node_ref.name,
            }
            assert told("capi_machine_info", **one, **facts) == 1
            assert told("capi_machine_status_phase", phase="Running", **one) == 1
        (deployment,) = await lab.all("MachineDeployment")
        several = {"name": deployment.metadata.name, "uid": deployment.metadata.uid, "cluster_name": "demo"}
        assert told("capi_machinedeployment_spec_replicas", **several) == 2
        assert told("capi_machinedeployment_status_replicas_available", **several) == 2
        assert told("nagaya_tenant_up", cluster="demo") == 1
        await lab.delete("Cluster", "demo")
        await lab.gone("demo")
        assert told("capi_cluster_status_phase", phase="Deleting", **who) is None
        assert told("nagaya_tenant_up", cluster="demo") is None

    play(scenario)


def test_nobody_is_told_to_be_down_who_sleeps_as_declared(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        def told(figure: str, **labels: str) -> float | None:
            return lab.plane.metrics.registry.get_sample_value(figure, {"namespace": lab.namespace, **labels})

        await lab.create(*Simulated("demo", lab.namespace, workers=0).manifests())
        cluster = await lab.available("demo")
        who = {"name": "demo", "uid": cluster.metadata.uid, "cluster_name": "demo"}
        assert (told("nagaya_cluster_asleep", **who), told("nagaya_tenant_up", cluster="demo")) == (0, 1)
        # As in a process that hosts control planes. This one belongs to the Cluster by its label, and nobody runs it.
        lab.plane.manager.cache.start(HOSTED_CONTROL_PLANES)
        metadata = {"name": "plane", "namespace": lab.namespace, "labels": {CLUSTER_NAME: "demo"}}
        spec = {"version": "v1.36.3", "replicas": 0}
        await lab.client.create(HOSTED_CONTROL_PLANES, {"metadata": metadata, "spec": spec})

        async def sleeps() -> bool:
            return told("nagaya_cluster_asleep", **who) == 1

        async def is_awake() -> bool:
            return told("nagaya_cluster_asleep", **who) == 0

        await lab.until("the cluster sleeps", sleeps)
        assert told("nagaya_tenant_up", cluster="demo") is None
        await lab.client.patch(HOSTED_CONTROL_PLANES, lab.namespace, "plane", Merge({"spec": {"replicas": 1}}))
        await lab.until("the cluster is awake", is_awake)
        assert told("nagaya_tenant_up", cluster="demo") == 1

    play(scenario)
