"""A cluster's whole life under upstream's managers, with upstream's core or with Nagaya's in its place.

All of it by upstream shows that the harness works and what upstream does; the same steps with Nagaya's core show that
it drives providers that know nothing of it. Leave these out with `-k "not upstream"`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import pytest

from support.manifests.dev_cluster import CLUSTER_GROUP, CONTROL_PLANE_GROUP, DevCluster, kinds
from support.real import CONTROLLERS, RealControlPlane, installed_binaries
from support.real_processes import Processes
from support.thoroughness import exhaustive
from support.upstream import PARTS, UpstreamManagers
from support.upstream_client import Client, Manifest, condition

pytestmark = pytest.mark.long("plays a cluster's whole life with upstream's managers")

Core = Literal["upstream", "nagaya"]

NAMESPACE = "tenants"
STEP = 100.0
"""Seconds that each step may take on a machine that is busy with other things; a calm one needs a fifth."""


@pytest.fixture(scope="module")
def plane() -> Iterator[RealControlPlane]:
    with RealControlPlane(installed_binaries(), controllers=CONTROLLERS) as plane:
        yield plane


@pytest.fixture(params=[pytest.param("upstream", marks=exhaustive), "nagaya"])
def client(request: pytest.FixtureRequest, plane: RealControlPlane, tmp_path: Path) -> Iterator[Client]:
    """The API server with all four parts at work; what they said is in pytest's folder of the test afterwards."""
    core: Core = request.param
    with ExitStack() as stack:
        parts = PARTS if core == "upstream" else [part for part in PARTS if part != "core"]
        managers = stack.enter_context(UpstreamManagers(plane, parts, logs=tmp_path))
        if core == "nagaya":
            own = Processes("nagaya-controllers-")
            stack.callback(own.close)
            nagaya = (sys.executable, "-m", "nagaya.cli.main")
            own.start("core", [*nagaya, "controllers", f"--kubeconfig={plane.kubeconfig}", "--only=core"])
        yield managers.client


def path(group: str, plural: str, name: str = "") -> str:
    return f"/apis/{group}/v1beta2/namespaces/{NAMESPACE}/{plural}{f'/{name}' if name else ''}"


def workers(client: Client, cluster: DevCluster) -> list[Manifest]:
    machines = client.items(path(CLUSTER_GROUP, "machines"))
    return [machine for machine in machines if cluster.name == machine["metadata"]["labels"].get("nagaya.test/workers")]


def is_settled(client: Client, cluster: DevCluster, replicas: int, version: str) -> bool:
    """Whether there are exactly so many workers, all available in this version, and the Cluster says so too."""
    machines = workers(client, cluster)
    return (
        len(machines) == replicas
        and all(condition(machine, "Available") == "True" for machine in machines)
        and all(machine["spec"]["version"] == version for machine in machines)
        and condition(client.get(path(CLUSTER_GROUP, "clusters", cluster.name)), "Available") == "True"
    )


def said_otherwise(client: Client, machine: Manifest) -> list[str]:
    """What a machine that is well should say of itself, and does not."""
    expected = {
        "Available": "Available",
        "Ready": "Ready",
        "UpToDate": "UpToDate",
        "BootstrapConfigReady": "Ready",
        "InfrastructureReady": "Ready",
        "NodeHealthy": "NodeHealthy",
        "NodeReady": "NodeReady",
        "Deleting": "NotDeleting",
        "Updating": "NotUpdating",
        "Paused": "NotPaused",
    }
    name = machine["metadata"]["name"]
    seen = client.get(path(CLUSTER_GROUP, "machines", name))["status"]["conditions"]
    reasons = {each["type"]: each["reason"] for each in seen}
    return [f"{name}: {kind} is {reasons.get(kind)}" for kind, why in expected.items() if reasons.get(kind) != why]


def left_over(client: Client) -> list[str]:
    """Everything that is still in the namespace but what every namespace has."""
    paths = [path(group, plural) for group, plural in kinds()]
    paths.append(f"/api/v1/namespaces/{NAMESPACE}/secrets")
    return [f"{where}/{found['metadata']['name']}" for where in paths for found in client.items(where)]


def test_a_cluster_becomes_available_scales_rolls_and_goes_away(client: Client) -> None:
    cluster = DevCluster("first", NAMESPACE, worker_version="v1.36.2")
    deployment = path(CLUSTER_GROUP, "machinedeployments", "first-workers")
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for manifest in cluster.manifests():
        client.create(manifest)

    client.until("3 workers are available", lambda: is_settled(client, cluster, 3, "v1.36.2"), STEP)
    control_plane = client.get(path(CONTROL_PLANE_GROUP, "kubeadmcontrolplanes", "first"))
    assert condition(control_plane, "Available") == "True"
    assert {machine["status"]["phase"] for machine in client.items(path(CLUSTER_GROUP, "machines"))} == {"Running"}
    assert all("nodeRef" in machine["status"] for machine in workers(client, cluster))

    first = {machine["metadata"]["name"] for machine in workers(client, cluster)}
    client.patch(deployment, {"spec": {"replicas": 4}})
    client.until("a fourth worker is available", lambda: is_settled(client, cluster, 4, "v1.36.2"), STEP)
    assert first < {machine["metadata"]["name"] for machine in workers(client, cluster)}

    client.patch(deployment, {"spec": {"replicas": 2}})
    client.until("2 workers are left", lambda: is_settled(client, cluster, 2, "v1.36.2"), STEP)

    client.patch(deployment, {"spec": {"template": {"spec": {"version": "v1.36.3"}}}})
    client.until("both workers are replaced", lambda: is_settled(client, cluster, 2, "v1.36.3"), STEP)
    # What came before is removed when nothing is left of it, a moment later.
    client.until("one MachineSet is left", lambda: len(client.items(path(CLUSTER_GROUP, "machinesets"))) == 1, STEP)
    assert [line for machine in workers(client, cluster) for line in said_otherwise(client, machine)] == []

    client.delete(path(CLUSTER_GROUP, "clusters", "first"))
    client.until("the Cluster is gone", lambda: not client.items(path(CLUSTER_GROUP, "clusters")), STEP)
    # Templates belong to the Cluster too; the garbage collector of Kubernetes takes them a moment later.
    client.until("nothing is left", lambda: not left_over(client), STEP)
    client.delete(f"/api/v1/namespaces/{NAMESPACE}")
    client.until("the namespace is gone", lambda: client.find(f"/api/v1/namespaces/{NAMESPACE}") is None, STEP)
