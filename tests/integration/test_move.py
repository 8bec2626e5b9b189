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
        done = subprocess.run([*command, "-o", "json", *more], capture_output=True, text=True, check=False, timeout=100)
        assert done.returncode == code, done.stdout + done.stderr
        said: dict[str, object] = json.loads(done.stdout)
        return said

    assert move("--yes") == {"moved": False, "objects": [], "unfinished": [], "problems": []}

    words = "create cluster first --infrastructure simulated --control-plane kubeadm --workers 1 -o yaml"
    drafted = subprocess.run([NAGAYA, *words.split()], capture_output=True, text=True, check=True).stdout
    here("apply", "-f", "-", input=drafted)
    here("patch", "md/first-workers", "--type=merge", '-p={"spec": {"paused": true}}')
    here("wait", "cluster/first", "--for=condition=ControlPlaneInitialized", "--timeout=50s")
    here("patch", "cluster/first", "--type=merge", '-p={"spec": {"paused": true}}')
    refused = move("--yes", code=1)
    assert refused["moved"] is False
    assert "is paused by somebody else" in str(refused["problems"])

    here("patch", "cluster/first", "--type=merge", '-p={"spec": {"paused": false}}')
    here("patch", "md/first-workers", "--type=merge", '-p={"spec": {"paused": false}}')
    here("wait", "cluster/first", "--for=condition=Available", "--timeout=50s")
    planned = move("--dry-run")
    assert (planned["problems"], planned["moved"]) == ([], False)
    objects = planned["objects"]
    assert isinstance(objects, list)
    assert {"kind": "Cluster", "namespace": "default", "name": "first", "round": 1} in objects

    done = move("--yes")
    assert (done["moved"], len(str(done["objects"]))) == (True, len(str(objects)))
    assert here("get", "clusters,machines,secrets", "-o", "name").strip() == ""
    there("wait", "cluster/first", "--for=condition=Available", "--timeout=50s")
