"""`clusterctl move`, the real one, between management APIs that lead to the same data center: its VMs go over to the
other one, and nobody destroys them, whatever is left at the source.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nagaya.infrastructure.proxmox.virtual_machine.marker import read
from support.controllers_process import PATIENCE, RUNNING, Controllers
from support.ports import loopback_network
from support.proxmox_commands import Desk, desk
from support.real import CONTROLLERS, RealControlPlane, installed_binaries
from support.running_server import NAGAYA, RunningServer
from support.upstream import upstream_binaries

pytestmark = pytest.mark.long("moves a cluster with clusterctl between running management APIs")

VERSION = "v1.36.3"


@dataclass(frozen=True, slots=True)
class Plane:
    """A management API with all controllers, and a user at it."""

    name: str
    kubeconfig: Path
    table: Desk

    def run(self, *words: str, given: str = "") -> str:
        """What a command prints; it has to succeed."""
        program = words[0]
        path = {"nagaya": NAGAYA, "kubectl": NAGAYA.with_name("kubectl")}.get(program)
        done = subprocess.run(
            [path or upstream_binaries().path(program), *words[1:]],
            env={
                **os.environ,
                "HOME": str(self.table.folder),
                "KUBECONFIG": str(self.kubeconfig),
                "CLUSTERCTL_DISABLE_VERSIONCHECK": "true",
            },
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{self.name}: {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def objects(self, kind: str) -> list[dict[str, Any]]:
        found: dict[str, Any] = json.loads(self.run("kubectl", "get", kind, "-A", "-o", "json"))
        items: list[dict[str, Any]] = found["items"]
        return items

    def connect(self) -> None:
        """Make a connection, or again after it has moved."""
        words = ("proxmox", "connect", self.table.url, "--password-file", str(self.table.password), "--wait", "1")
        self.run("nagaya", *words, "--insecure", "an emulator", "--yes")

    def collected(self) -> list[str]:
        """What `nagaya gc --yes` has removed."""
        # 7: something could not be looked at, which is no matter here.
        done = subprocess.run(
            [NAGAYA, "gc", "--yes", "-o", "json", "--kubeconfig", self.kubeconfig],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 7), done.stdout + done.stderr
        return [each["what"] for each in json.loads(done.stdout)["leftovers"]]

    def reservations(self) -> dict[int, str]:
        """The machines that have VMIDs."""
        found = self.objects("proxmoxvirtualmachines")
        return {each["spec"]["vmid"]: each["spec"]["name"] for each in found}

    def machines(self) -> dict[int, str]:
        found = self.objects("proxmoxmachines")
        return {each["spec"].get("virtualMachineID", 0): each["metadata"]["name"] for each in found}

    def is_well(self) -> bool:
        """Whether the cluster is looked after here, and its machines are those of the reservations."""
        clusters = self.objects("clusters.cluster.x-k8s.io")
        conditions = [one for each in clusters for one in each["status"].get("conditions", ())]
        available = [each["status"] for each in conditions if each["type"] == "Available"]
        return available == ["True"] and self.machines().items() <= self.reservations().items()

    def story(self) -> str:
        """For a test that waits in vain."""
        kinds = "clusters.cluster.x-k8s.io,machines,proxmoxmachines,proxmoxvirtualmachines"
        machines = self.objects("proxmoxmachines")
        conditions = [one for each in machines for one in each.get("status", {}).get("conditions", ())]
        told = [f"{each['type']}={each['status']} {each.get('message')}" for each in conditions]
        return self.run("kubectl", "get", kinds, "-A") + "\n".join(told)

    @property
    def identity(self) -> str:
        return self.run("kubectl", "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}")

    def addresses(self) -> dict[str, str]:
        return {
            each["metadata"]["name"]: each["spec"]["address"]
            for each in self.objects("ipaddresses.ipam.cluster.x-k8s.io")
        }

    def claims(self) -> set[str]:
        return {each["metadata"]["name"] for each in self.objects("ipaddressclaims")}


def eventually(check: Callable[[], Any], what: str, plane: Plane) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < end, f"not yet: {what}\n{plane.story()}"
        time.sleep(0.5)
    return found


def ask(table: Desk, path: str) -> Any:
    """What Proxmox VE answers root."""
    command = ["curl", "-sk", "-H", f"Authorization: PVEAPIToken={table.token}", f"{table.url}/api2/json{path}"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE).stdout)["data"]


def vms(table: Desk) -> dict[int, tuple[str, str]]:
    """Where each VM is, and its UUID; all of them run."""
    rows = [each for each in ask(table, "/cluster/resources?type=vm") if not each.get("template")]
    return {each["vmid"]: (each["node"], config(table, each)["smbios1"]) for each in rows if running(table, each)}


def running(table: Desk, row: dict[str, Any]) -> bool:
    found = ask(table, f"/nodes/{row['node']}/qemu/{row['vmid']}/status/current")
    return bool(found["status"] == "running")


def config(table: Desk, row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = ask(table, f"/nodes/{row['node']}/qemu/{row['vmid']}/config")
    return found


def owners(table: Desk) -> set[str]:
    """The management APIs that VMs say have them."""
    rows = [each for each in ask(table, "/cluster/resources?type=vm") if not each.get("template")]
    known = [read(config(table, each)["description"]) for each in rows]
    return {each.plane for each in known if each is not None}


@contextmanager
def planes(kinds: tuple[str, str], folder: Path) -> Iterator[tuple[Desk, Plane, Plane]]:
    """A data center, and two management APIs with all controllers."""
    upstream_binaries()
    with ExitStack() as stack:
        table = stack.enter_context(desk(folder, "--boot", "simulated"))
        made: list[Plane] = []
        for number, kind in enumerate(kinds):
            if kind == "embedded":
                server = stack.enter_context(RunningServer(controllers=True))
                kubeconfig = server.kubeconfig
            else:
                real = stack.enter_context(RealControlPlane(installed_binaries(), controllers=CONTROLLERS))
                kubeconfig = real.kubeconfig
                stack.enter_context(Controllers(kubeconfig, "--install-crds")).says(RUNNING)
            made.append(Plane(f"{kind} {number}", kubeconfig, table))
        yield table, made[0], made[1]


def is_released(plane: Plane) -> bool:
    return plane.reservations() == {}


def grow(plane: Plane, replicas: int) -> None:
    plane.run("kubectl", "scale", "machinedeployment", "shop-workers", f"--replicas={replicas}")
    eventually(lambda: len(plane.machines()) == replicas + 1 and plane.is_well(), f"{replicas} workers", plane)


@pytest.mark.parametrize(
    ("kinds", "moves"),
    [
        pytest.param(("embedded", "embedded"), 2, id="there and back"),
        pytest.param(("embedded", "embedded"), 4, id="twice", marks=pytest.mark.exhaustive),
        pytest.param(("embedded", "real"), 4, id="to a real API server and back, twice", marks=pytest.mark.exhaustive),
        pytest.param(("real", "embedded"), 4, id="from a real one and back, twice", marks=pytest.mark.exhaustive),
    ],
)
def test_vms_go_over_with_their_cluster_and_no_gc_destroys_them(
    kinds: tuple[str, str], moves: int, tmp_path: Path
) -> None:
    with planes(kinds, tmp_path) as (table, first, second):
        for each in (first, second):
            each.connect()
        where = ("--addresses", "10.0.0.20-10.0.0.39", "--gateway", "10.0.0.1", "--dns", "10.0.0.1")
        words = ("--infrastructure", "proxmox", "--control-plane", "kubeadm", "--workers", "1", "--version", VERSION)
        endpoint = f"{loopback_network()}.10"  # the simulated cluster answers there
        first.run("nagaya", "create", "cluster", "shop", *words, *where, "--endpoint", endpoint, "--yes")
        eventually(first.is_well, "the cluster", first)
        grow(first, 2)
        source, target = first, second
        for number in range(moves):
            before, addresses = vms(table), source.addresses()
            assert len(before) == len(source.machines())
            # The target has a connection of the same name already; the source gets one again.
            source.run("clusterctl", "move", "--to-kubeconfig", str(target.kubeconfig), "--namespace", "default")
            source.connect()
            assert source.collected() == [], "right after the move"
            eventually(target.is_well, f"the cluster at {target.name}", target)
            assert (source.collected(), target.collected()) == ([], [])
            assert vms(table) == before
            assert owners(table) == {target.identity}
            assert (target.addresses(), target.claims()) == (addresses, set(addresses))
            assert (source.addresses(), source.machines()) == ({}, {})
            # VMIDs are used again while the source may still have reservations of them.
            grow(target, 1)
            grow(target, 2 + number % 2)
            assert source.collected() == target.collected() == []
            if moves > 2:
                eventually(partial(is_released, source), "the reservations to be released", source)
            source, target = target, source
        source.run("kubectl", "delete", "cluster", "shop", "--timeout=200s")
        eventually(lambda: vms(table) == {}, "all VMs to go", source)
        assert source.machines() == {}
        assert source.collected() == target.collected() == []
