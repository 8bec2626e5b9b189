from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from nagaya.binaries.programs import CONTROL_PLANE, EXTRAS, STANDARD
from nagaya.cli.kubernetes import kubernetes
from support.fake_go import FakeGo
from support.fake_site import program_telling, put_program, script


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with every program, named in the environment, and a cache that must stay empty."""
    folder = tmp_path / "mine"
    for name in STANDARD:
        put_program(folder / name, program_telling("v1.36.3") if name != "etcd" else script("echo 3.7.3"))
    monkeypatch.setenv("NAGAYA_KUBERNETES_BIN", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_install_lists_every_program_with_version_and_path(mine: Path) -> None:
    result = CliRunner().invoke(kubernetes, ["install"])
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        [name, "v3.7.3" if name == "etcd" else "v1.36.3", str(mine / name)] for name in STANDARD
    ]
    assert "8 programs are ready" in result.stderr


def test_extras_are_provided_on_request(mine: Path) -> None:
    put_program(mine / "e2e.test", script("echo v1.36.3"))
    result = CliRunner().invoke(kubernetes, ["install", "--with", "e2e", "--verify"])
    assert result.exit_code == 0
    assert f"{mine / 'e2e.test'}" in result.stdout


def test_cluster_api_is_provided_on_request_with_its_manifests(mine: Path) -> None:
    for name in EXTRAS["cluster-api"]:
        if name.endswith(".yaml"):
            (mine / name).write_text("# v1.14.0\n")
        else:
            put_program(mine / name, script("echo v1.14.0; echo Version: v1.14.0 >&2"))
    result = CliRunner().invoke(kubernetes, ["install", "--with", "cluster-api"])
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()[len(STANDARD) :]] == [
        [name, "v1.14.0", str(mine / name)] for name in EXTRAS["cluster-api"]
    ]


def test_a_part_can_be_asked_for_alone(mine: Path) -> None:
    put_program(mine / "kine", script("echo kine version v0.14.10"))
    result = CliRunner().invoke(kubernetes, ["install", "--only", "control-plane", "--with", "kine"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == [*CONTROL_PLANE, "kine"]


def test_an_unknown_extra_is_told_without_a_traceback(mine: Path) -> None:
    result = CliRunner().invoke(kubernetes, ["install", "--with", "kino"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: nothing is called kino. There are: ")


def test_another_version_can_be_asked_for(mine: Path) -> None:
    result = CliRunner().invoke(kubernetes, ["install", "--version", "1.37.1"])
    assert result.exit_code == 1
    assert "kubelet is v1.36.3, not v1.37.1" in result.stderr


def test_a_mistake_is_told_without_a_traceback(mine: Path) -> None:
    result = CliRunner().invoke(kubernetes, ["install", "--version", "latest"])
    assert result.exit_code == 1
    assert result.stderr == "Error: 'latest' is not a Kubernetes version. Write it in full, such as v1.36.3.\n"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_build_ends_with_a_word_and_leaves_no_process_and_no_file(
    fake_go: FakeGo, sent: signal.Signals
) -> None:
    environment = {**fake_go.environment, "FAKE_GO_SLEEP": "60", "https_proxy": "http://127.0.0.1:9"}
    command = [sys.executable, "-c", "from nagaya.cli.kubernetes import kubernetes; kubernetes()", "install"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        while not (fake_go.pid_file.exists() and fake_go.pid_file.read_text()):
            time.sleep(0.01)
        process.send_signal(sent)
        _, complaints = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped. What was finished is kept; nothing half done is left." in complaints
    assert "Traceback" not in complaints
    assert not Path(f"/proc/{int(fake_go.pid_file.read_text())}").exists()
    cache = Path(fake_go.environment["XDG_CACHE_HOME"]) / "nagaya"
    assert [name for _, _, names in os.walk(cache) for name in names] == ["install.lock"]
