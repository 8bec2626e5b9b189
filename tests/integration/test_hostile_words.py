"""Commands on a management API whose every free text is an attack on the terminal of whoever looks at it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.manifests.simulated import Simulated
from support.running_server import NAGAYA, PATIENCE, RunningServer

pytestmark = pytest.mark.long("starts a server and a dozen commands, as users do")

WORDS = (
    "x\x1b[2J\x1b[31mred\x1b]52;c;aGk=\x07\x1b]8;;http://evil\x1b\\link\x9b2J\x7f\x08\r\u202eabc\u2066\u200b\u2028\x85"
    "\nDONE: everything is well\n2026-01-01 00:00:00  Cluster default/demo: Deleted [red]markup[/red] e"
    + "\u0301" * 40 + "\U000e0041"
)  # fmt: skip
CONDITIONS = ("Available", "Ready", "InfrastructureReady", "ControlPlaneAvailable", "BootstrapConfigReady", "UpToDate")
COMMANDS = [
    "describe cluster demo --show-conditions=all --no-grouping --echo",
    "timeline demo",
    "why machine/demo-1",
    "doctor",
    "plan -f FILE",
    "get clusters -o json",
]
MORE = [
    "get clusters -A",
    "get clusters -o yaml",
    "describe cluster demo",
    "describe cluster demo -o json",
    "timeline demo -o json",
    "timeline machine/demo-1",
    "events demo",
    "why cluster/demo",
    "why machine/demo-1 -o yaml",
    "doctor -o json",
    "gc --dry-run",
    "plan -f FILE -o json",
    "lint -f FILE",
    "convert -f FILE",
    "proxmox check",
]


class Desk:
    """Somebody at a shell."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self.variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
            "LC_ALL": "C.UTF-8",
        }
        self.file = home / "manifests.yaml"

    def kubectl(self, *words: str, given: object = None) -> str:
        """kubectl, which must succeed."""
        done = subprocess.run(
            [NAGAYA.with_name("kubectl"), *words],
            env=self.variables, input=json.dumps(given), capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def words(self, command: str) -> list[str]:
        """A command line."""
        return [NAGAYA.as_posix(), *(str(self.file) if word == "FILE" else word for word in command.split())]

    def on_terminal(self, command: str) -> str:
        """What a terminal gets on both of its streams."""
        ours, theirs = pty.openpty()
        environment = {**self.variables, "TERM": "xterm-256color", "COLUMNS": "140", "FORCE_COLOR": "1"}
        with subprocess.Popen(self.words(command), env=environment, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            printed = b""
            with suppress(OSError):  # how a terminal says that nobody writes any more
                while chunk := os.read(ours, 65536):
                    printed += chunk
            os.close(ours)
            process.wait(PATIENCE)
        return printed.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with RunningServer() as server:
        found = Desk(server.kubeconfig, tmp_path_factory.mktemp("home"))
        crds = subprocess.run([NAGAYA, "crds", "-o", "json"], capture_output=True, check=True).stdout
        found.kubectl("apply", "--server-side", "-f", "-", given=json.loads(crds))
        manifests = [*Simulated("demo", workers=2).manifests(), *map(machine, ("demo-1", "demo-2"))]
        for each in manifests:
            each["metadata"].setdefault("annotations", {})["note"] = WORDS
        found.file.write_text(yaml.safe_dump_all(manifests))
        for each in manifests:
            found.kubectl("create", "-f", "-", given=each)
        conditions = [
            {
                "type": name,
                "status": "False",
                "reason": "Waiting",
                "message": f"{WORDS} " + "y" * 20_000,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for name in CONDITIONS
        ]
        for resource in ("cluster", "machine", "machinedeployment", "kubeadmcontrolplane", "simulatedcluster"):
            for name in found.kubectl("get", resource, "-o", "name").split():
                patch = json.dumps({"status": {"conditions": conditions}})
                found.kubectl("patch", name, "--subresource=status", "--type=merge", "-p", patch)
        for number, about in enumerate((("Cluster", "demo"), ("Machine", "demo-1"))):
            found.kubectl("create", "-f", "-", given=happened(number, *about))
        yield found


def machine(name: str) -> dict[str, Any]:
    """A Machine whose texts are hostile."""
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimulatedMachine", "name": name}
    labels = {"cluster.x-k8s.io/cluster-name": "demo", "cluster.x-k8s.io/control-plane": ""}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "clusterName": "demo",
            "bootstrap": {"dataSecretName": "x"},
            "infrastructureRef": reference,
            "providerID": f"x://{WORDS}"[:500],
            "failureDomain": WORDS[:200],
        },
    }


def happened(number: int, kind: str, name: str) -> dict[str, Any]:
    """An Event."""
    about = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "namespace": "default", "name": name}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"e{number}", "namespace": "default"},
        "involvedObject": {**about, "fieldPath": WORDS},
        "reason": WORDS[:120],
        "message": WORDS,
        "type": "Warning",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "reportingComponent": WORDS[:60],
        "source": {"component": WORDS[:60], "host": WORDS[:60]},
        "count": 1,
    }


def unsafe(text: str) -> set[str]:
    """Characters that no terminal should get."""
    bad = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {char for char in text if char not in "\n\t" and unicodedata.category(char) in bad}


@pytest.mark.parametrize("command", [*COMMANDS, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in MORE)])
def test_nothing_that_objects_say_steers_a_terminal(desk: Desk, command: str) -> None:
    done = subprocess.run(
        desk.words(command), env=desk.variables, capture_output=True, timeout=PATIENCE, check=False
    )  # fmt: skip
    out, errors = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in errors, errors
    assert not unsafe(out), command
    assert not unsafe(errors), command
    assert not re.search(r"^(DONE|2026-01-01 00:00:00  Cluster default/demo: Deleted)", out, re.M), "a forged line"
    if command.endswith("json") and out:
        json.loads(out)
    if command.endswith("yaml") and out:
        list(yaml.safe_load_all(out))
    shown = desk.on_terminal(command)
    assert not unsafe(re.sub(r"\x1b\[[0-9;]*m", "", shown)), "only colours"
    assert "\x1b[2J" not in shown


def test_the_words_are_shown_all_the_same(desk: Desk) -> None:
    shown = desk.on_terminal("timeline demo")
    assert "\\u001b[2J" in shown
    assert "[red]markup[/red]" in shown.replace("\n", "")
