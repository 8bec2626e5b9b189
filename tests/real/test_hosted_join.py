"""The whole way as the product goes it: a Cluster with a hosted control plane gets a Machine, which becomes a node.

Nothing is simulated but the hardware. The bootstrap provider renders the data, a machine that is a namespace boots
exactly them with real `kubeadm join` and a real kubelet, the core finds the Node, a pod runs, and when the Machine is
deleted, the Node is drained, and nothing of either is left.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nagaya.binaries.installer import Binaries
from nagaya.kube.errors import NotFound
from nagaya.simulators.netns.host import NetnsHost
from nagaya.simulators.netns.image import image
from support.debian import machine_packages
from support.hosted_by_hand import PROGRAMS
from support.joining import PATIENCE, administrator, available, create, management, running_with
from support.lab import Lab
from support.manifests.netns import OnNetns
from support.netns_leftovers import leftovers
from support.netns_provider import NETNS_MACHINES
from support.real import installed_binaries
from support.tenant_kubectl import TenantKubectl

pytestmark = pytest.mark.long("a real kubelet joins with kubeadm")

SENTENCE = "Here I am."
EXAMPLE = "localhost/nagaya/example:1"
SENTINEL = "/run/cluster-api/bootstrap-success.complete"
CLUSTER, MACHINE = "ship", "ship-1"


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


async def test_a_machine_joins_a_hosted_control_plane_works_and_goes(
    tmp_path: Path, packages: Path | None, binaries: Binaries
) -> None:
    programs = [binaries.path(name) for name in ("kubelet", "kubeadm", "kubectl")]
    images = [image(EXAMPLE, f"{SENTENCE}\n")]
    host = NetnsHost(tmp_path / "machines", programs=programs, images=images, packages=packages)
    async with host, management(tmp_path / "hosted", host) as lab:
        wanted = OnNetns(CLUSTER, binaries.release.kubernetes)
        await create(lab, *wanted.cluster())
        kubectl = await administrator(lab, CLUSTER, binaries, tmp_path)
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
    machine = await available(lab, host, MACHINE)
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
