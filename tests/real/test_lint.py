"""The linter's verdicts against the real scheduler: what it calls unschedulable stays Pending, and what it lets pass
gets a node; for whole manifests, and for taints and tolerations of every kind."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from nagaya.binaries.installer import Binaries
from nagaya.cloud.lint.finding import Severity
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.taints import Taint, Toleration, read_tolerations, untolerated
from nagaya.cloud.lint.workload import Workload
from support.real import CONTROL_PLANE, CONTROLLERS, RealControlPlane, installed_binaries
from support.real_processes import Processes
from unit.cloud.lint.building import Cluster, Raw

PATIENCE = 120.0
LABEL = "node-role.kubernetes.io/control-plane"
NEW_NODE = [
    {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
    {"key": LABEL, "effect": "NoSchedule"},
]


@pytest.fixture(scope="module")
def binaries() -> Binaries:
    return installed_binaries((*CONTROL_PLANE, "kube-scheduler"))


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[RealControlPlane]:
    workloads = ("deployment-controller", "replicaset-controller", "daemonset-controller")
    with RealControlPlane(binaries, controllers=(*CONTROLLERS, *workloads)) as plane:
        processes = Processes("nagaya-scheduler-")
        try:
            processes.start(
                "kube-scheduler",
                [
                    binaries.path("kube-scheduler"),
                    f"--kubeconfig={plane.kubeconfig}",
                    "--leader-elect=false",
                    "--secure-port=0",
                ],
            )
            yield plane
        finally:
            processes.close()


def ask(plane: RealControlPlane, method: str, path: str, body: Raw | None = None) -> Raw:
    host, _, port = plane.url.removeprefix("https://").partition(":")
    connection = http.client.HTTPSConnection(host, int(port), timeout=60, context=plane.admin_ssl_context())
    try:
        headers = {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        content: Raw = json.loads(response.read())
        assert response.status < 300, content
        return content
    finally:
        connection.close()


def make_node(plane: RealControlPlane, name: str, taints: list[Raw], labels: dict[str, str]) -> None:
    labels = {**labels, "kubernetes.io/hostname": name}
    ask(plane, "POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}})
    room = {"cpu": "8", "memory": "8Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room}
    ask(plane, "PATCH", f"/api/v1/nodes/{name}/status", {"status": status})
    # Admission adds the taint of nodes that are not ready; the test says itself which ones there are.
    ask(plane, "PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": taints}})


def make_namespace(plane: RealControlPlane, name: str) -> None:
    ask(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts"
    eventually(lambda: bool(ask(plane, "GET", account)["items"]), f"the service account of {name}")


def eventually(check: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE:g} s"
        time.sleep(0.1)


def verdict(pod: Raw) -> str:
    """What the scheduler has decided of a pod: the node, Unschedulable, or nothing yet."""
    if node := pod["spec"].get("nodeName"):
        return str(node)
    conditions = pod["status"].get("conditions", ())
    return next((str(each.get("reason")) for each in conditions if each["type"] == "PodScheduled"), "")


def decided(plane: RealControlPlane, namespace: str, count: int) -> list[Raw]:
    """The pods of a namespace, after the scheduler has looked at each."""
    found: list[Raw] = []

    def all_of_them() -> bool:
        found[:] = ask(plane, "GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
        return len(found) == count and all(map(verdict, found))

    eventually(all_of_them, f"{count} pods in {namespace}")
    return found


def deploy(plane: RealControlPlane, deployment: Raw, namespace: str) -> None:
    make_namespace(plane, namespace)
    spec = deployment["spec"]
    pod = spec["template"]["spec"]
    pod["containers"][0]["image"] = "registry.example/ccm:v1"  # no kubelet is there to pull it
    for name in ("serviceAccountName", "priorityClassName", "volumes"):
        pod.pop(name, None)
    pod["containers"][0].pop("volumeMounts", None)
    body = {"metadata": {"name": deployment["metadata"]["name"]}, "spec": {**spec, "replicas": 1}}
    ask(plane, "POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", body)


@pytest.mark.long("waits for the real scheduler and its back-off")
def test_the_flagged_deployment_stays_pending_and_the_mended_one_gets_a_node(plane: RealControlPlane) -> None:
    make_node(plane, "new-control-plane", NEW_NODE, {LABEL: ""})
    flagged, mended = Cluster("article-deployment"), Cluster()
    assert flagged.only("L4").severity is Severity.ERROR
    assert mended.said() == []

    deploy(plane, flagged.cloud, "flagged")
    deploy(plane, mended.cloud, "mended")

    (pending,) = decided(plane, "flagged", 1)
    (bound,) = decided(plane, "mended", 1)
    (condition,) = [each for each in pending["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert verdict(pending) == "Unschedulable"
    assert LABEL in condition["message"] or "untolerated taint" in condition["message"]
    assert verdict(bound) == "new-control-plane"
    ask(plane, "DELETE", "/api/v1/nodes/new-control-plane")


@pytest.mark.parametrize("missing", [each["key"] for each in NEW_NODE])
def test_each_toleration_that_is_missed_is_one_that_the_scheduler_misses(plane: RealControlPlane, missing: str) -> None:
    node, namespace = f"node-{missing.rpartition('/')[2]}", f"without-{missing.rpartition('/')[2]}"
    make_node(plane, node, NEW_NODE, {LABEL: "", "test": namespace})
    cluster = Cluster()
    cluster.tolerate_less(missing)
    assert [each.subject.partition("=")[0].partition(":")[0] for each in cluster.findings()] == [missing]
    cluster.pod["nodeSelector"]["test"] = namespace

    deploy(plane, cluster.cloud, namespace)

    (pod,) = decided(plane, namespace, 1)
    assert verdict(pod) == "Unschedulable"
    ask(plane, "DELETE", f"/api/v1/nodes/{node}")


@pytest.mark.parametrize(("kind", "host_network"), [("Deployment", True), ("DaemonSet", True), ("DaemonSet", False)])
def test_kubernetes_adds_the_tolerations_that_are_counted_on(
    plane: RealControlPlane, kind: str, host_network: bool
) -> None:
    namespace = f"added-{kind}-{host_network}".lower()
    make_namespace(plane, namespace)
    make_node(plane, namespace, [], {"test": namespace})
    own = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}]
    spec = {
        "hostNetwork": host_network,
        "nodeSelector": {"test": namespace},
        "tolerations": own,
        "containers": [{"name": "c", "image": "registry.example/c:v1"}],
    }
    template = {"metadata": {"labels": {"app": "some"}}, "spec": spec}
    body = {"metadata": {"name": "some"}, "spec": {"selector": {"matchLabels": {"app": "some"}}, "template": template}}
    expected = Workload(Manifest({**body, "kind": kind})).tolerations

    ask(plane, "POST", f"/apis/apps/v1/namespaces/{namespace}/{kind.lower()}s", body)

    (pod,) = decided(plane, namespace, 1)
    assert set(read_tolerations(pod["spec"]["tolerations"])) == set(expected)
    ask(plane, "DELETE", f"/api/v1/nodes/{namespace}")


_TAINTS = [
    Taint("a", "NoSchedule", "x"),
    Taint("a", "NoSchedule"),
    Taint("a", "NoExecute", "x"),
    Taint("a", "PreferNoSchedule", "x"),
]
_TOLERATIONS = [
    Toleration(key, operator, value, effect)
    for key, operator, value, effect in product(
        ("", "a", "b"), ("", "Equal", "Exists"), ("", "x"), ("", "NoSchedule", "NoExecute")
    )
    # What the API refuses: no key without Exists, and Exists with a value.
    if (key or operator == "Exists") and not (operator == "Exists" and value)
]


@pytest.mark.long("waits for the real scheduler and its back-off")
def test_taints_and_tolerations_are_matched_as_the_real_scheduler_does(plane: RealControlPlane) -> None:
    make_namespace(plane, "table")
    expected: dict[str, bool] = {}
    for number, taint in enumerate(_TAINTS):
        raw = {"key": taint.key, "effect": taint.effect, "value": taint.value}
        make_node(plane, f"table-{number}", [raw], {"table": str(number)})
        for index, toleration in enumerate(_TOLERATIONS):
            name = f"pod-{number}-{index}"
            expected[name] = not untolerated([taint], [toleration])
            ask(plane, "POST", "/api/v1/namespaces/table/pods", _pod(name, str(number), toleration))

    found = decided(plane, "table", len(expected))

    assert {each["metadata"]["name"]: verdict(each) != "Unschedulable" for each in found} == expected
    assert set(expected.values()) == {True, False}


def _pod(name: str, node: str, toleration: Toleration) -> dict[str, Any]:
    own = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    return {
        "metadata": {"name": name},
        "spec": {
            "nodeSelector": {"table": node},
            "tolerations": [{key: value for key, value in own.items() if value}],
            "containers": [{"name": "c", "image": "registry.example/c:v1"}],
        },
    }
