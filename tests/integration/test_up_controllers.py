"""`nagaya up` with its controllers, as users run it: one process does it all, or serves a Kubernetes elsewhere."""

from __future__ import annotations

import signal
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from integration.conftest import Tool
from support.controllers_process import PATIENCE, RUNNING, Controllers
from support.manifests.simulated import Simulated
from support.real import RealControlPlane
from support.running_server import NAGAYA, RunningServer

pytestmark = pytest.mark.long("starts Nagaya as users do, several processes one after the other")


@pytest.fixture(scope="module")
def plane() -> Iterator[RunningServer]:
    """The API and all controllers in one process."""
    with RunningServer(controllers=True) as server:
        yield server


@pytest.fixture
def plane_kubectl(plane: RunningServer, tool_home: Path) -> Tool:
    return Tool(NAGAYA.with_name("kubectl"), tool_home, plane.kubeconfig, "default")


class Elsewhere(Controllers):
    """A running `nagaya up --kubeconfig`."""

    command: Sequence[str] = ("up",)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([NAGAYA, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)


def asked(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        found: bytes = answer.read()
    return found.decode()


def test_a_cluster_comes_up_with_nothing_else_running(plane: RunningServer, plane_kubectl: Tool) -> None:
    plane_kubectl("apply", "-f", "-", input=yaml.safe_dump_all(Simulated("whole", workers=1).manifests()))
    plane_kubectl("wait", "--for=condition=Available", "cluster/whole", "--timeout=200s")
    plane_kubectl("delete", "cluster", "whole", "--timeout=200s")


def test_it_says_what_to_type_next_and_where_its_health_is(plane: RunningServer) -> None:
    assert f"export KUBECONFIG={plane.kubeconfig}" in plane.log
    assert "nagaya create cluster" in plane.log
    assert "Stop with Ctrl-C." in plane.log
    where = next(word for word in plane.log.split() if word.startswith("http://"))
    assert asked(f"{where}/healthz").strip() == "ok"
    assert asked(f"{where}/readyz").strip() == "ok"
    assert "controller_runtime_reconcile_total" in asked(f"{where}/metrics")


def test_a_second_set_of_controllers_is_refused(plane: RunningServer) -> None:
    refused = run("controllers", "--kubeconfig", str(plane.kubeconfig))
    assert refused.returncode == 1
    assert f"in the process of the management API itself (process {plane.pid} on " in refused.stderr
    assert "nagaya up --without-controllers" in refused.stderr


def test_a_plan_tells_which_programs_are_missing_on_the_same_machine(plane: RunningServer, tmp_path: Path) -> None:
    file = tmp_path / "plane.yaml"
    content = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1",
        "kind": "HostedControlPlane",
        "metadata": {"name": "new"},
        "spec": {"version": "v1.36.99"},
    }
    file.write_text(yaml.safe_dump(content))
    told = run("plan", "-f", str(file), "--kubeconfig", str(plane.kubeconfig))
    assert told.returncode == 0, told.stderr
    assert "HostedControlPlane default/new needs programs of Kubernetes v1.36.99 that are not on this" in told.stdout
    assert "Provide the programs: `nagaya kubernetes install --version v1.36.99 --only control-plane" in told.stdout


def test_it_ends_in_order_and_finds_everything_again_with_and_without_controllers() -> None:
    with RunningServer(controllers=True) as server:
        server.stop()
        assert server.log.splitlines()[-2:] == ["Stopping ...", f"Stopped. Everything is kept in {server.data_dir}."]
        assert "WARNING" not in server.log
        server.start()
        server.kill()  # as a power cut would
        server.start()
        server.kill()
        with RunningServer(["--data-dir", str(server.data_dir)]) as alone, Controllers(alone.kubeconfig) as controllers:
            controllers.says(RUNNING)
            assert controllers.stop()[0] == 0


@pytest.mark.parametrize("kind", ["embedded", "real"])
def test_with_a_kubeconfig_it_serves_a_kubernetes_elsewhere(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path
) -> None:
    api: RunningServer | RealControlPlane
    api = request.getfixturevalue("running_server" if kind == "embedded" else "real_control_plane")
    data = f"--data-dir={tmp_path}"
    with Elsewhere(api.kubeconfig, data) as first:
        where = first.says(r"Health and metrics are at (http://\S+)")[1]
        first.says("Installed the definitions of core")
        first.says(RUNNING)
        assert asked(f"{where}/readyz").strip() == "ok"
        with Elsewhere(api.kubeconfig, data) as second:
            second.says("has the lease default/nagaya-controllers. Waiting for it.")
            assert first.stop(signal.SIGTERM)[0] == 0
            second.says(RUNNING)
            assert second.stop()[0] == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--kubeconfig=/none", "--listen=:0"), "leave out --listen."),
        (("--kubeconfig=/none", "--without-controllers"), "leave out --without-controllers."),
        (("--context=a",), "--context goes with --kubeconfig."),
        (("--without-controllers", "--health=:0"), "--without-controllers runs none: leave out --health."),
        (("--tenants-address=0.0.0.0",), "is no address that clients can connect to"),
    ],
)
def test_options_that_do_not_go_together_are_told(arguments: Sequence[str], told: str) -> None:
    refused = run("up", *arguments)
    assert refused.returncode == 2
    assert told in " ".join(refused.stderr.split())
