"""Nagaya's core takes over a cluster that upstream's core has made, as if it had made it itself.

What upstream's controllers said on the objects of a cluster is theirs by field ownership. If it stayed theirs, nothing
of it could be taken away any more: a label that is removed from a MachineDeployment would stay on its machines. Leave
this out with `-k "not upstream"`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.controllers_process import RUNNING, Controllers
from support.manifests.dev_cluster import BOOTSTRAP_GROUP, CLUSTER_GROUP, INFRASTRUCTURE_GROUP, DevCluster
from support.real import CONTROLLERS, RealControlPlane, installed_binaries
from support.upstream import UpstreamManagers
from support.upstream_client import Client, Manifest, condition

pytestmark = pytest.mark.long("builds a cluster with upstream's managers first")

NAMESPACE = "tenants"
STEP = 100.0
"""Seconds that each step may take on a machine that is busy with other things."""
WORKER = {"nagaya.test/workers": "old"}
MADE = (
    (CLUSTER_GROUP, "machines"),
    (BOOTSTRAP_GROUP, "kubeadmconfigs"),
    (INFRASTRUCTURE_GROUP, "devmachines"),
)
"""What a template's labels and annotations go to."""


def path(group: str, plural: str, name: str = "") -> str:
    return f"/apis/{group}/v1beta2/namespaces/{NAMESPACE}/{plural}{f'/{name}' if name else ''}"


def of_workers(client: Client, group: str, plural: str) -> list[Manifest]:
    found = client.items(path(group, plural))
    return [each for each in found if WORKER.items() <= each["metadata"].get("labels", {}).items()]


def says(client: Client, key: str, value: str | None) -> Callable[[], bool]:
    """Whether everything that was made for the workers has a label and an annotation, or none has."""

    def look() -> bool:
        return all(
            (found := of_workers(client, group, plural))
            and {each["metadata"].get(part, {}).get(key) for each in found for part in ("labels", "annotations")}
            == {value}
            for group, plural in MADE
        )

    return look


def is_available(client: Client, replicas: int) -> bool:
    machines = of_workers(client, CLUSTER_GROUP, "machines")
    return len(machines) == replicas and all(condition(each, "Available") == "True" for each in machines)


def test_what_upstream_said_can_be_taken_back_after_a_takeover(tmp_path: Path) -> None:
    said = {"nagaya.test/team": "a", "nagaya.test/floor": "1"}
    cluster = DevCluster("old", NAMESPACE, workers=2)
    deployment = path(CLUSTER_GROUP, "machinedeployments", "old-workers")
    with (
        RealControlPlane(installed_binaries(), controllers=CONTROLLERS) as plane,
        UpstreamManagers(plane, logs=tmp_path) as managers,
    ):
        client = managers.client
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for manifest in cluster.manifests():
            if manifest["kind"] == "MachineDeployment":
                metadata = manifest["spec"]["template"]["metadata"]
                metadata["labels"] = {**metadata["labels"], **said}
                metadata["annotations"] = said
            client.create(manifest)
        client.until("upstream's workers are available", lambda: is_available(client, 2), STEP)
        assert all(says(client, key, value)() for key, value in said.items())
        before = {each["metadata"]["uid"] for each in of_workers(client, CLUSTER_GROUP, "machines")}

        managers.end("core")
        with Controllers(plane.kubeconfig, "--only=core", "-v") as nagaya:
            nagaya.says(RUNNING)
            change: dict[str, str | None] = {"nagaya.test/team": None, "nagaya.test/floor": "2"}
            both = {"labels": change, "annotations": change}
            client.patch(deployment, {"spec": {"template": {"metadata": both}}})
            client.until("what was changed is everywhere", says(client, "nagaya.test/floor", "2"), STEP)
            client.until("what was taken back is nowhere", says(client, "nagaya.test/team", None), STEP)
            machines = of_workers(client, CLUSTER_GROUP, "machines")
            assert {each["metadata"]["uid"] for each in machines} == before, "no machine was replaced for it"
            client.delete(path(CLUSTER_GROUP, "clusters", "old"))
            client.until("the Cluster is gone", lambda: not client.items(path(CLUSTER_GROUP, "clusters")), STEP)
