"""Hosted control planes as pods of a real management cluster: objects, addresses, the order of an upgrade, the end.

There are no nodes: what the deployment controller and kubelets would say is said by the test. The controllers have the
rights that `nagaya manifests` gives them, and no others.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.manifests.rights import cluster_rules
from nagaya.cli.plane import Plane, install
from nagaya.clusters.certificates.key_maker import KeyMaker
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.controlplane.hosted.archive.found import RAW_PLANES, maybe
from nagaya.controlplane.hosted.data_store.etcd_access import keys_of
from nagaya.controlplane.hosted.data_store.managed_etcd import ManagedEtcd
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store_controller.controller import controller as data_stores
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.kubernetes import kinds
from nagaya.controlplane.hosted.pods.controller import controller as control_planes
from nagaya.controlplane.hosted.pods.settings import PodSettings
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection, Impersonation
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.http import HttpTransport
from nagaya.kube.patches import Apply, Merge
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import Transport
from nagaya.world import World
from support.etcd_data_store import clear, make_data_store, started_etcd
from support.management import Management, eventually, told
from support.ports import free_ports
from support.real import RealControlPlane, installed_binaries
from support.real_processes import Processes

WORLD = World()
NODES = Kind("", "v1", "Node", "nodes", Untyped, namespaced=False)
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
API = "kube-apiserver"
CONTROLLERS = "kube-controllers"
PARTS = ("core", "controlplane-hosted")
ACCOUNT = "nagaya-as-pods"
RBAC = "rbac.authorization.k8s.io"
ROLES = Kind(RBAC, "v1", "ClusterRole", "clusterroles", Untyped, namespaced=False)
BINDINGS = Kind(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", Untyped, namespaced=False)


@pytest.fixture(scope="module")
def etcd() -> Iterator[ManagedEtcd]:
    processes = Processes("nagaya-pods-")
    yield started_etcd(processes)
    processes.close()


def at(server: str) -> Callable[[Connection], Transport]:
    """A way to all tenants: where one is that tests have started, or nobody listens."""
    return lambda tenant: HttpTransport(replace(tenant, server=server), world=WORLD)


@asynccontextmanager
async def running(
    control_plane: RealControlPlane,
    namespace: str,
    folder: Path,
    connect: Callable[[Connection], Transport] = at("https://127.0.0.1:9"),  # noqa: B008 - a function, made once
) -> AsyncIterator[Plane]:
    """Nagaya's controllers in Kubernetes mode, one life of them. `connect` is how they find the APIs of tenants: nobody
    listens at addresses of a cluster without nodes, and tests stay on this machine."""
    connection = replace(kubeconfig.load(control_plane.kubeconfig), impersonation=Impersonation(ACCOUNT))
    plane = Plane(
        HttpTransport(connection, world=WORLD),
        WORLD,
        connect,
        parts=("core",),
        namespaces=(namespace,),
    )
    cache, stores = plane.manager.cache, Stores()
    rt = Runtime(plane.client, cache, ContractKinds(cache), plane.remotes, plane.recorder, WORLD)
    settings = PodSettings()
    plane.manager.add(data_stores(rt, Host(HostSettings(folder), WORLD), stores))
    plane.manager.add(control_planes(rt, stores, SecretReader(plane.client, cache), KeyMaker(), settings))
    await plane.start()
    try:
        yield plane
    finally:
        await plane.stop()


@pytest.fixture
async def management(real_control_plane: RealControlPlane, etcd: ManagedEtcd) -> AsyncIterator[Management]:
    connection = kubeconfig.load(real_control_plane.kubeconfig)
    client = Client(HttpTransport(connection, world=WORLD), world=WORLD)
    await install(client, [*PARTS])
    await client.patch(ROLES, "", ACCOUNT, Apply({"rules": cluster_rules(PARTS)}, "test"))
    binding = {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": ACCOUNT},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": ACCOUNT}],
    }
    await client.patch(BINDINGS, "", ACCOUNT, Apply(binding, "test"))
    namespace = (await client.create(NAMESPACES, {"metadata": {"generateName": "pods-"}})).metadata.name
    await make_data_store(client, namespace, namespace, etcd)
    try:
        yield Management(client, namespace, etcd)
    finally:
        await clear(client, namespace)
        await client.close()


@pytest.fixture
async def controllers(
    management: Management, real_control_plane: RealControlPlane, tmp_path: Path
) -> AsyncIterator[Plane]:
    async with running(real_control_plane, management.namespace, tmp_path) as plane:
        yield plane


# ---------------------------------------------------------------------------------------------------------------- tests


@pytest.mark.long("starts a real API server and brings a control plane up on it")
async def test_a_control_plane_becomes_objects_and_then_nothing_is_written_any_more(
    management: Management, controllers: Plane
) -> None:
    await management.make("one", deployment={"service": {"type": "ClusterIP"}})
    await management.play_kubelets("one", API)
    await management.play_kubelets("one", CONTROLLERS)
    plane = await management.said("one", "ComponentsReady", "True")
    assert told(plane, "Available").startswith("True")
    await management.said("one", "TenantConfigured", "cannot be reached")
    await controllers.manager.idle()
    objects = await management.objects("one")
    address = objects["Service/one-kube-apiserver"].at("spec", "clusterIP")

    assert sorted(objects) == [
        "ConfigMap/one-kube-apiserver-config",
        "Deployment/one-kube-apiserver",
        "Deployment/one-kube-controllers",
        "NetworkPolicy/one-kube-apiserver",
        "NetworkPolicy/one-kube-controllers",
        "PodDisruptionBudget/one-kube-apiserver",
        "PodDisruptionBudget/one-kube-controllers",
        "Secret/one-data-store",
        "Secret/one-kube-apiserver",
        "Secret/one-kube-controller-manager",
        "Secret/one-kube-scheduler",
        "Service/one-kube-apiserver",
        "ServiceAccount/one-control-plane",
    ]
    assert (plane.spec.control_plane_endpoint.host, plane.spec.control_plane_endpoint.port) == (address, 6443)
    assert plane.status.initialization.control_plane_initialized
    assert [(each.name, each.state, each.version) for each in plane.status.components] == [
        ("kube-apiserver", "Running", "v1.36.3"),
        ("kube-controller-manager", "Running", "v1.36.3"),
        ("kube-scheduler", "Running", "v1.36.3"),
    ]
    assert "DataStoreReady" in told(plane, "DataStoreReady")
    assert told(plane, "RollingOut").startswith("False")
    assert plane.status.selector == ("app.kubernetes.io/name=kube-apiserver,hosted.nagaya.dev/control-plane=one")
    assert {each.name for each in plane.status.certificates} >= {"ca", "apiserver", "controller-manager"}
    arguments = objects["Deployment/one-kube-apiserver"].at("spec", "template", "spec", "containers")[0]["args"]
    assert f"--advertise-address={address}" in arguments
    assert f"--etcd-prefix=/{plane.metadata.uid}" in arguments
    mounted = objects["Secret/one-kube-apiserver"].at("data")
    assert "ca.key" not in mounted
    assert {"apiserver.crt", "datastore-client.key", "sa.key"} <= mounted.keys()
    policy = objects["NetworkPolicy/one-kube-apiserver"]
    assert policy.at("spec", "egress")[0]["to"][0]["ipBlock"]["except"] == ["10.0.0.1/32"]
    secret = await management.client.get(kinds.SECRETS, management.namespace, "one-kubeconfig")
    assert secret.metadata.owner_references[0].name == "one"

    # Something happens that asks for a look, and nothing comes of it.
    patch = Merge({"metadata": {"annotations": {"look": "here"}}})
    await management.client.patch(RAW_PLANES, management.namespace, "one", patch)
    await controllers.manager.idle()
    later = await management.objects("one")
    versions = {name: each.metadata.resource_version for name, each in objects.items()}
    assert {name: each.metadata.resource_version for name, each in later.items()} == versions
    quiet = await management.plane("one")
    await asyncio.sleep(0.2)  # shows that nothing is written
    assert (await management.plane("one")).metadata.resource_version == quiet.metadata.resource_version


@pytest.mark.usefixtures("controllers")
async def test_what_somebody_changes_is_put_right_and_what_is_no_longer_wanted_goes(management: Management) -> None:
    await management.make("two", deployment={"service": {"type": "ClusterIP"}, "nodeSelector": {"a": "b"}})
    await management.play_kubelets("two", API)
    await management.play_kubelets("two", CONTROLLERS)
    await management.said("two", "Available", "True")
    where = (management.namespace, "two-kube-apiserver")
    await management.client.patch(kinds.DEPLOYMENTS, *where, Merge({"spec": {"replicas": 7}}))
    await management.client.patch(kinds.SERVICES, *where, Merge({"spec": {"selector": {"mine": "now"}}}))
    await management.client.delete(kinds.NETWORK_POLICIES, *where)

    async def healed() -> bool:
        found = await management.objects("two")
        return (
            found["Deployment/two-kube-apiserver"].at("spec", "replicas") == 2
            and "hosted.nagaya.dev/control-plane" in found["Service/two-kube-apiserver"].at("spec", "selector")
            and "NetworkPolicy/two-kube-apiserver" in found
        )

    async def node_selector() -> Any:
        return (await management.deployment("two", API)).at("spec", "template", "spec", "nodeSelector")

    async def without_selector() -> bool:
        return await node_selector() is None

    await eventually(healed)
    assert await node_selector() == {"a": "b"}
    patch = Merge({"spec": {"deployment": {"nodeSelector": None}}})
    await management.client.patch(RAW_PLANES, management.namespace, "two", patch)
    await eventually(without_selector)


@pytest.fixture
async def tenant() -> AsyncIterator[ApiServer]:
    """The API of a tenant, which answers whoever asks."""
    server = await ApiServer.start(Config(), WORLD)
    yield server
    await server.stop()


@pytest.mark.usefixtures("controllers")
async def test_a_minor_version_waits_until_the_tenant_can_be_asked_for_its_nodes(management: Management) -> None:
    await management.make("away", deployment={"service": {"type": "ClusterIP"}})
    await management.play_kubelets("away", API)
    await management.play_kubelets("away", CONTROLLERS)
    await management.said("away", "Available", "True")
    patch = Merge({"spec": {"version": "v1.37.1"}})
    await management.client.patch(RAW_PLANES, management.namespace, "away", patch)
    await management.said("away", "UpgradePossible", "False ControlPlaneNotHealthy")
    patch = Merge({"spec": {"version": "v1.36.4"}})
    await management.client.patch(RAW_PLANES, management.namespace, "away", patch)
    await management.has_version("away", API, "v1.36.4")


@pytest.mark.long("plays an upgrade on a real API server")
async def test_api_servers_are_upgraded_first_and_controllers_follow_the_last_of_them(
    management: Management, real_control_plane: RealControlPlane, tenant: ApiServer, tmp_path: Path
) -> None:
    async with running(real_control_plane, management.namespace, tmp_path, lambda _: InProcessTransport(tenant)):
        await upgraded(management, tenant)


async def upgraded(management: Management, tenant: ApiServer) -> None:
    """A control plane with a Node that is too old at first."""
    await management.make("up", deployment={"service": {"type": "ClusterIP"}})
    await management.play_kubelets("up", API)
    await management.play_kubelets("up", CONTROLLERS)
    await management.said("up", "Available", "True")
    nodes = Client(InProcessTransport(tenant), world=WORLD)
    old = {"nodeInfo": {"kubeletVersion": "v1.33.2"}}
    await nodes.create(NODES, {"metadata": {"name": "ancient"}})
    await nodes.patch(NODES, "", "ancient", Merge({"status": old}), subresource="status")
    patch = Merge({"spec": {"version": "v1.37.1"}})
    await management.client.patch(RAW_PLANES, management.namespace, "up", patch)
    await management.said("up", "UpgradePossible", "ancient (v1.33.2)")
    assert await management.version("up", API) == "v1.36.3"
    await nodes.delete(NODES, "", "ancient")
    await management.has_version("up", API, "v1.37.1")
    await management.said("up", "RollingOut", "True")
    await management.play_kubelets("up", API, updated=1)
    plane = await management.said("up", "RollingOut", "1 of 2 have")
    assert await management.version("up", CONTROLLERS) == "v1.36.3"
    assert [(each.version, each.replicas) for each in plane.status.versions] == [("v1.36.3", 1), ("v1.37.1", 1)]
    assert plane.status.version == "v1.36.3"
    assert plane.status.up_to_date_replicas == 1

    await management.play_kubelets("up", API)
    await management.has_version("up", CONTROLLERS, "v1.37.1")
    await management.play_kubelets("up", CONTROLLERS)
    plane = await management.said("up", "RollingOut", "False")
    assert [each.version for each in plane.status.versions] == ["v1.37.1"]
    assert plane.status.version == "v1.37.1"
    [upgrade] = [each for each in plane.status.timeline if each.phase == "Upgrade"]
    assert upgrade.ended is not None

    skipping = Merge({"spec": {"version": "v1.35.0"}})
    await management.client.patch(RAW_PLANES, management.namespace, "up", skipping)
    await management.said("up", "UpgradePossible", "False VersionNotSupported")
    assert await management.version("up", API) == "v1.37.1"


@pytest.mark.usefixtures("controllers")
async def test_the_address_comes_from_the_load_balancer_also_if_it_is_a_name(management: Management) -> None:
    await management.make("lb")
    await management.said("lb", "EndpointReady", "False WaitingForLoadBalancer")
    assert await maybe(management.client, kinds.DEPLOYMENTS, management.namespace, "lb-kube-apiserver") is None
    ingress = {"status": {"loadBalancer": {"ingress": [{"hostname": "lb-1.example.com"}]}}}
    where = (management.namespace, "lb-kube-apiserver")
    await management.client.patch(kinds.SERVICES, *where, Merge(ingress), subresource="status")
    await management.play_kubelets("lb", API)
    plane = await management.said("lb", "Available", "True")
    assert str(plane.spec.control_plane_endpoint) == "lb-1.example.com:6443"
    objects = await management.objects("lb")
    inside = objects["Service/lb-kube-apiserver"].at("spec", "clusterIP")
    arguments = objects["Deployment/lb-kube-apiserver"].at("spec", "template", "spec", "containers")[0]["args"]
    assert f"--advertise-address={inside}" in arguments


@pytest.mark.usefixtures("controllers")
async def test_a_node_port_is_what_api_servers_listen_at(management: Management) -> None:
    await management.make("np", deployment={"service": {"type": "NodePort"}})
    await management.said("np", "EndpointReady", "False AddressMissing")
    patch = Merge({"spec": {"network": {"address": "192.0.2.50"}}})
    await management.client.patch(RAW_PLANES, management.namespace, "np", patch)
    await management.play_kubelets("np", API)
    plane = await management.said("np", "Available", "True")
    objects = await management.objects("np")
    [port] = objects["Service/np-kube-apiserver"].at("spec", "ports")
    assert str(plane.spec.control_plane_endpoint) == f"192.0.2.50:{port['nodePort']}"
    assert port["port"] == port["nodePort"]
    arguments = objects["Deployment/np-kube-apiserver"].at("spec", "template", "spec", "containers")[0]["args"]
    assert f"--secure-port={port['nodePort']}" in arguments
    assert "--advertise-address=192.0.2.50" in arguments
    data = objects["Secret/np-kube-scheduler"].at("data", "scheduler.conf")
    config = yaml.safe_load(base64.b64decode(data))
    expected = f"https://np-kube-apiserver.{management.namespace}.svc:{port['nodePort']}"
    assert config["clusters"][0]["cluster"]["server"] == expected


@pytest.mark.usefixtures("controllers")
async def test_objects_of_others_are_never_touched(management: Management) -> None:
    spec = {"ports": [{"port": 80}], "selector": {"app": "mine"}}
    metadata = {"name": "theirs-kube-apiserver", "namespace": management.namespace}
    made = await management.client.create(kinds.SERVICES, {"metadata": metadata, "spec": spec})
    await management.make("theirs", deployment={"service": {"type": "ClusterIP"}})
    await management.said("theirs", "EndpointReady", "theirs-kube-apiserver exists already and is nobody's")
    present = await management.client.get(kinds.SERVICES, management.namespace, made.metadata.name)
    assert present.metadata.resource_version == made.metadata.resource_version
    await management.client.delete(kinds.SERVICES, management.namespace, made.metadata.name)
    await management.play_kubelets("theirs", API)
    await management.said("theirs", "Available", "True")


@pytest.mark.usefixtures("controllers")
async def test_the_end_removes_pods_then_data_then_everything(management: Management) -> None:
    await management.make("gone", deployment={"service": {"type": "ClusterIP"}})
    await management.play_kubelets("gone", API)
    plane = await management.said("gone", "Available", "True")
    tenant, driver = Tenant(plane.metadata.uid), management.etcd.driver()
    async with driver.connected() as client:
        await client.kv.put(keys_of(tenant) + b"pods/x", b"y")
    assert (await driver.usage(tenant)).keys == 1
    hold = Merge({"metadata": {"finalizers": ["example.com/slow"]}})
    where = (management.namespace, "gone-kube-apiserver")
    await management.client.patch(kinds.DEPLOYMENTS, *where, hold)
    await management.client.delete(HOSTED_CONTROL_PLANES, management.namespace, "gone")
    await management.said("gone", "Deleting", "Waiting for the pods of Deployments gone-kube-apiserver")
    assert (await driver.usage(tenant)).keys == 1

    await management.client.patch(kinds.DEPLOYMENTS, *where, Merge({"metadata": {"finalizers": None}}))

    async def is_gone() -> bool:
        return await maybe(management.client, RAW_PLANES, management.namespace, "gone") is None

    async def all_gone() -> bool:
        return not await management.objects("gone")

    await eventually(is_gone, 60)
    assert (await driver.usage(tenant)).keys == 0
    await eventually(all_gone, 60)
    async with driver.connected() as client:
        assert tenant.user not in await client.auth.users()


async def test_another_life_of_the_controllers_finds_everything_done(
    management: Management, real_control_plane: RealControlPlane, tmp_path: Path
) -> None:
    async with running(real_control_plane, management.namespace, tmp_path) as controllers:
        await management.make("life", deployment={"service": {"type": "ClusterIP"}})
        await management.play_kubelets("life", API)
        await management.play_kubelets("life", CONTROLLERS)
        before = await management.said("life", "ComponentsReady", "True")
        await controllers.manager.idle()
    objects = await management.objects("life")
    async with running(real_control_plane, management.namespace, tmp_path) as controllers:
        patch = Merge({"metadata": {"annotations": {"look": "here"}}})
        await management.client.patch(RAW_PLANES, management.namespace, "life", patch)
        await controllers.manager.idle()
    later = await management.objects("life")
    versions = {name: each.metadata.resource_version for name, each in objects.items()}
    assert {name: each.metadata.resource_version for name, each in later.items()} == versions
    assert (await management.plane("life")).status.certificates == before.status.certificates


def as_process(pod: Mapping[str, Any], files: Mapping[str, Mapping[str, bytes]], folder: Path) -> list[str]:
    """The first container of a pod as a command of this machine: its volumes become folders, and it is reached from
    this machine only. `files` are those of each Secret and ConfigMap."""
    [container] = pod["containers"]
    places = {}
    for mount in container["volumeMounts"]:
        volume = next(each for each in pod["volumes"] if each["name"] == mount["name"])
        place = folder / mount["name"]
        place.mkdir()
        places[mount["mountPath"]] = str(place)
        if "secret" in volume:
            found = files[volume["secret"]["secretName"]]
            for item in volume["secret"]["items"]:
                (place / item["path"]).parent.mkdir(parents=True, exist_ok=True)
                (place / item["path"]).write_bytes(found[item["key"]])
        elif "configMap" in volume:
            for name, content in files[volume["configMap"]["name"]].items():
                (place / name).write_bytes(content)
    words = [*container["command"][1:], *container["args"]]
    for inside, outside in sorted(places.items(), key=lambda each: -len(each[0])):
        words = [word.replace(f"={inside}", f"={outside}") for word in words]
    return [word.replace("=0.0.0.0", "=127.0.0.1") for word in words]


@pytest.mark.long("starts a real API server")
async def test_what_pods_are_told_starts_a_real_api_server_which_is_then_set_up(
    management: Management, real_control_plane: RealControlPlane, tmp_path: Path
) -> None:
    [port] = free_ports(1)
    program = installed_binaries(("kube-apiserver",)).path("kube-apiserver")
    where = f"https://127.0.0.1:{port}"
    processes = Processes("nagaya-pod-")
    try:
        async with running(real_control_plane, management.namespace, tmp_path / "host", at(where)):
            await management.make("real", deployment={"service": {"type": "ClusterIP"}}, network={"port": port})
            pods = await eventually(lambda: maybe(management.client, kinds.DEPLOYMENTS, *of("real", API, management)))
            files: dict[str, dict[str, bytes]] = {}
            for name, each in (await management.objects("real")).items():
                if name.startswith("Secret/"):
                    files[each.metadata.name] = {key: base64.b64decode(text) for key, text in each.at("data").items()}
                elif name.startswith("ConfigMap/"):
                    files[each.metadata.name] = {key: text.encode() for key, text in each.at("data").items()}
            words = as_process(pods.at("spec", "template", "spec"), files, processes.folder)
            processes.start("kube-apiserver", [program, *words])
            await management.play_kubelets("real", API)
            await management.play_kubelets("real", CONTROLLERS)
            try:
                plane = await management.until(
                    "real", lambda each: told(each, "TenantConfigured").startswith("True"), 60
                )
            except TimeoutError:
                raise AssertionError(
                    told(await management.plane("real"), "TenantConfigured") + processes.tails()
                ) from None
            assert told(plane, "Available").startswith("True")
            usage = await management.etcd.driver().usage(Tenant(plane.metadata.uid))
            assert usage.keys > 50
    finally:
        processes.close()


def of(name: str, part: str, management: Management) -> tuple[str, str]:
    return management.namespace, f"{name}-{part}"
