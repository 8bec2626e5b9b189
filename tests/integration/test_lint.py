"""`nagaya lint --cluster` as users run it: a management API, a tenant's API, and the command between them."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from nagaya.api.conversion import manifests as documents
from support.running_server import NAGAYA, RunningServer
from unit.cloud.lint.building import Raw, manifests_of

pytestmark = pytest.mark.long("starts Nagaya as users do, several processes one after the other")

KUBECTL = Path(sys.prefix) / "bin" / "kubectl"
NAMESPACE = "tenants"
OF_MANAGEMENT = ("KubeadmControlPlane", "KubeadmConfigTemplate")
PATIENCE = 240.0
CLUSTER = f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {NAMESPACE}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: demo, namespace: {NAMESPACE}, labels: {{cni: cilium}}}}
spec:
  infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: LabCluster, name: demo}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {{name: workers, namespace: {NAMESPACE}, labels: {{cluster.x-k8s.io/cluster-name: demo}}}}
spec:
  clusterName: demo
  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b}}}}
    spec:
      clusterName: demo
      bootstrap:
        configRef: {{apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: lab-workers}}
      infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: LabMachineTemplate, name: demo}}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {{name: cilium, namespace: {NAMESPACE}}}
spec:
  clusterSelector: {{matchLabels: {{cni: cilium}}}}
  resources: [{{kind: ConfigMap, name: cilium}}]
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {{name: other, namespace: {NAMESPACE}}}
spec:
  clusterSelector: {{matchLabels: {{cni: other}}}}
  resources: [{{kind: ConfigMap, name: other}}]
"""


def _kubectl(server: RunningServer, *arguments: str, input: str | None = None) -> str:
    command = [KUBECTL, "--kubeconfig", server.kubeconfig, *arguments]
    done = subprocess.run(command, input=input, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _apply(server: RunningServer, objects: list[Raw]) -> None:
    _kubectl(server, "apply", "--server-side", "-f", "-", input=documents.write(objects))


def _lint(management: RunningServer, *arguments: str) -> tuple[int, str, str]:
    command = [NAGAYA, "lint", "--kubeconfig", management.kubeconfig, "-n", NAMESPACE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def tenant() -> Iterator[RunningServer]:
    with RunningServer() as server:
        ours = [
            each for each in manifests_of("correct") if each["kind"] not in (*OF_MANAGEMENT, "Cluster", "DaemonSet")
        ]
        _apply(server, [_complete(each) for each in ours])
        yield server


@pytest.fixture(scope="module")
def management(tenant: RunningServer) -> Iterator[RunningServer]:
    with RunningServer() as server:
        parts = "core,addons,bootstrap-kubeadm,controlplane-kubeadm"
        definitions = subprocess.run(
            [NAGAYA, "crds", "--only", parts], capture_output=True, text=True, check=True
        ).stdout
        _kubectl(server, "apply", "--server-side", "-f", "-", input=definitions)
        _kubectl(server, "wait", "--for=condition=Established", "crd", "--all", "--timeout=200s")
        _kubectl(server, "apply", "-f", "-", input=CLUSTER)
        objects = [each for each in manifests_of("correct") if each["kind"] in OF_MANAGEMENT]
        for each in objects:
            each["metadata"] |= {"namespace": NAMESPACE, "labels": {"cluster.x-k8s.io/cluster-name": "demo"}}
        control_plane = next(each for each in objects if each["kind"] == "KubeadmControlPlane")
        reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "LabMachineTemplate", "name": "demo"}
        control_plane["spec"] |= {"version": "v1.36.3", "machineTemplate": {"spec": {"infrastructureRef": reference}}}
        network = [each for each in manifests_of("correct") if each["kind"] == "DaemonSet"]
        _apply(
            server, [*objects, _config_map("cilium", documents.write(network)), _config_map("other", "kind: Broken")]
        )
        _apply(server, [_kubeconfig(tenant)])
        yield server


def _complete(each: Raw) -> Raw:
    """What a server wants that a linter does not need."""
    if each["kind"] == "Secret":
        each["type"] = "Opaque"
    return each


def _config_map(name: str, content: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {"objects.yaml": content},
    }


def _kubeconfig(tenant: RunningServer) -> Raw:
    value = base64.b64encode(tenant.kubeconfig.read_bytes()).decode()
    metadata = {"name": "demo-kubeconfig", "namespace": NAMESPACE, "labels": {"cluster.x-k8s.io/cluster-name": "demo"}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"value": value}}


def test_a_tenant_is_read_from_both_sides_and_found_well(management: RunningServer) -> None:
    code, said, notes = _lint(management, "--cluster", "demo", "-o", "json")

    found: dict[str, Any] = json.loads(said)
    assert (code, notes, found["findings"]) == (0, "", [])
    assert found["lookedAt"] == ["Deployment kube-system/cloud-controller-manager", "DaemonSet kube-system/cilium"]
    assert found["notInTheSet"] == []


def test_what_is_spoilt_in_the_tenant_is_found_there(management: RunningServer, tenant: RunningServer) -> None:
    _kubectl(tenant, "-n", "kube-system", "delete", "secret", "cloud-config")
    patch = json.dumps({"spec": {"template": {"spec": {"tolerations": None}}}})
    _kubectl(
        tenant, "-n", "kube-system", "patch", "deployment", "cloud-controller-manager", "--type=merge", "-p", patch
    )

    code, said, _ = _lint(management, "--cluster", "demo", "-o", "yaml")

    errors = {each["check"]: each for each in yaml.safe_load(said)["findings"] if each["severity"] == "error"}
    assert code == 1
    assert {"L1", "L4", "L20"} <= set(errors)
    assert errors["L20"]["source"] == "tenant"


def test_a_cluster_that_does_not_exist_is_told(management: RunningServer) -> None:
    code, _, complaint = _lint(management, "--cluster", "nobody")

    assert code == 1
    assert f"There is no Secret {NAMESPACE}/nobody-kubeconfig" in complaint


def test_a_tenant_that_does_not_answer_is_told(management: RunningServer) -> None:
    config = yaml.safe_load(management.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    value = base64.b64encode(yaml.safe_dump(config).encode()).decode()
    metadata = {"name": "deaf-kubeconfig", "namespace": NAMESPACE}
    _apply(management, [{"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"value": value}}])

    code, _, complaint = _lint(management, "--cluster", "deaf")

    assert code == 1
    assert "The API server of cluster deaf at https://127.0.0.1:9 cannot be read" in complaint
