"""Stand-ins for what an example needs and the project's tests cannot have here: a hosted control plane that is a
simulated cluster, and what a topology's controller makes of a ClusterClass."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncIterator, Iterable
from typing import Any

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.clusters.certificates.kubeconfig import administrator_kubeconfig
from nagaya.kube.patches import Merge
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.settings import TenantSettings
from nagaya.simulators.tenant.tenant import Tenant
from support.lab import KINDS, SECRETS
from support.proxmox_examples import Desk

Manifest = dict[str, Any]
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
STAMPED = "stamped"


@contextlib.asynccontextmanager
async def hosted(here: Desk, cluster: str, endpoint: str) -> AsyncIterator[None]:
    """Play the provider of a HostedControlPlane: a simulated cluster is at an address, and its object says so."""
    town = here.town
    clock = town.world.clock
    host, _, port = endpoint.partition(":")
    authority = CertificateAuthority.create("kubernetes", clock)
    settings = TenantSettings(
        cluster, authority, host=host, port=int(port), listen=False, control_plane_endpoint=endpoint
    )  # fmt: skip
    tenant = await Tenant.start(settings, town.world)
    await tenant.prepare()
    town.clusters.add(endpoint, tenant)
    try:
        config = administrator_kubeconfig(
            cluster, Endpoint(host=host, port=int(port)), authority, keys.generate(), clock
        )
        pair = {"tls.crt": authority.certificate_pem.decode(), "tls.key": keys.to_pem(authority.key).decode()}
        await _secret(here, f"{cluster}-ca", cluster, pair)
        await _secret(here, f"{cluster}-kubeconfig", cluster, {"value": config.decode()})
        await _tell(here, cluster, Endpoint(host=host, port=int(port)), settings.version)
        yield
    finally:
        town.clusters.remove(endpoint)
        await tenant.stop()


async def _secret(here: Desk, name: str, cluster: str, data: dict[str, str]) -> None:
    labels = {CLUSTER_NAME: cluster}
    content = {
        "metadata": {"name": name, "namespace": here.town.namespace, "labels": labels},
        "type": "cluster.x-k8s.io/secret",
        "stringData": data,
    }
    await here.town.client.create(SECRETS, content)


async def _tell(here: Desk, name: str, endpoint: Endpoint, version: str) -> None:
    kind, client, namespace = KINDS["HostedControlPlane"], here.town.client, here.town.namespace
    address = {"host": endpoint.host, "port": endpoint.port}
    await client.patch(kind, namespace, name, Merge({"spec": {"controlPlaneEndpoint": address}}))
    found = await client.get(kind, namespace, name)
    now = here.town.world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    available = {"type": "Available", "status": "True", "reason": "Available", "lastTransitionTime": now, "message": ""}
    replicas = found.spec.replicas
    told: Manifest = {
        "initialization": {"controlPlaneInitialized": True},
        "conditions": [available],
        "version": version,
        "replicas": replicas,
        "readyReplicas": replicas,
        "availableReplicas": replicas,
        "upToDateReplicas": replicas,
    }
    await client.patch(kind, namespace, name, Merge({"status": told}), subresource="status")


def of_class(objects: Iterable[Manifest]) -> list[Manifest]:
    """The objects of a cluster of the class, as its topology says: the variables are put in where its patches do."""
    found = {(each["kind"], each["metadata"]["name"]): each for each in copy.deepcopy([*objects])}
    topology = next(each for (kind, _), each in found.items() if kind == "Cluster")["spec"]["topology"]
    variables = {each["name"]: each["value"] for each in topology["variables"]}
    infrastructure = found["ProxmoxClusterTemplate", "proxmox"]["spec"]["template"]["spec"]
    infrastructure["controlPlaneEndpoint"] = {"host": variables["endpoint"], "port": 6443}
    infrastructure["ipv4Config"]["addresses"] = variables["addresses"]
    plane = found["KubeadmControlPlaneTemplate", "proxmox"]["spec"]["template"]["spec"]
    group = "infrastructure.cluster.x-k8s.io"
    template = {"apiGroup": group, "kind": "ProxmoxMachineTemplate", "name": "proxmox-control-plane"}
    plane |= {
        "version": topology["version"],
        "replicas": topology["controlPlane"]["replicas"],
        "machineTemplate": {"spec": {"infrastructureRef": template}},
    }
    workers = found["ProxmoxMachineTemplate", "proxmox-worker"]
    workers["spec"]["template"]["spec"]["memoryMiB"] = variables["workerMemoryMiB"]
    (blue,) = topology["workers"]["machineDeployments"]
    labels = {CLUSTER_NAME: STAMPED, "cluster.x-k8s.io/deployment-name": STAMPED}
    machine = {
        "clusterName": STAMPED,
        "version": topology["version"],
        "bootstrap": {"configRef": _reference("bootstrap", "KubeadmConfigTemplate", "proxmox-worker")},
        "infrastructureRef": _reference("infrastructure", "ProxmoxMachineTemplate", STAMPED),
    }
    deployment = {
        "clusterName": STAMPED,
        "replicas": blue["replicas"],
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": machine},
    }
    cluster = {
        "controlPlaneRef": _reference("controlplane", "KubeadmControlPlane", STAMPED),
        "infrastructureRef": _reference("infrastructure", "ProxmoxCluster", STAMPED),
    }
    return [
        _object("cluster.x-k8s.io/v1beta2", "Cluster", cluster),
        _object(f"{group}/v1alpha2", "ProxmoxCluster", infrastructure),
        _object("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", plane),
        _object(f"{group}/v1alpha2", "ProxmoxMachineTemplate", workers["spec"]),
        _object("cluster.x-k8s.io/v1beta2", "MachineDeployment", deployment),
    ]


def _reference(group: str, kind: str, name: str) -> Manifest:
    return {"apiGroup": f"{group}.cluster.x-k8s.io", "kind": kind, "name": name}


def _object(version: str, kind: str, spec: Manifest) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": STAMPED, "namespace": "default"}, "spec": spec}
