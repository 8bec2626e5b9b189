"""From a pool to a control plane that can be reached: the user names the pool, and the machines hold the address."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import yaml

from nagaya.bootstrap.kubeadm_config.controller import controller
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.kube.cache.cache import Cache
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.http import HttpTransport
from nagaya.kube.manager import Manager
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from support.certificates import QuickKeys
from support.proxmox_plane import NAMESPACE, ProxmoxPlane, connection, credentials, make_cluster, play

POOL = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "vips"}
MANIFEST = "/etc/kubernetes/manifests/kube-vip.yaml"


@asynccontextmanager
async def bootstrap(plane: ProxmoxPlane) -> AsyncIterator[None]:
    """The bootstrap provider at work beside the infrastructure's controllers, as another process would be."""
    cache = Cache(plane.client, plane.world)
    manager = Manager(plane.client, plane.world, cache=cache)
    remotes = Remotes(lambda tenant: HttpTransport(tenant, world=plane.world), plane.world)
    recorder = Recorder(plane.client, plane.world)
    rt = Runtime(plane.client, cache, ContractKinds(cache), remotes, recorder, plane.world)
    manager.add(controller(rt, SecretReader(rt.client, rt.cache), QuickKeys()))
    await manager.start()
    try:
        yield
    finally:
        await manager.stop()
        await remotes.close()


async def make_first_machine(plane: ProxmoxPlane, version: str = "v1.36.3") -> None:
    """A Machine of the control plane with its KubeadmConfig, as a control plane provider makes them."""
    labels = {"cluster.x-k8s.io/cluster-name": "shop", "cluster.x-k8s.io/control-plane": ""}
    metadata = {"name": "first", "namespace": NAMESPACE, "labels": labels}
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "first"}
    host = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "ProxmoxMachine", "name": "first"}
    spec = {
        "clusterName": "shop",
        "version": version,
        "bootstrap": {"configRef": config},
        "infrastructureRef": host,
    }
    await plane.create({"kind": "Machine", "metadata": metadata, "spec": spec})
    machine = await plane.get("Machine", "first")
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "first", "uid": machine.metadata.uid}
    owners = [{**owner, "controller": True}]
    await plane.create({"kind": "KubeadmConfig", "metadata": {**metadata, "ownerReferences": owners}})


def test_capmox_304_412_the_user_names_a_pool_and_the_machines_hold_its_address() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        async with bootstrap(plane):
            await plane.create(credentials(plane), connection(insecure=True))
            vips = {"addresses": ["10.0.0.7"], "prefix": 24, "gateway": "10.0.0.1"}
            pool = {"kind": "InClusterIPPool", "metadata": {"name": "vips", "namespace": NAMESPACE}, "spec": vips}
            await plane.create(pool)
            await make_cluster(plane, controlPlaneEndpoint=None, controlPlaneEndpointPoolRef=POOL)
            await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
            await provisioned(plane)
            await make_first_machine(plane)
            await plane.told("KubeadmConfig", "first", "DataSecretAvailable", "Available")
            pod = yaml.safe_load((await written(plane, "first"))[MANIFEST])
            environment = pod["spec"]["containers"][0]["env"]
            assert {"name": "address", "value": "10.0.0.7"} in environment
            assert {"name": "port", "value": "6443"} in environment

    play(scenario)


def test_capmox_389_the_first_machine_can_hold_the_address_while_kubeadm_is_at_work() -> None:
    """There the address was lost in the middle of `kubeadm init`, and the machine waited for it for ever."""

    async def scenario(plane: ProxmoxPlane) -> None:
        async with bootstrap(plane):
            await plane.create(credentials(plane), connection(insecure=True))
            await make_cluster(plane, controlPlaneVirtualIP={"provider": "kube-vip"})
            await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
            await provisioned(plane)
            await make_first_machine(plane, "v1.30.8")
            await plane.told("KubeadmConfig", "first", "DataSecretAvailable", "Available")
            pod = yaml.safe_load((await written(plane, "first"))[MANIFEST])
            assert {"name": "address", "value": "10.0.0.5"} in pod["spec"]["containers"][0]["env"]
            paths = [each["hostPath"]["path"] for each in pod["spec"]["volumes"] if "hostPath" in each]
            assert any(each.endswith("/super-admin.conf") for each in paths), "admin.conf is of no use until the end"
            told = await plane.get("ProxmoxCluster", "shop")
            assert (told.spec.control_plane_endpoint.host, told.spec.control_plane_endpoint.port) == ("10.0.0.5", 6443)

    play(scenario)


async def provisioned(plane: ProxmoxPlane) -> None:
    """What the core does: it takes over the endpoint, and says that the infrastructure is there."""
    endpoint = (await plane.get("ProxmoxCluster", "shop")).spec.control_plane_endpoint
    wish = {"controlPlaneEndpoint": {"host": endpoint.host, "port": endpoint.port}}
    await plane.merge("Cluster", "shop", {"spec": wish})
    status = {"status": {"initialization": {"infrastructureProvisioned": True}}}
    await plane.merge("Cluster", "shop", status, subresource="status")


async def written(plane: ProxmoxPlane, name: str) -> dict[str, str]:
    """The files that a machine's boot data write, as far as they are text."""
    secret: Any = await plane.get("Secret", name)
    document = yaml.safe_load(base64.b64decode(secret.raw["data"]["value"]))
    return {each["path"]: each["content"] for each in document["write_files"]}
