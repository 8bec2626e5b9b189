"""`nagaya move` between two running servers, as somebody types it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from integration.conftest import Tool
from support.running_server import NAGAYA, RunningServer

pytestmark = pytest.mark.long("moves a cluster between two running servers, command by command")


@pytest.fixture
def servers() -> Iterator[tuple[RunningServer, RunningServer]]:
    with ExitStack() as stack:
        source, target = (stack.enter_context(RunningServer(controllers=True)) for _ in range(2))
        yield source, target


def test_programs_read_what_would_move_what_stands_in_the_way_and_what_has_moved(
    servers: tuple[RunningServer, RunningServer], tool_home: Path
) -> None:
    source, target = servers
    here, there = (Tool(NAGAYA.with_name("kubectl"), tool_home, each.kubeconfig, "default") for each in servers)

    def move(*more: str, code: int = 0) -> dict[str, object]:
        command = [NAGAYA, "move", "--kubeconfig", source.kubeconfig, "--to-kubeconfig", target.kubeconfig]
        done = subprocess.run([*command, "-o", "json", *more], capture_output=True, text=True, check=False, timeout=240)
        assert done.returncode == code, done.stdout + done.stderr
        said: dict[str, object] = json.loads(done.stdout)
        return said

    assert move("--yes") == {"moved": False, "objects": [], "unfinished": [], "problems": []}

    words = "create cluster first --infrastructure simulated --control-plane kubeadm --workers 1 -o yaml"
    drafted = subprocess.run([NAGAYA, *words.split()], capture_output=True, text=True, check=True).stdout
    here("apply", "-f", "-", input=drafted)
    here("patch", "md/first-workers", "--type=merge", '-p={"spec": {"paused": true}}')
    here("wait", "cluster/first", "--for=condition=ControlPlaneInitialized", "--timeout=200s")
    there("create", "secret", "generic", "first-ca", "--from-literal=a=b")
    refused = move("--yes", code=1)
    assert refused["moved"] is False
    assert "The target has another Secret default/first-ca already" in str(refused["problems"])
    assert "true" not in here("get", "cluster", "first", "-o", "jsonpath={.spec.paused}"), "nothing was changed"

    there("delete", "secret", "first-ca")
    here("patch", "md/first-workers", "--type=merge", '-p={"spec": {"paused": false}}')
    here("wait", "cluster/first", "--for=condition=Available", "--timeout=200s")
    planned = move("--dry-run")
    assert (planned["problems"], planned["moved"]) == ([], False)
    objects = planned["objects"]
    assert isinstance(objects, list)
    assert {"kind": "Cluster", "namespace": "default", "name": "first", "round": 1} in objects

    done = move("--yes")
    assert (done["moved"], len(str(done["objects"]))) == (True, len(str(objects)))
    assert here("get", "clusters,machines,secrets", "-o", "name").strip() == ""
    there("wait", "cluster/first", "--for=condition=Available", "--timeout=200s")

    there("patch", "cluster/first", "--type=merge", '-p={"spec": {"paused": true}}')
    source, target = target, source
    assert move("--yes")["moved"] is True
    assert here("get", "cluster", "first", "-o", "jsonpath={.spec.paused}") == "true", "it stays paused"
    assert "move.nagaya.dev" not in here("get", "cluster", "first", "-o", "yaml")


BESIDE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: plugin, namespace: default}
data: {plugin.yaml: "{apiVersion: v1, kind: Namespace, metadata: {name: plugin}}"}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: plugins, namespace: default}
spec:
  clusterSelector: {matchLabels: {cluster.x-k8s.io/cluster-name: second}}
  resources: [{kind: ConfigMap, name: plugin}]
---
apiVersion: ipam.cluster.x-k8s.io/v1alpha2
kind: InClusterIPPool
metadata: {name: pool, namespace: default}
spec: {addresses: [10.0.0.10-10.0.0.20], prefix: 24}
---
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddressClaim
metadata: {name: by-hand, namespace: default, annotations: {ipam.nagaya.dev/address: 10.0.0.17}}
spec: {poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: pool}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDrainRule
metadata: {name: rule, namespace: default}
spec: {drain: {behavior: Drain, order: 5}}
"""


def test_what_stands_beside_clusters_moves_while_both_planes_run(
    servers: tuple[RunningServer, RunningServer], tool_home: Path
) -> None:
    """Controllers of the target must not make addresses and bindings that are on their way."""
    source, target = servers
    here, there = (Tool(NAGAYA.with_name("kubectl"), tool_home, each.kubeconfig, "default") for each in servers)
    words = "create cluster second --infrastructure simulated --control-plane kubeadm --workers 1 -o yaml"
    drafted = subprocess.run([NAGAYA, *words.split()], capture_output=True, text=True, check=True).stdout
    here("apply", "-f", "-", input=drafted)
    here("apply", "-f", "-", input=BESIDE)
    here("wait", "cluster/second", "--for=condition=Available", "--timeout=200s")
    here("wait", "clusterresourceset/plugins", "--for=condition=ResourcesApplied", "--timeout=200s")
    here("wait", "ipaddressclaim/by-hand", "--for=condition=Ready", "--timeout=200s")
    command = [NAGAYA, "move", "--kubeconfig", source.kubeconfig, "--to-kubeconfig", target.kubeconfig, "--yes"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    address = ("get", "ipaddresses.ipam.cluster.x-k8s.io", "by-hand", "-o", "jsonpath={.spec.address}")
    assert there(*address) == "10.0.0.17"
    there("wait", "clusterresourceset/plugins", "--for=condition=ResourcesApplied", "--timeout=200s")
    there("wait", "cluster/second", "--for=condition=Available", "--timeout=200s")
    everything = "clusterresourcesets,clusterresourcesetbindings,inclusterippools,machinedrainrules,ipaddressclaims"
    assert "move.nagaya.dev" not in there("get", everything, "-o", "yaml")
    assert "cluster.x-k8s.io/paused" not in there("get", everything, "-o", "yaml")
    assert here("get", everything, "-o", "name").strip() == ""
