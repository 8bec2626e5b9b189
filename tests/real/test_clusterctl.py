"""`clusterctl describe cluster`, the real one, prints the tree of a cluster that Nagaya's controllers run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from support.controllers_process import RUNNING, Controllers
from support.manifests.simulated import Simulated
from support.real import RealControlPlane, installed_binaries
from support.running_server import RunningServer
from support.upstream import upstream_binaries

pytestmark = pytest.mark.long("starts Nagaya and builds the cluster that clusterctl describes")

NAMESPACE = "clusterctl"
WORKERS = 2


@dataclass(frozen=True, slots=True)
class Tools:
    """clusterctl and kubectl, in the namespace of the cluster."""

    kubeconfig: Path
    home: Path

    def clusterctl(self, *arguments: str) -> str:
        """What clusterctl prints."""
        return self._run(upstream_binaries().path("clusterctl"), *arguments, "--namespace", NAMESPACE)

    def kubectl(self, *arguments: str, input: str = "") -> str:
        """What kubectl prints."""
        return self._run(installed_binaries().path("kubectl"), *arguments, "--namespace", NAMESPACE, input=input)

    def _run(self, program: Path, *arguments: str, input: str = "") -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "KUBECONFIG": str(self.kubeconfig),
            # It asks the internet for newer versions of itself otherwise.
            "CLUSTERCTL_DISABLE_VERSIONCHECK": "true",
        }
        done = subprocess.run(
            [program, *arguments],
            env=environment,
            input=input,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{program.name} {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout


@pytest.fixture(params=["embedded", "real"])
def tools(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tools]:
    """A management API with all of Nagaya's controllers beside it."""
    upstream_binaries()
    if request.param == "real":
        control_plane: RealControlPlane = request.getfixturevalue("real_control_plane")
        with Controllers(control_plane.kubeconfig, "--install-crds") as controllers:
            controllers.says(RUNNING)
            yield Tools(control_plane.kubeconfig, tmp_path)
    else:
        with RunningServer() as server, Controllers(server.kubeconfig, "--install-crds") as controllers:
            controllers.says(RUNNING)
            yield Tools(server.kubeconfig, tmp_path)


def test_it_prints_the_tree_of_a_cluster(tools: Tools) -> None:
    tools.kubectl("create", "namespace", NAMESPACE)
    manifests = Simulated("demo", NAMESPACE, workers=WORKERS).manifests()
    tools.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(manifests))
    tools.kubectl("wait", "--for=condition=Available", "cluster/demo", "--timeout=100s")
    machines = tools.kubectl("get", "machines", "-o", "name", "-l", "cluster.x-k8s.io/deployment-name").split()
    names = sorted(name.partition("/")[2] for name in machines)
    assert len(names) == WORKERS

    tree = _rows(tools.clusterctl("describe", "cluster", "demo", "--grouping=false"))
    assert tree[0] == "NAME REPLICAS AVAILABLE READY UP TO DATE STATUS REASON SINCE MESSAGE"
    assert tree[1:] == [
        # The control plane's machine was made by hand, so nobody says whether it is up to date.
        f"Cluster {NAMESPACE}/demo 3/3 3 3 2 True Available",
        f"SimulatedCluster {NAMESPACE}/demo True Provisioned",
        "Workers",
        f"MachineDeployment {NAMESPACE}/demo-workers, v1.36.3 2/2 2 2 2 True Available",
        *(f"Machine {NAMESPACE}/{name}, v1.36.3 1 1 1 1 True Ready" for name in names),
        "Other",
        f"Machine {NAMESPACE}/demo-control-plane-0, v1.36.3 1 1 1 0 True Ready",
    ]

    grouped = _rows(tools.clusterctl("describe", "cluster", "demo"))
    assert any(row.startswith(f"{WORKERS} Machines... {WORKERS} {WORKERS} {WORKERS} True Ready") for row in grouped)

    everything = _rows(tools.clusterctl("describe", "cluster", "demo", "--show-conditions=all", "--grouping=false"))
    begin = everything.index(f"Machine {NAMESPACE}/{names[0]}, v1.36.3 1 1 1 1")
    assert everything[begin + 1 : begin + 11] == [
        "Available True Available",
        "Ready True Ready",
        "UpToDate True UpToDate",
        "BootstrapConfigReady True DataSecretProvided",
        "InfrastructureReady True Provisioned",
        "NodeHealthy True NodeHealthy",
        "NodeReady True NodeReady",
        "Updating False NotUpdating",
        "Paused False NotPaused",
        "Deleting False NotDeleting",
    ]

    tools.kubectl("delete", "cluster", "demo", "--timeout=100s")
    assert tools.kubectl("get", "machines,simulatedmachines,simulatedclusters", "-o", "name") == ""
    tools.kubectl("delete", "namespace", NAMESPACE, "--timeout=100s")


def _rows(table: str) -> list[str]:
    """The rows of a table, without the branches of the tree and how long ago things were."""
    rows = [line.lstrip("│├└─ ").split() for line in table.splitlines()]
    return [" ".join(word for word in row if not _is_age(word)) for row in rows if row]


def _is_age(word: str) -> bool:
    return word[:-1].isdigit() and word[-1] in "smh"
