"""Tenants whose control plane is real and whose machines are data: `nagaya demo`, and simulated machines."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.controllers_process import PATIENCE
from support.hosting import PROGRAMS, eventually
from support.ports import loopback_network
from support.real import installed_binaries
from support.running_server import NAGAYA, RunningServer
from support.talking import Talking

pytestmark = pytest.mark.long("waits for real Kubernetes programs, which take seconds to start and to converge")

UP = r"The tenant is up\.[\s\S]*Stop with Ctrl-C\."


class Plane:
    """The management API and its controllers, with tenants on loopback."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self.data = server.data_dir

    def command(self, *words: str) -> str:
        """What a command prints; fails the test if it fails."""
        program = NAGAYA if words[0] == "nagaya" else NAGAYA.with_name(words[0])
        done = subprocess.run(
            [program, *words[1:]],
            env={**os.environ, "KUBECONFIG": str(self.server.kubeconfig)},
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}\n{self.server.log}"
        return done.stdout

    def nodes(self, kubeconfig: Path) -> dict[str, str]:
        """The Nodes of a tenant, and whether each is Ready."""
        listed = json.loads(self.command("kubectl", f"--kubeconfig={kubeconfig}", "get", "nodes", "-o", "json"))
        return {
            each["metadata"]["name"]: next(
                one["status"] for one in each["status"]["conditions"] if one["type"] == "Ready"
            )
            for each in listed["items"]
        }


@pytest.fixture
def plane() -> Iterator[Plane]:
    installed_binaries(PROGRAMS)
    with running("--stop-tenants") as made:
        yield made


@contextmanager
def running(*more: str) -> Iterator[Plane]:
    # At an address of its own: all Nagayas choose from the same ports.
    arguments = [f"--tenants-address={loopback_network()}.1", *more]
    with RunningServer(arguments, controllers=True) as server:
        # Where `nagaya demo` looks for it, as for any other.
        (server.data_dir / "kubeconfig").symlink_to(server.kubeconfig)
        yield Plane(server)
        server.stop()


def test_the_demo_has_a_real_control_plane_is_found_again_and_goes_without_a_trace(plane: Plane) -> None:
    tenant = plane.data / "demo.kubeconfig"
    with Talking("demo", "--data-dir", str(plane.data)) as demo:
        demo.says(UP)
        assert "The tenant's control plane is real" in demo.said
        first = plane.nodes(tenant)
        assert sorted(first.values()) == ["True", "True"]
        pods = plane.command("kubectl", f"--kubeconfig={tenant}", "get", "pods", "-A", "--no-headers")
        assert re.search(r"kube-proxy-\S+ +1/1 +Running", pods)
        plane.command("kubectl", f"--kubeconfig={tenant}", "create", "configmap", "kept")
        assert demo.stop() == 0
    with Talking("demo", "--data-dir", str(plane.data)) as again:
        again.says(UP)
        assert "The 2 emulated machines of the last time went with their process" in again.said
        assert not set(first) & set(plane.nodes(tenant)), "the old ones are gone, and new ones have come"
        assert "kept" in plane.command("kubectl", f"--kubeconfig={tenant}", "get", "configmaps", "-o", "name")
        assert "The demo is gone" in plane.command("nagaya", "demo", "--delete", "--data-dir", str(plane.data))
        again.says("The demo was deleted, and its data center has ended.")
        again.stop()
    for kind in ("namespaces", "datastores", "proxmoxvirtualmachines", "clusters.cluster.x-k8s.io"):
        assert "demo" not in plane.command("kubectl", "get", kind, "-A", "-o", "name")
    hosted = plane.data / "hosted"
    assert not [*(hosted / "tenants").iterdir(), *(hosted / "stores").iterdir()]


def test_simulated_machines_join_a_hosted_control_plane(plane: Plane, tmp_path: Path) -> None:
    words = "create cluster real --infrastructure simulated --control-plane hosted --workers 2 --yes"
    plane.command("nagaya", *words.split())
    plane.command("nagaya", "describe", "cluster", "real", "--until-available", "--timeout", "120s")
    tenant = tmp_path / "tenant"
    plane.command("nagaya", "get", "kubeconfig", "real", "--to", str(tenant))
    assert sorted(plane.nodes(tenant).values()) == ["True", "True"]

    plane.server.stop()  # and the control plane with it
    plane.server.start()
    eventually(lambda: sorted(plane.nodes(tenant).values()) == ["True", "True"], "the Nodes are heard again")
    ill = plane.command("kubectl", "get", "simulatedmachines", "-o", "jsonpath={.items[0].metadata.name}")
    fault = '{"spec":{"faults":[{"stage":"Run","mode":"RuntimeDown"}]}}'
    plane.command("kubectl", "patch", "simulatedmachine", ill, "--type=merge", "-p", fault)
    eventually(lambda: plane.nodes(tenant)[ill] == "False", "the fault shows in the Node")
    plane.command("kubectl", "delete", "cluster", "real", "--timeout=120s")
    assert not plane.command("kubectl", "get", "machines", "-o", "name")


def test_what_goes_on_when_it_is_stopped_is_named() -> None:
    installed_binaries(PROGRAMS)
    with running() as plane:
        words = "create cluster real --infrastructure simulated --control-plane hosted --workers 0 --yes"
        plane.command("nagaya", *words.split())
        plane.command("nagaya", "describe", "cluster", "real", "--until-available", "--timeout", "120s")
        plane.server.stop()
        assert "Hosted control planes that go on without it: default/real. The next start finds" in plane.server.log
        plane.server.start()
        plane.command("kubectl", "delete", "cluster", "real", "--timeout=120s")
