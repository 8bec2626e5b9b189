"""The whole way as the product goes it: a Cluster with a hosted control plane gets a Machine, which becomes a node.

Nothing is simulated but the hardware. The bootstrap provider renders the data, a machine that is a namespace boots
exactly them with real `kubeadm join` and a real kubelet, the core finds the Node, a pod runs, and when the Machine is
deleted, the Node is drained, and nothing of either is left.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.apiserver.server import ApiServer, Config
from nagaya.binaries.installer import Binaries
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import Plane, install
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.kube.http import HttpTransport
from nagaya.kube.tenant_secrets import TENANT_SECRETS, VALUE
from nagaya.simulators.netns.host import NetnsHost
from nagaya.simulators.netns.image import image
from nagaya.world import World
from support.debian import machine_packages
from support.hosted_by_hand import PROGRAMS
from support.lab import KINDS, Lab, holds
from support.manifests.netns import OnNetns
from support.netns_leftovers import leftovers
from support.netns_provider import NETNS_CLUSTERS, NETNS_MACHINES, NetnsProvider
from support.real import installed_binaries
from support.tenant_kubectl import TenantKubectl

SENTENCE = "Here I am."
EXAMPLE = "localhost/nagaya/example:1"
SENTINEL = "/run/cluster-api/bootstrap-success.complete"
PATIENCE = 90.0
CLUSTER, MACHINE = "ship", "ship-1"
LOCAL_PORTS = range(15443, 16443)
"""Others than the usual ones, which tests in other processes may have."""
HOSTING_PARTS = ("core", "bootstrap-kubeadm", "controlplane-hosted")
TEST_KINDS = {each.kind: each for each in (NETNS_CLUSTERS, NETNS_MACHINES)}


@contextlib.asynccontextmanager
async def management(folder: Path, host: NetnsHost) -> AsyncIterator[Lab]:
    """Nagaya in one process, and a provider of machines beside it."""
    world = World()
    server = await ApiServer.start(Config(rules=ADMISSION), world)
    try:
        client = Client(InProcessTransport(server), world=world, field_manager="test")
        await install(client, PARTS)
        async with NetnsProvider(InProcessTransport(server), world, host):
            lab = Lab(lambda: InProcessTransport(server), world, "default", HOSTING_PARTS, real=True)
            lab.client = client
            lab.plane = Plane(
                InProcessTransport(server),
                world,
                lambda tenant: HttpTransport(tenant, world=world),
                parts=HOSTING_PARTS,
                hosting=HostSettings(folder, str(host.gateway), local_ports=LOCAL_PORTS, stop_with_us=True),
            )
            await lab.plane.start()
            try:
                yield lab
            finally:
                await lab.stop()
    finally:
        await server.stop()


async def create(lab: Lab, *manifests: dict[str, Any]) -> None:
    for content in manifests:
        await lab.client.create(TEST_KINDS.get(content["kind"]) or KINDS[content["kind"]], content)


async def administrator(lab: Lab, binaries: Binaries, folder: Path) -> TenantKubectl:
    """kubectl with the kubeconfig that Nagaya made."""

    async def initialized() -> bool:
        cluster = await lab.get("Cluster", CLUSTER)
        return bool(cluster.status.initialization.control_plane_initialized)

    await lab.until("the control plane is initialized", initialized, PATIENCE)
    secret = await lab.client.get(TENANT_SECRETS, lab.namespace, f"{CLUSTER}-kubeconfig")
    kubeconfig = folder / "kubeconfig"
    kubeconfig.touch(0o600)
    kubeconfig.write_bytes(base64.b64decode(secret.data[VALUE]))
    return TenantKubectl(binaries.path("kubectl"), kubeconfig)


def running_with(text: str) -> list[str]:
    """The command lines of processes that mention something."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append((process / "cmdline").read_text(errors="replace").replace("\0", " "))
    return [each for each in found if text in each]


def pod() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "example", "namespace": "default"},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 5,
            "containers": [{"name": "example", "image": EXAMPLE, "imagePullPolicy": "Never"}],
        },
    }


@pytest.fixture
def packages() -> Path | None:
    return machine_packages()


@pytest.fixture
def binaries() -> Binaries:
    return installed_binaries((*PROGRAMS, "kubelet", "kubeadm"))


@pytest.mark.timeout(400)
async def test_a_machine_joins_a_hosted_control_plane_works_and_goes(
    tmp_path: Path, packages: Path | None, binaries: Binaries
) -> None:
    programs = [binaries.path(name) for name in ("kubelet", "kubeadm", "kubectl")]
    images = [image(EXAMPLE, f"{SENTENCE}\n")]
    host = NetnsHost(tmp_path / "machines", programs=programs, images=images, packages=packages)
    async with host, management(tmp_path / "hosted", host) as lab:
        wanted = OnNetns(CLUSTER, binaries.release.kubernetes)
        await create(lab, *wanted.cluster())
        kubectl = await administrator(lab, binaries, tmp_path)
        assert await kubectl("get", "--raw", "/readyz") == "ok"
        await create(lab, *wanted.machine(MACHINE))
        await _is_a_node(lab, host, kubectl)
        await _runs_a_pod(lab, tmp_path, kubectl)
        await _goes(lab, host, kubectl)
        await lab.delete("Cluster", CLUSTER)
        await lab.gone(CLUSTER)
        assert [*(tmp_path / "hosted" / "tenants").iterdir()] == []
    assert leftovers(host) == []
    assert running_with(str(tmp_path)) == []


async def _is_a_node(lab: Lab, host: NetnsHost, kubectl: TenantKubectl) -> None:
    async def available() -> Any:
        machine = await lab.get("Machine", MACHINE)
        return machine if holds(machine, "Available") else None

    try:
        machine = await lab.until("the Machine is Available", available, PATIENCE)
    except AssertionError as error:
        found = host.machines.get(MACHINE)
        logs = () if found is None else (found.log(name)[-3000:] for name in ("cloud-init", "runcmd", "kubelet"))
        raise AssertionError("\n".join((str(error), *logs))) from None
    box = host.machines[MACHINE]
    assert (await box.run(["cat", SENTINEL])).text == "success\n"
    wish = await lab.client.get(NETNS_MACHINES, lab.namespace, MACHINE)
    assert machine.status.phase == "Running"
    assert machine.status.node_ref.name == MACHINE
    assert machine.spec.provider_id == f"netns://{wish.metadata.uid}"
    [node] = await kubectl.objects("nodes")
    assert node["spec"]["providerID"] == machine.spec.provider_id
    assert {"type": "InternalIP", "address": str(box.address.ip)} in node["status"]["addresses"]
    # What was booted is what the bootstrap provider made, and nobody can use it a second time.
    config = await lab.get("KubeadmConfig", MACHINE)
    assert config.status.data_secret_name == machine.spec.bootstrap.data_secret_name

    async def revoked() -> bool:
        return not [
            each
            for each in await kubectl.objects("secrets", "-n", "kube-system")
            if each["type"] == "bootstrap.kubernetes.io/token"
        ]

    await lab.until("the token is revoked", revoked, PATIENCE)


async def _runs_a_pod(lab: Lab, folder: Path, kubectl: TenantKubectl) -> None:
    manifest = folder / "pod.json"
    manifest.write_text(json.dumps(pod()))

    async def account() -> bool:
        return bool(await kubectl.objects("serviceaccounts", "-n", "default"))

    await lab.until("namespace default has a service account", account, PATIENCE)
    await kubectl("apply", "-f", str(manifest))

    async def running() -> bool:
        [found] = await kubectl.objects("pods", "-n", "default")
        return bool(found["status"]["phase"] == "Running")

    await lab.until("the pod runs", running, PATIENCE)
    assert await kubectl("logs", "example") == f"{SENTENCE}\n"


async def _goes(lab: Lab, host: NetnsHost, kubectl: TenantKubectl) -> None:
    await lab.delete("Machine", MACHINE)

    async def gone() -> bool:
        return await lab.get("Machine", MACHINE) is None

    await lab.until("the Machine is gone", gone, PATIENCE)
    assert not host.machines
    assert await kubectl.objects("nodes") == []
    assert await kubectl.objects("pods", "-n", "default") == []
    with pytest.raises(NotFound):
        await lab.client.get(NETNS_MACHINES, lab.namespace, MACHINE)
