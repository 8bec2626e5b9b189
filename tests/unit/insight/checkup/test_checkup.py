"""The examination of a cluster as a whole."""

from __future__ import annotations

from typing import Any, NoReturn

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.cli.in_process import InProcessTransport
from nagaya.insight.checkup.checkup import Scope, Ways, examine
from nagaya.insight.checkup.finding import Finding, Standing
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from support.prepared import start_prepared
from support.virtual_run import run, virtual_world
from unit.insight.scene import reference


async def _examined(**plane: Any) -> list[Finding]:
    """What is found of a Cluster with a hosted control plane, which no controller looks after."""

    def nobody(_: Connection) -> NoReturn:
        raise AssertionError("who sleeps is not asked")

    world = virtual_world()
    server = await start_prepared(world)
    client = Client(InProcessTransport(server), world=world)
    metadata = {"name": "shop", "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": "shop"}}
    named = reference("HostedControlPlane", "shop", HOSTED_CONTROL_PLANES.group)
    try:
        await client.create(CLUSTERS, {"metadata": metadata, "spec": {"controlPlaneRef": named}})
        spec = {"version": "v1.36.3", **plane}
        await client.create(HOSTED_CONTROL_PLANES, {"metadata": metadata, "spec": spec})
        found = await examine(client, "here", world, Scope("default", "shop"), Ways(tenants=nobody))
        return [each for each in found if each.subject == "Cluster default/shop"]
    finally:
        await client.close()
        await server.stop()


def test_a_tenant_that_sleeps_as_declared_is_no_problem_and_is_not_asked() -> None:
    first, *rest = run(_examined(replicas=0))
    assert (first.check, first.standing) == ("available", Standing.OK)
    assert first.evidence.startswith("It sleeps, as declared: spec.replicas of HostedControlPlane shop is 0")
    assert {each.standing for each in rest} <= {Standing.OK, Standing.UNCHECKED}
    assert "API" not in {each.check for each in rest}


def test_one_that_is_to_run_is_asked_for() -> None:
    assert "API" in {each.check for each in run(_examined())}
