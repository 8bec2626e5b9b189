"""The whole controller against a server in memory, on virtual time."""

from __future__ import annotations

import asyncio
import base64

import pytest

from nagaya.api.cluster.cluster import CLUSTERS, FINALIZER
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.core.cluster.controller import DETAILS_WAIT
from nagaya.kube.controller import SETTLE
from nagaya.kube.patches import Merge
from nagaya.kube.recorder import EVENTS
from nagaya.pki.kubeconfig import BearerToken, build, to_yaml
from support.builders import CLUSTER, CONTROL_PLANE
from support.harbour import (
    DEPLOYMENT,
    KEY,
    NAMESPACE,
    SECRETS,
    TENANT,
    grow,
    harbour,
    initialize,
    owned,
    provision,
)
from support.seen_cluster import BOTH, ENDPOINT, INFRASTRUCTURE
from support.virtual_run import run

pytestmark = pytest.mark.slow


def test_a_cluster_comes_up_with_few_writes_and_no_conflict() -> None:
    async def main() -> None:
        async with harbour() as here:
            await grow(here)
            found = await here.cluster()
            assert found.metadata.finalizers == (FINALIZER,)
            assert found.spec.control_plane_endpoint.valid
            assert found.status.phase == "Provisioned"
            assert found.status.observed_generation == found.metadata.generation
            assert found.status.control_plane.desired_replicas == 1
            assert found.status.initialization.control_plane_initialized
            for kind in (INFRASTRUCTURE, CONTROL_PLANE):
                provider = await here.user.get(kind, NAMESPACE, CLUSTER)
                assert provider.metadata.labels == {"cluster.x-k8s.io/cluster-name": CLUSTER}
                assert [each.uid for each in provider.metadata.owner_references] == [found.metadata.uid]
            transport = here.process.transport
            assert transport.writes == [
                "PATCH clusters/harbour",  # the finalizer
                "PATCH clusters/harbour/status",
                "PATCH boatclusters/harbour",
                "PATCH clusters/harbour/status",
                "PATCH boatcontrolplanes/harbour",
                "PATCH clusters/harbour/status",
                "PATCH clusters/harbour",  # the endpoint
                "PATCH clusters/harbour/status",
                "PATCH clusters/harbour/status",
            ]
            assert set(transport.answers) == {200}

    run(main())


def test_what_is_all_there_at_once_needs_one_status_only() -> None:
    async def main() -> None:
        async with harbour() as here:
            await here.make(INFRASTRUCTURE, spec={"controlPlaneEndpoint": ENDPOINT})
            await here.make(CONTROL_PLANE)
            await provision(here)
            await initialize(here)
            await here.make(CLUSTERS, spec=BOTH)
            assert here.process.transport.writes == [
                "PATCH clusters/harbour",
                "PATCH boatclusters/harbour",
                "PATCH boatcontrolplanes/harbour",
                "PATCH clusters/harbour",
                "PATCH clusters/harbour/status",
            ]
            assert (await here.cluster()).status.observed_generation == 2

    run(main())


def test_a_quiet_cluster_is_not_written_to() -> None:
    async def main() -> None:
        async with harbour() as here:
            await grow(here)
            await asyncio.sleep(5)
            before = await here.writes()
            await asyncio.sleep(1200)
            assert await here.writes() == before
            await here.restart()
            await asyncio.sleep(1200)
            assert await here.writes() == 0

    run(main())


def test_the_deletion_takes_its_steps_in_order_and_says_what_it_waits_for() -> None:
    async def main() -> None:
        async with harbour() as here:
            await grow(here)
            deployment = {**DEPLOYMENT, "metadata": {**DEPLOYMENT["metadata"], **owned(await here.cluster())}}
            await here.make(MACHINE_DEPLOYMENTS, "workers", **deployment)
            await here.delete(CLUSTERS)
            assert await here.told("Deleting") == ("True", "WaitingForWorkersDeletion", "* MachineDeployments: workers")
            assert (await here.user.get(MACHINE_DEPLOYMENTS, NAMESPACE, "workers")).metadata.deleting
            assert not (await here.user.get(CONTROL_PLANE, NAMESPACE, CLUSTER)).metadata.deleting
            await here.change(MACHINE_DEPLOYMENTS, "workers", metadata={"finalizers": None})
            assert (await here.told("Deleting"))[1:] == (
                "WaitingForControlPlaneDeletion",
                "Waiting for BoatControlPlane to be deleted",
            )
            assert not (await here.user.get(INFRASTRUCTURE, NAMESPACE, CLUSTER)).metadata.deleting
            await here.change(CONTROL_PLANE, metadata={"finalizers": None})
            assert (await here.told("Deleting"))[1] == "WaitingForInfrastructureDeletion"
            assert (await here.told("ControlPlaneAvailable"))[2] == "BoatControlPlane has been deleted"
            await here.change(INFRASTRUCTURE, metadata={"finalizers": None})
            assert not await here.exists(CLUSTERS)
            assert set(here.process.transport.answers) == {200}
            await asyncio.sleep(1)
            events = (await here.user.list(EVENTS, NAMESPACE)).items
            told = [each.at("reason") for each in events if each.at("regarding", "kind") == "Cluster"]
            assert sorted(told) == sorted(
                ["Provisioning", "InfrastructureReady", "Provisioned", "ControlPlaneInitialized", "Deleting", "Deleted"]
            )

    run(main())


def test_a_tenant_is_called_again_as_soon_as_its_control_plane_answers() -> None:
    async def main() -> None:
        async with harbour() as here:
            here.tenant.down = True
            config = to_yaml(build(TENANT, None, BearerToken("t")))
            label = {"labels": {"cluster.x-k8s.io/cluster-name": CLUSTER}}
            value = base64.b64encode(config).decode()
            await here.make(SECRETS, f"{CLUSTER}-kubeconfig", metadata=label, data={"value": value})
            await here.make(CLUSTERS, spec=BOTH)
            await here.make(INFRASTRUCTURE)
            await here.make(CONTROL_PLANE)
            await provision(here)
            await asyncio.sleep(65)
            assert here.process.remotes.probe(KEY).failures > 1
            here.tenant.down = False
            await initialize(here)
            await asyncio.sleep(0.1)
            await here.settled()
            assert (await here.told("RemoteConnectionProbe"))[0] == "True"
            assert (await here.told("Available"))[0] == "True"

    run(main())


def test_a_paused_cluster_is_left_alone_and_goes_on_afterwards() -> None:
    async def main() -> None:
        async with harbour() as here:
            await here.make(CLUSTERS, spec={**BOTH, "paused": True})
            await here.make(INFRASTRUCTURE)
            await here.make(CONTROL_PLANE)
            await provision(here)
            assert await here.told("Paused") == ("True", "Paused", "Cluster spec.paused is set to true")
            assert here.process.transport.writes == ["PATCH clusters/harbour", "PATCH clusters/harbour/status"]
            await here.change(CLUSTERS, spec={"paused": None})
            found = await here.cluster()
            assert found.status.phase == "Provisioned"
            assert await here.told("Paused") == ("False", "NotPaused", "")
            before = found.status
            await here.change(CLUSTERS, metadata={"annotations": {"cluster.x-k8s.io/paused": ""}})
            assert await here.told("Paused") == ("True", "Paused", "Cluster has the cluster.x-k8s.io/paused annotation")
            after = (await here.cluster()).status
            assert (after.phase, after.initialization, len(after.conditions)) == (
                before.phase,
                before.initialization,
                len(before.conditions),
            )
            await here.delete(CLUSTERS)
            assert await here.exists(INFRASTRUCTURE)

    run(main())


def test_numbers_that_change_often_are_told_once_a_second_and_news_at_once() -> None:
    async def main() -> None:
        async with harbour() as here:
            await grow(here)
            await here.make(MACHINE_DEPLOYMENTS, "workers", **DEPLOYMENT)
            await asyncio.sleep(2 * DETAILS_WAIT)
            before = await here.writes()
            for number in range(1, 10):
                status = {"replicas": number, "phase": "ScalingUp"}
                await here.user.patch(
                    MACHINE_DEPLOYMENTS, NAMESPACE, "workers", Merge({"status": status}), subresource="status"
                )
                await asyncio.sleep(DETAILS_WAIT / 5)
            await asyncio.sleep(2 * DETAILS_WAIT)
            assert await here.writes() - before <= 3
            assert (await here.cluster()).status.workers.replicas == 9
            before = await here.writes()
            available = {"type": "Available", "status": "True", "reason": "Available", "message": ""}
            available["lastTransitionTime"] = "2026-11-01T12:00:00Z"
            await here.change(MACHINE_DEPLOYMENTS, "workers", status={"replicas": 10})
            status = {"conditions": [available]}
            await here.user.patch(
                MACHINE_DEPLOYMENTS, NAMESPACE, "workers", Merge({"status": status}), subresource="status"
            )
            await asyncio.sleep(2 * SETTLE)
            assert (await here.told("WorkersAvailable"))[0] == "True"

    run(main())
