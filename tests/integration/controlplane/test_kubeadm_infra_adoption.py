"""Cluster API's kcp_infra_adoption: hosts that have lost everything about them in the management API are taken over
again by a cluster that is declared anew, as they are; and then they can be rolled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from integration.controlplane.kubeadm_cluster import (
    BOOTSTRAP_API,
    CLUSTER_NAME,
    KubeadmCluster,
    control_planes,
    settled,
)
from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.client import Client
from nagaya.kube.patches import Merge
from support.lab import KINDS, SECRETS, Lab, Scenario, owner

pytestmark = pytest.mark.long("builds a control plane, forgets it, adopts it again and rolls it")

Play = Callable[[Scenario], None]
AUTHORITIES = ("ca", "etcd", "proxy", "sa")
FORGOTTEN = (
    "SimulatedMachineTemplate",
    "Cluster",
    "KubeadmControlPlane",
    "Machine",
    "KubeadmConfig",
    "SimulatedCluster",
    "SimulatedMachine",
    "Secret",
)
"""The kinds of what is lost of a cluster."""
KEPT = tuple(f"demo-{each}" for each in (*AUTHORITIES, "kubeconfig"))
"""The Secrets that are not."""

Lost = Mapping[str, Mapping[str, dict[str, Any]]]
"""By kinds and names."""


def test_orphaned_control_plane_machines_are_adopted_as_they_are_and_can_be_rolled(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        count = 1 if lab.real else 3
        cluster = KubeadmCluster("demo", lab.namespace, control_planes=count)
        await lab.create(*cluster.manifests())
        await settled(lab, "demo", count)
        await lab.merge("Cluster", "demo", {"spec": {"paused": True}})
        keys = await _authorities(lab)
        # A simulated machine is its object: it goes on for as long as nobody is there to see that the object is gone.
        await lab.stop()
        lab.client = Client(lab.transport(), world=lab.world, field_manager="test")
        lost = await _forget(lab)
        orphans = lost["Machine"]
        plane = cluster.control_plane()
        plane["metadata"]["annotations"] = {PAUSED: ""}
        await lab.create(cluster.cluster(), cluster.infrastructure(), cluster.template("control-plane"), plane)
        await _recreate(lab, cluster, lost)
        await lab.client.close()
        await lab.start()

        async def stand() -> bool:
            machines = await control_planes(lab)
            hosts = [await lab.get("SimulatedMachine", each.spec.infrastructure_ref.name) for each in machines]
            owned = all(
                owner(host, "Machine") == each.metadata.name for host, each in zip(hosts, machines, strict=True)
            )
            return owned and all(each.status.addresses for each in machines)

        await lab.until("the machines have their hosts", stand)
        assert not any(owner(each, "KubeadmControlPlane") for each in await control_planes(lab)), "it is paused"
        for name in lost["SimulatedMachine"]:
            await lab.annotate("SimulatedMachine", name, **{PAUSED: None})

        await lab.annotate("KubeadmControlPlane", "demo", **{PAUSED: None})
        adopted = await settled(lab, "demo", count)
        assert {each.metadata.name for each in adopted} == orphans.keys()
        assert all(owner(each, "KubeadmControlPlane") == "demo" for each in adopted)
        assert {each.spec.provider_id for each in adopted} == {each["spec"]["providerID"] for each in orphans.values()}
        assert await _authorities(lab) == keys
        await lab.available("demo")

        async def unchanged() -> bool:
            return {each.metadata.name for each in await control_planes(lab)} == orphans.keys()

        await lab.always(3 if lab.real else 60, unchanged)

        now = lab.world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        await lab.merge("KubeadmControlPlane", "demo", {"spec": {"rollout": {"after": now}}})

        async def rolled() -> bool:
            return orphans.keys().isdisjoint(each.metadata.name for each in await control_planes(lab))

        await lab.until("all machines are new ones", rolled, 300)
        await settled(lab, "demo", count)

    play(scenario)


async def _authorities(lab: Lab) -> dict[str, Any]:
    return {each: (await lab.client.get(SECRETS, lab.namespace, f"demo-{each}")).at("data") for each in AUTHORITIES}


async def _forget(lab: Lab) -> Lost:
    """Remove every object of the cluster, and with them all memory of its machines. Returns what there was."""
    client = lab.client
    lost = {kind: (await client.list(_kind(kind), lab.namespace)).items for kind in FORGOTTEN}
    freed = Merge({"metadata": {"finalizers": None, "ownerReferences": None}})
    for kind, objects in lost.items():
        for each in objects:
            await client.patch(_kind(kind), lab.namespace, each.metadata.name, freed)
    for kind, objects in lost.items():
        for each in objects:
            if each.metadata.name not in KEPT:
                await client.delete(_kind(kind), lab.namespace, each.metadata.name)
    return {kind: {each.metadata.name: each.raw for each in objects} for kind, objects in lost.items()}


async def _recreate(lab: Lab, cluster: KubeadmCluster, lost: Lost) -> None:
    """Tell the management API of machines that run: each with its host, a config, and the boot data that it is from."""
    metadata = {"namespace": lab.namespace, "labels": {CLUSTER_NAME: cluster.name, CONTROL_PLANE: ""}}
    settings = {**cluster.control_plane()["spec"]["kubeadmConfigSpec"], "joinConfiguration": {"controlPlane": {}}}
    for machine in lost["Machine"].values():
        spec = machine["spec"]
        bootstrap, secret = spec["bootstrap"], lost["Secret"][spec["bootstrap"]["dataSecretName"]]
        config = {"apiVersion": BOOTSTRAP_API, "kind": "KubeadmConfig", "spec": settings}
        host = lost["SimulatedMachine"][spec["infrastructureRef"]["name"]]
        await lab.client.create(SECRETS, _again(secret, metadata))
        await lab.create({**config, "metadata": {**metadata, "name": bootstrap["configRef"]["name"]}})
        # The host itself has lost nothing: it is up, and in its cluster. It is held still until it has its owner, since
        # what nobody owns counts as not made yet.
        await lab.create(_again(host, {**metadata, "annotations": {PAUSED: ""}}))
        up = Merge({"status": host["status"]})
        kind, own = _kind("SimulatedMachine"), host["metadata"]["name"]
        await lab.client.patch(kind, lab.namespace, own, up, subresource="status")
        await lab.create(_again(machine, metadata))


def _again(content: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What a user would write to have an object back."""
    kept = {name: value for name, value in content.items() if name != "status"}
    return {**kept, "metadata": {**metadata, "name": content["metadata"]["name"]}}


def _kind(name: str) -> Kind[Untyped]:
    if name == "Secret":
        return SECRETS
    typed = KINDS[name]
    return Kind(typed.group, typed.version, typed.kind, typed.plural, Untyped)
