"""KubeadmControlPlanes of machines that upstream's in-memory provider plays, through their whole life.

The provider's fake API servers and its fake etcd know nothing of Nagaya, so what is proven here is that Nagaya says
what upstream expects to hear. Each of Nagaya's parts also stands in for upstream's alone. Leave these out with
`-k "not kubeadm_control_plane"`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.manifests.dev_cluster import CLUSTER_GROUP, CONTROL_PLANE_GROUP, DevCluster, kinds
from support.real import CONTROLLERS, RealControlPlane, installed_binaries
from support.real_processes import Processes
from support.thoroughness import exhaustive
from support.upstream import PARTS, Part, UpstreamManagers
from support.upstream_client import Client, Manifest, condition

pytestmark = pytest.mark.long("plays a control plane's whole life with upstream's managers")

NAMESPACE = "tenants"
STEP = 100.0
"""Seconds that each step may take on a machine that is busy with other things; a calm one needs a fifth."""
OWN: dict[Part, str] = {
    "core": "core",
    "bootstrap": "bootstrap-kubeadm",
    "controlplane": "controlplane-kubeadm",
}
"""What Nagaya calls its parts."""
ONLY_CONTROL_PLANE: tuple[Part, ...] = ("controlplane",)
ONLY_BOOTSTRAP: tuple[Part, ...] = ("bootstrap",)


@pytest.fixture(scope="module")
def plane() -> Iterator[RealControlPlane]:
    with RealControlPlane(installed_binaries(), controllers=CONTROLLERS) as plane:
        yield plane


@contextmanager
def managers(plane: RealControlPlane, own: Collection[Part], logs: Path) -> Iterator[Client]:
    """Nagaya's controllers for some parts, upstream's for the rest."""
    with ExitStack() as stack:
        upstream = UpstreamManagers(plane, [part for part in PARTS if part not in own], logs=logs)
        stack.enter_context(upstream)
        processes = Processes("nagaya-controllers-")
        stack.callback(processes.close)
        stack.callback(lambda: (logs / "nagaya.log").write_bytes(processes.log("nagaya").read_bytes()))
        only = ",".join(OWN[part] for part in PARTS if part in own)
        nagaya = (sys.executable, "-m", "nagaya.cli.main")
        processes.start("nagaya", [*nagaya, "controllers", f"--kubeconfig={plane.kubeconfig}", f"--only={only}"])
        upstream.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield upstream.client


def path(group: str, plural: str, name: str = "") -> str:
    return f"/apis/{group}/v1beta2/namespaces/{NAMESPACE}/{plural}{f'/{name}' if name else ''}"


CONTROL_PLANE = path(CONTROL_PLANE_GROUP, "kubeadmcontrolplanes", "first")


def machines(client: Client, *, control_planes: bool) -> list[Manifest]:
    label = f"{CLUSTER_GROUP}/control-plane"
    found = client.items(path(CLUSTER_GROUP, "machines"))
    return [each for each in found if (label in each["metadata"]["labels"]) == control_planes]


def is_settled(client: Client, replicas: int, version: str) -> bool:
    """Whether there are exactly so many control plane machines, all of this version and available, and all say so."""
    found = machines(client, control_planes=True)
    control_plane = client.get(CONTROL_PLANE)
    return (
        len(found) == replicas
        and all(condition(each, "Available") == "True" for each in found)
        and all(each["spec"]["version"] == version for each in found)
        and condition(control_plane, "Available") == "True"
        and condition(control_plane, "EtcdClusterHealthy") == "True"
        and control_plane["status"].get("readyReplicas") == replicas
        and condition(client.get(path(CLUSTER_GROUP, "clusters", "first")), "Available") == "True"
    )


def wrong_conditions(control_plane: Manifest) -> list[str]:
    """What a control plane that is well should say of itself, and does not."""
    expected = {
        "Available": "Available",
        "Initialized": "Initialized",
        "CertificatesAvailable": "Available",
        "EtcdClusterHealthy": "Healthy",
        "ControlPlaneComponentsHealthy": "Healthy",
        "MachinesReady": "Ready",
        "MachinesUpToDate": "UpToDate",
        "RollingOut": "NotRollingOut",
        "ScalingUp": "NotScalingUp",
        "ScalingDown": "NotScalingDown",
        "Remediating": "NotRemediating",
        "Deleting": "NotDeleting",
        "Paused": "NotPaused",
    }
    reasons = {each["type"]: each["reason"] for each in control_plane["status"]["conditions"]}
    return [f"{type} is {reasons.get(type)}" for type, why in expected.items() if reasons.get(type) != why]


def create(client: Client, cluster: DevCluster) -> None:
    for manifest in cluster.manifests():
        client.create(manifest)


def delete(client: Client) -> None:
    """Delete everything, and see that nothing is left."""
    client.delete(path(CLUSTER_GROUP, "clusters", "first"))
    client.until("the Cluster is gone", lambda: not client.items(path(CLUSTER_GROUP, "clusters")), STEP)
    client.until("nothing is left", lambda: not left_over(client), STEP)
    client.delete(f"/api/v1/namespaces/{NAMESPACE}")
    client.until("the namespace is gone", lambda: client.find(f"/api/v1/namespaces/{NAMESPACE}") is None, STEP)


def left_over(client: Client) -> list[str]:
    paths = [path(group, plural) for group, plural in kinds()]
    paths.append(f"/api/v1/namespaces/{NAMESPACE}/secrets")
    return [f"{where}/{found['metadata']['name']}" for where in paths for found in client.items(where)]


def test_all_of_nagaya_beside_machines_of_upstream(plane: RealControlPlane, tmp_path: Path) -> None:
    with managers(plane, ("core", "bootstrap", "controlplane"), tmp_path) as client:
        create(client, DevCluster("first", NAMESPACE, version="v1.36.2", worker_version="v1.36.2"))
        client.until("a control plane of 1 is available", lambda: is_settled(client, 1, "v1.36.2"), STEP)
        client.until("3 workers run", lambda: _running(client, 3), STEP)
        assert wrong_conditions(client.get(CONTROL_PLANE)) == []

        client.patch(CONTROL_PLANE, {"spec": {"replicas": 3}})
        client.until("a control plane of 3 is available", lambda: is_settled(client, 3, "v1.36.2"), STEP)
        first = {each["metadata"]["name"] for each in machines(client, control_planes=True)}

        client.patch(CONTROL_PLANE, {"spec": {"version": "v1.36.3"}})
        client.until("all 3 machines are replaced", lambda: is_settled(client, 3, "v1.36.3"), 2 * STEP)
        assert first.isdisjoint(each["metadata"]["name"] for each in machines(client, control_planes=True))
        client.until("nothing is wrong", lambda: wrong_conditions(client.get(CONTROL_PLANE)) == [], STEP)

        client.patch(CONTROL_PLANE, {"spec": {"replicas": 1}})
        client.until("a control plane of 1 is left", lambda: is_settled(client, 1, "v1.36.3"), STEP)
        delete(client)


def test_the_control_plane_of_nagaya_under_the_core_of_upstream(plane: RealControlPlane, tmp_path: Path) -> None:
    with managers(plane, ONLY_CONTROL_PLANE, tmp_path) as client:
        create(client, DevCluster("first", NAMESPACE, control_planes=3, workers=1))
        client.until("a control plane of 3 is available", lambda: is_settled(client, 3, "v1.36.3"), STEP)
        client.patch(CONTROL_PLANE, {"spec": {"replicas": 1}})
        client.until("a control plane of 1 is left", lambda: is_settled(client, 1, "v1.36.3"), STEP)
        delete(client)


@exhaustive
def test_the_bootstrap_of_nagaya_under_the_control_plane_of_upstream(plane: RealControlPlane, tmp_path: Path) -> None:
    with managers(plane, ONLY_BOOTSTRAP, tmp_path) as client:
        create(client, DevCluster("first", NAMESPACE, workers=1))
        client.until("a control plane of 1 is available", lambda: is_settled(client, 1, "v1.36.3"), STEP)
        client.until("the worker runs", lambda: _running(client, 1), STEP)
        delete(client)


def _running(client: Client, count: int) -> bool:
    found = machines(client, control_planes=False)
    return len(found) == count and all(each.get("status", {}).get("phase") == "Running" for each in found)
