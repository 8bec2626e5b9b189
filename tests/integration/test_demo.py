"""`nagaya demo` as users run it, without the real programs: it says so, comes up, and goes without a trace."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from support.running_server import NAGAYA
from support.talking import PATIENCE, Talking

pytestmark = pytest.mark.long("builds the tenant of the demo, finds it again and removes it")

UP = r"The tenant \(simulated\) is up\.[\s\S]*Stop with Ctrl-C\."


def talking(data: Path, *arguments: str) -> Talking:
    return Talking(*arguments, "--data-dir", str(data), "--listen", "127.0.0.1:0")


def kubectl(data: Path, *arguments: str) -> str:
    command = [NAGAYA.with_name("kubectl"), f"--kubeconfig={data / 'kubeconfig'}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def delete(data: Path) -> str:
    command = [NAGAYA, "demo", "--delete", "--data-dir", str(data), "--listen", "127.0.0.1:0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_simulated_tenant_comes_up_is_found_again_and_goes_without_a_trace(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with talking(data, "demo", "--simulated") as demo:
        demo.says(UP)
        assert "An emulated Proxmox VE of 3 hosts runs" in demo.said
        assert "The tenant is simulated, control plane and workers" in demo.said
        assert "nagaya kubernetes install" in demo.said
        assert len(re.findall(r"^demo-\S+ +Ready ", demo.said, re.MULTILINE)) == 3
        assert (data / "demo.kubeconfig").stat().st_mode & 0o777 == 0o600
        label = "jsonpath={.metadata.labels.simulated\\.nagaya\\.dev/cluster}"
        assert kubectl(data, "get", "cluster", "demo", "-n", "nagaya-demo", "-o", label) == "true"
        kubectl(data, "create", "configmap", "mine")
        second = subprocess.run(
            [NAGAYA, "demo", "--data-dir", str(data)], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert (second.returncode, "The demo runs already" in second.stderr) == (1, True)
        assert demo.stop() == 0
        assert f"Stopped. Everything is kept in {data}." in demo.said
    assert "The demo is gone. Nothing else was touched." in delete(data)
    assert sorted(each.name for each in data.iterdir() if each.name.startswith("demo")) == ["demo-was-made", "demo.log"]

    with talking(data, "up", "--demo") as again:
        again.says(r"The controllers run\.[\s\S]*Stop with Ctrl-C\.")
        assert "emulated Proxmox VE" not in again.said, "who has deleted it does not get it again"
        assert "configmap/mine" in kubectl(data, "get", "configmaps", "-o", "name")
        for kind in ("namespaces", "clusters.cluster.x-k8s.io", "proxmoxvirtualmachines", "datastores"):
            assert "demo" not in kubectl(data, "get", kind, "-A", "-o", "name")
        assert again.stop() == 0


def test_where_something_is_configured_no_demo_is_made(tmp_path: Path) -> None:
    with talking(tmp_path, "up") as plane:
        plane.says(r"Stop with Ctrl-C\.")
        made = subprocess.run(
            [
                NAGAYA,
                "create",
                "cluster",
                "own",
                "--infrastructure",
                "simulated",
                "--control-plane",
                "kubeadm",
                "--yes",
            ],
            env={**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig")},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        plane.stop()
    with talking(tmp_path, "up", "--demo") as again:
        again.says(r"The controllers run\.[\s\S]*Stop with Ctrl-C\.")
        assert "emulated" not in again.said
        again.stop()


def test_without_anything_there_is_nothing_to_delete(tmp_path: Path) -> None:
    assert "There is no demo" in delete(tmp_path / "none")
