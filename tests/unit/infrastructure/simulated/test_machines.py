"""Simulated machines against a server: from their objects to Nodes in a tenant, on virtual time."""

from __future__ import annotations

import pytest

from nagaya.api.simulated.simulated_cluster import FINALIZER as CLUSTER_FINALIZER
from nagaya.api.simulated.simulated_cluster import SIMULATED_CLUSTERS
from nagaya.api.simulated.simulated_machine import FINALIZER, SIMULATED_MACHINES
from support.virtual_run import run
from unit.infrastructure.simulated.yard import CLUSTER, NAMESPACE, SECRETS, said, yard

pytestmark = pytest.mark.slow


def test_a_machine_boots_and_its_node_appears() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.cluster()
            simulated = await here.simulated_cluster()
            assert said(simulated, "Ready") == ("True", "Provisioned")
            assert simulated.status.initialization.provisioned
            assert simulated.spec.control_plane_endpoint.host == "127.0.0.1"
            assert simulated.metadata.finalizers == (CLUSTER_FINALIZER,)
            secret = await here.user.get(SECRETS, NAMESPACE, "harbour-ca")
            assert secret.raw["type"] == "cluster.x-k8s.io/secret"
            assert secret.metadata.labels == {"cluster.x-k8s.io/cluster-name": "harbour"}

            await here.provisioned()
            await here.machine("cp", control_plane=True)
            await here.machine("worker", capacity={"cpu": 8}, nodeLabels={"tier": "front"})
            assert await here.says("cp", "Ready") == ("False", "Booting")
            assert here.tenants.get(CLUSTER) is None
            await here.wait(3)

            kubectl = here.kubectl()
            host = await here.host("worker")
            assert host.status.initialization.provisioned
            assert said(host, "Ready") == ("True", "Provisioned")
            assert said(host, "NodeJoined") == ("True", "Joined")
            node = await kubectl.get("/api/v1/nodes/worker")
            assert node["spec"]["providerID"] == host.spec.provider_id
            assert host.spec.provider_id == f"simulated://fleet/worker-{host.metadata.uid[:8]}"
            assert node["metadata"]["labels"]["tier"] == "front"
            assert node["status"]["capacity"]["cpu"] == "8"
            assert {each.address for each in host.status.addresses} == {
                each["address"] for each in node["status"]["addresses"]
            }
            assert "node.cluster.x-k8s.io/uninitialized:NoSchedule" in await kubectl.taints("worker")
            assert "node-role.kubernetes.io/control-plane:NoSchedule" in await kubectl.taints("cp")
            assert (await kubectl.ready("worker"))[0] == "True"

    run(main())


def test_a_machine_costs_three_writes_and_then_none() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.running()
            here.writes.clear()
            await here.machine("worker")
            await here.wait(3)
            place = "/v1alpha1/namespaces/fleet/simulatedmachines/worker"
            assert here.writes == [f"PATCH {place}", f"PATCH {place}/status", f"PATCH {place}/status"]
            here.writes.clear()
            await here.wait(1500)
            assert here.writes == []

    run(main())


def test_a_process_that_starts_anew_builds_its_clusters_from_their_objects() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.running("worker")
            endpoint = (await here.simulated_cluster()).spec.control_plane_endpoint
            await here.restart()
            await here.wait(2)
            kubectl = here.kubectl()
            assert {each["metadata"]["name"] for each in await kubectl.items("/api/v1/nodes")} == {"cp", "worker"}
            assert (await here.simulated_cluster()).spec.control_plane_endpoint == endpoint
            assert not [each for each in here.writes if "simulatedmachines" in each]

    run(main())


def test_a_machine_waits_for_what_it_needs_and_says_so() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.cluster()
            await here.machine("cp", control_plane=True, data=None)
            await here.machine("worker", data=None)
            waits = ("False", "WaitingForClusterInfrastructureReady")
            assert await here.says("cp", "Ready") == waits
            assert (await here.host("cp")).metadata.finalizers == ()
            await here.provisioned()
            assert await here.says("cp", "Ready") == ("False", "WaitingForBootstrapData")
            assert await here.says("worker", "Ready") == ("False", "WaitingForControlPlaneInitialized")

    run(main())


def test_a_worker_that_is_up_before_the_control_plane_joins_when_that_is() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.cluster()
            await here.provisioned()
            await here.machine("worker", startupSeconds=0)
            assert await here.says("worker", "Ready") == ("True", "Provisioned")
            assert await here.says("worker", "NodeJoined") == ("False", "WaitingForControlPlane")
            await here.machine("cp", control_plane=True, startupSeconds=5)
            await here.wait(4)
            assert here.tenants.get(CLUSTER) is None
            await here.wait(2)
            assert await here.says("worker", "NodeJoined") == ("True", "Joined")

    run(main())


def test_deletion_takes_its_time_and_leaves_nothing() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.running("worker")
            kubectl = here.kubectl()
            await here.order(SIMULATED_MACHINES, "worker", deletionSeconds=30)
            await here.delete(SIMULATED_MACHINES, "worker")
            assert await here.says("worker", "Deleting") == ("True", "Deleting")
            await here.wait(20)
            assert await here.exists(SIMULATED_MACHINES, "worker")
            await here.wait(15)
            assert not await here.exists(SIMULATED_MACHINES, "worker")
            await here.wait(60)
            assert (await kubectl.ready("worker"))[0] == "Unknown"

            await here.delete(SIMULATED_MACHINES, "cp")
            await here.wait(2)
            tenancy = here.tenants.tenancy(CLUSTER)
            assert tenancy is not None
            assert not tenancy.serving
            await here.delete(SIMULATED_CLUSTERS, "quay")
            assert not await here.exists(SIMULATED_CLUSTERS, "quay")
            assert here.tenants.tenancy(CLUSTER) is None

    run(main())


def test_a_machine_that_never_was_goes_at_once() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.cluster()
            await here.provisioned()
            await here.machine("worker", faults=[{"stage": "Provision", "mode": "Hang"}])
            assert await here.says("worker", "Ready") == ("False", "Provisioning")
            assert (await here.host("worker")).metadata.finalizers == (FINALIZER,)
            await here.delete(SIMULATED_MACHINES, "worker")
            assert not await here.exists(SIMULATED_MACHINES, "worker")

    run(main())


def test_what_is_ordered_to_go_wrong_does_until_it_is_not() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.running()
            await here.machine("worker", faults=[{"stage": "Join", "mode": "Hang"}])
            await here.wait(20)
            assert await here.says("worker", "Ready") == ("True", "Provisioned")
            assert await here.says("worker", "NodeJoined") == ("False", "JoinHangs")
            await here.order(SIMULATED_MACHINES, "worker", faults=None)
            assert await here.says("worker", "NodeJoined") == ("True", "Joined")

    run(main())


def test_a_running_node_can_be_made_to_suffer() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.running("worker")
            kubectl = here.kubectl()
            await here.order(SIMULATED_MACHINES, "worker", faults=[{"stage": "Run", "mode": "KubeletDead"}])
            await here.wait(100)
            assert (await kubectl.ready("worker"))[0] == "Unknown"
            await here.order(SIMULATED_MACHINES, "worker", faults=None)
            await here.wait(30)
            assert (await kubectl.ready("worker"))[0] == "True"

    run(main())


def test_a_node_that_somebody_deletes_does_not_come_back_by_itself() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.running("worker")
            kubectl = here.kubectl()
            await kubectl.delete("/api/v1/nodes/worker")
            await here.wait(1500)
            assert not await kubectl.exists("/api/v1/nodes/worker")

    run(main())
