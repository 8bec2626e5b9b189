"""Which changes make the controller look at a set again."""

from __future__ import annotations

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.kube.patches import Merge
from unit.core.machine_set.plane import (
    CONTROL_PLANES,
    DEFINITIONS,
    HOST_TEMPLATES,
    SHOP,
    Plane,
    condition,
    reference,
)

pytestmark = pytest.mark.slow


async def looks(plane: Plane) -> int:
    """How often a set was put in the queue so far."""
    await plane.idle()
    return plane.manager.controllers[0].queue.adds


async def test_only_what_a_set_depends_on_in_its_cluster_counts(plane: Plane) -> None:
    await plane.workers(0)
    before = await looks(plane)
    await plane.user.patch(CLUSTERS, "tenants", SHOP, Merge({"status": {"phase": "Pending"}}), subresource="status")
    await plane.user.patch(CONTROL_PLANES, "tenants", SHOP, Merge({"status": {"replicas": 3}}))
    assert await looks(plane) == before
    await plane.user.patch(CONTROL_PLANES, "tenants", SHOP, Merge({"status": {"version": "v1.36.4"}}))
    assert await looks(plane) == before + 1
    await plane.user.patch(CLUSTERS, "tenants", SHOP, Merge({"spec": {"paused": True}}))
    assert await looks(plane) > before + 1
    assert (await condition(plane, "Paused")).message == "Cluster spec.paused is set to true"


async def test_a_deployment_counts_when_its_limits_or_its_revision_change(plane: Plane) -> None:
    await plane.workers(0)
    await plane.change({"metadata": {"labels": {"cluster.x-k8s.io/deployment-name": "web"}}})
    spec = (await plane.user.get(CLUSTERS, "tenants", SHOP)).metadata.name
    content = {
        "metadata": {"name": "web", "namespace": "tenants"},
        "spec": {
            "clusterName": spec,
            "selector": {},
            "template": {
                "spec": {
                    "clusterName": SHOP,
                    "bootstrap": {"dataSecretName": "data"},
                    "infrastructureRef": reference(HOST_TEMPLATES, "small"),
                }
            },
        },
    }
    await plane.user.create(MACHINE_DEPLOYMENTS, content)
    before = await looks(plane)
    status = Merge({"status": {"replicas": 1}})
    await plane.user.patch(MACHINE_DEPLOYMENTS, "tenants", "web", status, subresource="status")
    assert await looks(plane) == before
    limit = Merge({"spec": {"remediation": {"maxInFlight": 1}}})
    await plane.user.patch(MACHINE_DEPLOYMENTS, "tenants", "web", limit)
    assert await looks(plane) == before + 1
    revision = Merge({"metadata": {"annotations": {"machinedeployment.clusters.x-k8s.io/revision": "2"}}})
    await plane.user.patch(MACHINE_DEPLOYMENTS, "tenants", "web", revision)
    assert await looks(plane) == before + 2


async def test_a_set_waits_for_a_provider_and_goes_on_when_it_is_installed(plane: Plane) -> None:
    name = f"{HOST_TEMPLATES.plural}.{HOST_TEMPLATES.group}"
    contract = "cluster.x-k8s.io/v1beta2"
    await plane.user.patch(DEFINITIONS, "", name, Merge({"metadata": {"labels": {contract: None}}}))
    await plane.workers(1)
    await plane.idle()
    told = await condition(plane, "ScalingUp")
    assert f"CustomResourceDefinition {name} does not say which contract it fulfils" in told.message
    await plane.user.patch(DEFINITIONS, "", name, Merge({"metadata": {"labels": {contract: "v1"}}}))
    await plane.idle()
    assert len(await plane.machines()) == 1
