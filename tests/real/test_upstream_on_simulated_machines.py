"""Upstream's managers on simulated machines: they see kubeadm control planes, tokens and etcd as they expect them.

Core, bootstrap and control plane provider are upstream's, unmodified, against a real API server; Nagaya has nothing but
the machines. What upstream's control plane provider does to etcd it does by port-forward through the tenant's API.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.manifests.dev_cluster import (
    BOOTSTRAP_GROUP,
    CLUSTER_GROUP,
    CONTROL_PLANE_GROUP,
    INFRASTRUCTURE_GROUP,
)
from support.real import CONTROLLERS, RealControlPlane, installed_binaries
from support.real_processes import Processes
from support.thoroughness import exhaustive
from support.upstream import Part, UpstreamManagers
from support.upstream_client import Client, Manifest, condition

NAMESPACE = "simulated"
NAME = "harbour"
STEP = 100.0
"""Seconds that each step may take on a machine that is busy with other things; a calm one needs a fifth."""
OLD, NEW = "v1.35.4", "v1.36.3"
UPSTREAMS: tuple[Part, ...] = ("core", "bootstrap", "controlplane")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with ExitStack() as stack:
        plane = stack.enter_context(RealControlPlane(installed_binaries(), controllers=CONTROLLERS))
        managers = stack.enter_context(UpstreamManagers(plane, UPSTREAMS, definitions=UPSTREAMS, logs=tmp_path))
        own = Processes("nagaya-controllers-")
        stack.callback(own.close)
        nagaya = (sys.executable, "-m", "nagaya.cli.main")
        options = (f"--kubeconfig={plane.kubeconfig}", "--only=infrastructure-simulated", "--install-crds")
        own.start("simulated", [*nagaya, "controllers", *options])
        try:
            yield managers.client
        except BaseException as error:
            error.add_note(own.tails())
            raise


def manifests() -> list[Manifest]:
    """A control plane of three and two workers."""
    return [
        made(INFRASTRUCTURE_GROUP, "SimulatedCluster", NAME, {}, "v1alpha1"),
        made(INFRASTRUCTURE_GROUP, "SimulatedMachineTemplate", NAME, {"template": {"spec": {}}}, "v1alpha1"),
        made(
            BOOTSTRAP_GROUP,
            "KubeadmConfigTemplate",
            NAME,
            {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {"imagePullPolicy": "Never"}}}}},
        ),
        made(
            CONTROL_PLANE_GROUP,
            "KubeadmControlPlane",
            NAME,
            {
                "replicas": 3,
                "version": OLD,
                "machineTemplate": {
                    "spec": {"infrastructureRef": to(INFRASTRUCTURE_GROUP, "SimulatedMachineTemplate")}
                },
                "kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"certSANs": ["localhost"]}}},
            },
        ),
        made(
            CLUSTER_GROUP,
            "MachineDeployment",
            NAME,
            {
                "clusterName": NAME,
                "replicas": 2,
                "selector": {"matchLabels": {"nagaya.test/workers": NAME}},
                "template": {
                    "metadata": {"labels": {"nagaya.test/workers": NAME}},
                    "spec": {
                        "clusterName": NAME,
                        "version": OLD,
                        "bootstrap": {"configRef": to(BOOTSTRAP_GROUP, "KubeadmConfigTemplate")},
                        "infrastructureRef": to(INFRASTRUCTURE_GROUP, "SimulatedMachineTemplate"),
                    },
                },
            },
        ),
        made(
            CLUSTER_GROUP,
            "Cluster",
            NAME,
            {
                "infrastructureRef": to(INFRASTRUCTURE_GROUP, "SimulatedCluster"),
                "controlPlaneRef": to(CONTROL_PLANE_GROUP, "KubeadmControlPlane"),
            },
        ),
    ]


def made(group: str, kind: str, name: str, spec: Manifest, version: str = "v1beta2") -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata, "spec": spec}


def to(group: str, kind: str) -> Manifest:
    return {"apiGroup": group, "kind": kind, "name": NAME}


def path(group: str, plural: str, name: str = "", version: str = "v1beta2") -> str:
    return f"/apis/{group}/{version}/namespaces/{NAMESPACE}/{plural}{f'/{name}' if name else ''}"


KCP = path(CONTROL_PLANE_GROUP, "kubeadmcontrolplanes", NAME)


def is_settled(client: Client, control_planes: int, version: str) -> bool:
    """Whether the control plane has exactly so many machines, healthy in this version, and the Cluster is available."""
    found = client.get(KCP)
    status = found.get("status") or {}
    machines = client.items(path(CLUSTER_GROUP, "machines"))
    own = [each for each in machines if "cluster.x-k8s.io/control-plane" in each["metadata"]["labels"]]
    return (
        len(own) == control_planes
        and all(each["spec"]["version"] == version for each in own)
        and all(condition(each, "Available") == "True" for each in machines)
        and status.get("observedGeneration") == found["metadata"]["generation"]
        and condition(found, "EtcdClusterHealthy") == "True"
        and condition(found, "Available") == "True"
        and condition(client.get(path(CLUSTER_GROUP, "clusters", NAME)), "Available") == "True"
    )


@exhaustive
def test_upstreams_control_plane_provider_runs_shrinks_and_upgrades_a_simulated_control_plane(client: Client) -> None:
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    client.until(
        "the simulated kinds are served",
        lambda: client.find(path(INFRASTRUCTURE_GROUP, "simulatedclusters", version="v1alpha1")) is not None,
        STEP,
    )
    for manifest in manifests():
        client.create(manifest)
    client.until("three control planes and two workers are available", lambda: is_settled(client, 3, OLD), STEP)

    # Leadership is moved and members are removed, as etcd's rules ask.
    client.patch(KCP, {"spec": {"replicas": 1}})
    client.until("one control plane machine is left", lambda: is_settled(client, 1, OLD), STEP)

    client.patch(KCP, {"spec": {"version": NEW}})
    client.until("the control plane is upgraded", lambda: is_settled(client, 1, NEW), STEP)

    client.delete(path(CLUSTER_GROUP, "clusters", NAME))
    client.until("the Cluster is gone", lambda: not client.items(path(CLUSTER_GROUP, "clusters")), STEP)
    hosts = path(INFRASTRUCTURE_GROUP, "simulatedmachines", version="v1alpha1")
    client.until("nothing is left of its machines", lambda: not client.items(hosts), STEP)
