"""`nagaya controllers` as users run it: what it says, what it waits for, and how it stops."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.conftest import Tool
from support.controllers_process import RUNNING, Controllers
from support.ports import free_ports
from support.real import RealControlPlane
from support.running_server import NAGAYA, RunningServer

pytestmark = pytest.mark.long("starts Nagaya as users do, several processes one after the other")

PROMPT = 40.0
"""Seconds in which a process stops on a machine that is busy with other things; a calm one needs one. What it must not
wait for does not come in that time either."""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """An embedded server that knows Nagaya's kinds."""
    with RunningServer() as server, Controllers(server.kubeconfig, "--install-crds") as controllers:
        controllers.says(RUNNING)
        controllers.stop()
        yield server


@pytest.fixture
def empty() -> Iterator[RunningServer]:
    """An embedded server that knows nothing yet."""
    with RunningServer() as server:
        yield server


@pytest.fixture
def real_kubectl(real_control_plane: RealControlPlane, tmp_path: Path) -> Tool:
    return Tool(real_control_plane.kubectl, tmp_path, real_control_plane.kubeconfig, "default")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_what_it_runs_and_stops_when_told(server: RunningServer, number: signal.Signals) -> None:
    with Controllers(server.kubeconfig, "--only=core,addons") as controllers:
        controllers.says(f"Running core, addons against {server.url}. Stop with Ctrl-C.")
        code, seconds = controllers.stop(number)
        assert (code, controllers.said.splitlines()[-2:]) == (0, ["Stopping ...", "Stopped."])
        assert seconds < PROMPT


def test_an_api_that_is_away_is_waited_for(empty: RunningServer) -> None:
    empty.kill()
    with Controllers(empty.kubeconfig, "--only=core", "--install-crds") as controllers:
        controllers.says(rf"Waiting for the management API\. .*{empty.url} cannot be reached")
        empty.start()
        controllers.says(RUNNING)
        assert "The management API answers." in controllers.said
        assert "Installed the definitions of core." in controllers.said
        assert controllers.stop()[0] == 0
        assert "WARNING" not in controllers.said


@pytest.mark.parametrize("arguments", [(), ("--install-crds",), ("--leader-elect",), ("--admission=127.0.0.1:0",)])
def test_it_stops_at_once_while_it_waits_for_an_api(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with Controllers(_nowhere(tmp_path), "--only=core", *arguments) as controllers:
        controllers.says("Waiting for the management API")
        code, seconds = controllers.stop()
        assert code == 0
        assert seconds < PROMPT


@pytest.mark.parametrize(
    ("arguments", "sign"),
    [
        ((), "cannot be followed"),
        # It has ten seconds from its last renewal until it ends by itself, rightly: the first that fails is the sign.
        (("--leader-elect",), "the lease default/nagaya-controllers cannot be had"),
    ],
)
def test_it_stops_at_once_when_the_api_went_away_under_it(
    server: RunningServer, arguments: tuple[str, ...], sign: str
) -> None:
    with Controllers(server.kubeconfig, "--only=core", "--admission=127.0.0.1:0", *arguments) as controllers:
        controllers.says(RUNNING)
        with server.away():
            controllers.says(sign)
            code, seconds = controllers.stop()
    assert code == 0
    assert seconds < 2 * PROMPT
    assert "kubectl delete validatingwebhookconfiguration nagaya" in controllers.said
    with Controllers(server.kubeconfig, "--only=core", "--admission=127.0.0.1:0") as again:
        again.says(RUNNING)
        assert again.stop()[0] == 0
        assert "kubectl delete" not in again.said


def test_kinds_that_are_missing_are_named_and_waited_for(empty: RunningServer, tool_home: Path) -> None:
    kubectl = Tool(NAGAYA.with_name("kubectl"), tool_home, empty.kubeconfig, "default")
    with Controllers(empty.kubeconfig, "--only=core") as controllers:
        controllers.says(r"does not have: clusters\.cluster\.x-k8s\.io, machinedeployments\.")
        command = "nagaya crds --only core"
        controllers.says(rf"{command} \| kubectl apply --server-side -f -")
        printed = subprocess.run([NAGAYA, *command.split()[1:]], capture_output=True, text=True, check=True).stdout
        kubectl("apply", "--server-side", "-f", "-", input=printed)
        controllers.says("The management API has all kinds now.")
        controllers.says(RUNNING)
        assert controllers.stop()[0] == 0


def test_definitions_of_others_are_left_alone(empty: RunningServer, tool_home: Path) -> None:
    kubectl = Tool(NAGAYA.with_name("kubectl"), tool_home, empty.kubeconfig, "default")
    printed = subprocess.run([NAGAYA, "crds", "--only=core"], capture_output=True, text=True, check=True).stdout
    theirs = printed.replace("- ms\n", "- theirs\n")
    assert theirs != printed
    kubectl("apply", "--server-side", "-f", "-", input=theirs)
    with Controllers(empty.kubeconfig, "--only=core", "--install-crds") as controllers:
        controllers.says(r"(?s)Error: the definitions are somebody else's: .*without --install-crds")
    with Controllers(empty.kubeconfig, "--only=core") as controllers:
        controllers.says(RUNNING)
    kept = kubectl.object("get", "crd", "machinesets.cluster.x-k8s.io")
    assert kept["spec"]["names"]["shortNames"] == ["theirs"]


def test_health_is_told_where_it_was_asked_for(server: RunningServer) -> None:
    with Controllers(server.kubeconfig, "--only=core", "--health=127.0.0.1:0") as controllers:
        where = controllers.says(r"Health and metrics are at (http://\S+)")[1]
        controllers.says(RUNNING)
        assert _ask(f"{where}/healthz") == (200, "ok")
        assert _ask(f"{where}/readyz") == (200, "ok")
        assert "# HELP " in _ask(f"{where}/metrics")[1]
        with server.away():
            controllers.says("cannot be followed")
            assert _ask(f"{where}/healthz") == (200, "ok")
            code, text = _ask(f"{where}/readyz")
        assert code == 503
        assert "cannot be followed" in text


def test_a_port_that_is_taken_is_named(server: RunningServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Controllers(server.kubeconfig, f"--health=127.0.0.1:{port}") as controllers:
            controllers.says(rf"Error: cannot listen on 127\.0\.0\.1:{port} for --health: ")


@pytest.mark.parametrize("kind", ["embedded", "real"])
def test_of_two_replicas_one_works_and_the_other_takes_over(
    request: pytest.FixtureRequest, kind: str, tool_home: Path
) -> None:
    api: RunningServer | RealControlPlane
    api = request.getfixturevalue("server" if kind == "embedded" else "real_control_plane")
    kubectl = Tool(NAGAYA.with_name("kubectl"), tool_home, api.kubeconfig, "default")
    holder = ("get", "lease", "nagaya-controllers", "-n", "default", "-o", "jsonpath={.spec.holderIdentity}")
    with Controllers(api.kubeconfig, "--only=core", "--install-crds", "--leader-elect") as first:
        first.says(RUNNING)
        with Controllers(api.kubeconfig, "--only=core", "--leader-elect", "--health=127.0.0.1:0") as second:
            where = second.says(r"Health and metrics are at (http://\S+)")[1]
            second.says("has the lease default/nagaya-controllers. Waiting for it.")
            assert _eventually_ok(f"{where}/readyz"), "whoever waits for its turn is ready"
            leader = kubectl(*holder)
            assert leader
            first.stop(signal.SIGTERM)
            assert kubectl(*holder) != leader, "whoever stops lets go of the lease, so that nobody waits for its end"
            second.says(RUNNING)
            assert second.stop()[0] == 0


@pytest.mark.parametrize("kind", ["embedded", "real"])
def test_only_chosen_namespaces_and_labelled_objects_are_looked_after(
    request: pytest.FixtureRequest, kind: str, tool_home: Path
) -> None:
    kubectl: Tool
    if kind == "embedded":
        api: RunningServer | RealControlPlane = request.getfixturevalue("server")
        kubectl = Tool(NAGAYA.with_name("kubectl"), tool_home, api.kubeconfig, "default")
    else:
        api = request.getfixturevalue("real_control_plane")
        kubectl = request.getfixturevalue("real_kubectl")
    namespaces = ("team-a", "team-b", "team-c")
    arguments = ("--only=core", "--install-crds", "--namespace=team-a,team-b", "--watch-filter=nagaya")
    with Controllers(api.kubeconfig, *arguments) as controllers:
        controllers.says(RUNNING)
        for namespace in namespaces:
            kubectl("create", "namespace", namespace)
        for namespace in reversed(namespaces):
            for name, filter in (("theirs", "others"), ("nobodys", ""), ("ours", "nagaya")):
                kubectl("create", "-f", "-", input=yaml.safe_dump(_cluster(namespace, name, filter)))
        for namespace in ("team-a", "team-b"):
            where = ("cluster.cluster.x-k8s.io/ours", "--namespace", namespace)
            kubectl("wait", *where, "--for=jsonpath={.status.phase}=Provisioning", "--timeout=200s")
        assert controllers.stop()[0] == 0
    assert "WARNING" not in controllers.said
    found = kubectl.object("get", "clusters.cluster.x-k8s.io", "--all-namespaces")["items"]
    held = {f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["metadata"] for each in found}
    assert len(held) == 9
    assert {name for name, each in held.items() if each.get("finalizers")} == {"team-a/ours", "team-b/ours"}
    for name in ("team-a/ours", "team-b/ours"):
        namespace, cluster = name.split("/")
        gone = '{"metadata": {"finalizers": null}}'
        kubectl("patch", "cluster.cluster.x-k8s.io", cluster, "-n", namespace, "--type=merge", "-p", gone)
    for namespace in namespaces:
        kubectl("delete", "namespace", namespace, "--wait=false")


def test_defaults_and_checks_hold_on_a_real_server_while_it_runs(
    real_control_plane: RealControlPlane, real_kubectl: Tool
) -> None:
    arguments = ("--only=core", "--install-crds", "--admission=127.0.0.1:0")
    with Controllers(real_control_plane.kubeconfig, *arguments) as controllers:
        controllers.says(RUNNING)
        refused = real_kubectl.fails("create", "-f", "-", input=yaml.safe_dump(_deployment(selects="others")))
        assert "spec.template.metadata.labels" in refused
        made = real_kubectl.object("create", "--dry-run=server", "-f", "-", input=yaml.safe_dump(_deployment()))
        assert made["spec"]["rollout"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
        assert made["spec"]["selector"]["matchLabels"]["cluster.x-k8s.io/cluster-name"] == "absent"
        assert controllers.stop()[0] == 0
    configurations = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    assert "nagaya" not in real_kubectl("get", configurations, "-o", "name")
    real_kubectl("create", "--dry-run=server", "-f", "-", input=yaml.safe_dump(_deployment(selects="others")))


def _cluster(namespace: str, name: str, filter: str) -> dict[str, Any]:
    labels = {"cluster.x-k8s.io/watch-filter": filter} if filter else {}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "spec": {"infrastructureRef": {"apiGroup": "example.com", "kind": "Host", "name": "absent"}},
    }


def _deployment(selects: str = "own") -> dict[str, Any]:
    machine = {
        "clusterName": "absent",
        "bootstrap": {"dataSecretName": "boot"},
        "infrastructureRef": {"apiGroup": "example.com", "kind": "Host", "name": "host"},
    }
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {"name": "workers", "namespace": "default"},
        "spec": {
            "clusterName": "absent",
            "selector": {"matchLabels": {"workers": selects}},
            "template": {"metadata": {"labels": {"workers": "own"}}, "spec": machine},
        },
    }


def _nowhere(folder: Path) -> Path:
    """A kubeconfig that leads to a port where nobody listens."""
    [port] = free_ports(1)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "nowhere",
        "contexts": [{"name": "nowhere", "context": {"cluster": "nowhere", "user": "nobody"}}],
        "clusters": [{"name": "nowhere", "cluster": {"server": f"https://127.0.0.1:{port}"}}],
        "users": [{"name": "nobody", "user": {"token": "none"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def _eventually_ok(url: str) -> bool:
    deadline = time.monotonic() + PROMPT
    while time.monotonic() < deadline:
        if _ask(url) == (200, "ok"):
            return True
        time.sleep(0.1)
    return False


def _ask(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=PROMPT) as answer:
            return answer.status, answer.read().decode().strip()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode().strip()
