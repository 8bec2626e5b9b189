"""What `nagaya manifests` prints is accepted by Kubernetes, and its rights are those that the controllers need."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.conftest import Tool
from support.controllers_process import RUNNING, Controllers
from support.real import RealControlPlane
from support.running_server import NAGAYA, RunningServer

pytestmark = pytest.mark.long("starts servers, and runs all controllers with the rights of the manifests")

PARTS = "core,bootstrap-kubeadm,controlplane-kubeadm,addons,ipam,infrastructure-proxmox,infrastructure-simulated"
ACCOUNT = "system:serviceaccount:nagaya-system:nagaya"


def printed(*arguments: str) -> str:
    return subprocess.run([NAGAYA, "manifests", *arguments], capture_output=True, text=True, check=True).stdout


@dataclass
class Audited:
    """A management API, and who asked it for what in vain."""

    server: RunningServer
    log: Path

    def refused(self, user: str) -> list[str]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [
            f"{each['verb']} {each['requestURI']}"
            for each in lines
            if each["user"]["username"] == user and each["responseStatus"]["code"] == 403
        ]

    def used(self, user: str) -> int:
        return sum(user in line for line in self.log.read_text().splitlines())


@pytest.fixture
def audited(tmp_path: Path) -> Iterator[Audited]:
    log = tmp_path / "audit.log"
    with RunningServer(["--audit-log", str(log)]) as server:
        yield Audited(server, log)


@pytest.mark.parametrize("kind", ["embedded", "real"])
def test_all_of_it_is_accepted_without_a_warning(request: pytest.FixtureRequest, kind: str, tool_home: Path) -> None:
    api: RunningServer | RealControlPlane
    api = request.getfixturevalue("running_server" if kind == "embedded" else "real_control_plane")
    kubectl = Tool(NAGAYA.with_name("kubectl"), tool_home, api.kubeconfig, "default")
    namespace, *rest = yaml.safe_load_all(printed("--namespace", "nagaya-trial", "--image", "example/nagaya:1"))
    kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump(namespace))
    try:
        arguments = ("apply", "--server-side", "--dry-run=server", "--warnings-as-errors", "-f", "-")
        said = kubectl(*arguments, input=yaml.safe_dump_all(rest))
        assert len(said.splitlines()) == len(rest)
        assert "deployment.apps/nagaya serverside-applied (server dry run)" in said
    finally:
        kubectl("delete", "namespace", "nagaya-trial", "--wait=false")


def test_the_controllers_do_with_these_rights_and_no_others(audited: Audited, tool_home: Path, tmp_path: Path) -> None:
    server = audited.server
    kubectl = Tool(NAGAYA.with_name("kubectl"), tool_home, server.kubeconfig, "default")
    kubectl("apply", "--server-side", "-f", "-", input=printed("--only", PARTS))
    token = kubectl("create", "token", "nagaya", "--namespace", "nagaya-system").strip()
    account = _as(server.kubeconfig, token, tmp_path)
    arguments = ("--leader-elect", "--lease-namespace=nagaya-system", "--admission=127.0.0.1:0", f"--only={PARTS}")
    with Controllers(account, *arguments) as controllers:
        controllers.says(RUNNING)
        _live(kubectl)
        assert controllers.stop()[0] == 0
    assert audited.used(ACCOUNT) > 100
    assert audited.refused(ACCOUNT) == []
    for verb, what in (("delete", "namespaces"), ("create", "clusterroles"), ("create", "pods"), ("get", "nodes")):
        kubectl.fails("auth", "can-i", verb, what, f"--as={ACCOUNT}")


def _live(kubectl: Tool) -> None:
    """The life of a cluster: created, scaled, deleted; and a connection that leads nowhere."""
    words = "create cluster trial --infrastructure simulated --control-plane kubeadm --workers 1 -o yaml"
    drafted = subprocess.run([NAGAYA, *words.split()], capture_output=True, text=True, check=True).stdout
    kubectl("apply", "-f", "-", input=drafted)
    kubectl("apply", "-f", "-", input=yaml.safe_dump_all(_around()))
    kubectl("wait", "cluster/trial", "--for=condition=Available", "--timeout=200s")
    kubectl("scale", "machinedeployment", "trial-workers", "--replicas=2")
    kubectl("wait", "md/trial-workers", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=200s")
    kubectl("wait", "ipaddressclaim/one", "--for=condition=Ready", "--timeout=200s")
    kubectl("wait", "proxmoxconnection/nowhere", "--for=condition=Ready=False", "--timeout=200s")
    kubectl("wait", "clusterresourceset/plugin", "--for=condition=ResourcesApplied", "--timeout=200s")
    kubectl("delete", "ipaddressclaim", "one", "--timeout=200s")
    kubectl("delete", "cluster", "trial", "--timeout=200s")


def _around() -> list[dict[str, Any]]:
    """What else controllers look after: addresses, add-ons, a way to Proxmox VE, health."""
    return [
        {
            "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2",
            "kind": "InClusterIPPool",
            "metadata": {"name": "pool", "namespace": "default"},
            "spec": {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24},
        },
        {
            "apiVersion": "ipam.cluster.x-k8s.io/v1beta2",
            "kind": "IPAddressClaim",
            "metadata": {"name": "one", "namespace": "default"},
            "spec": {"poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "pool"}},
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "nowhere", "namespace": "default"},
            "stringData": {"token": "nagaya@pve!nagaya", "secret": "00000000-0000-0000-0000-000000000000"},
        },
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha2",
            "kind": "ProxmoxConnection",
            "metadata": {"name": "nowhere", "namespace": "default"},
            "spec": {"endpoints": ["https://127.0.0.1:1"], "credentialsRef": {"name": "nowhere"}},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "plugin", "namespace": "default"},
            "data": {"plugin.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: plugin}\n"},
        },
        {
            "apiVersion": "addons.cluster.x-k8s.io/v1beta2",
            "kind": "ClusterResourceSet",
            "metadata": {"name": "plugin", "namespace": "default"},
            "spec": {
                "clusterSelector": {"matchLabels": {"cluster.x-k8s.io/cluster-name": "trial"}},
                "resources": [{"kind": "ConfigMap", "name": "plugin"}],
            },
        },
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineHealthCheck",
            "metadata": {"name": "trial", "namespace": "default"},
            "spec": {
                "clusterName": "trial",
                "selector": {"matchLabels": {"cluster.x-k8s.io/deployment-name": "trial-workers"}},
                "checks": {"unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}]},
            },
        },
    ]


def _as(kubeconfig: Path, token: str, folder: Path) -> Path:
    """The same API, by a token."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    file = folder / "account.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file
