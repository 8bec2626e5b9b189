"""The embedded server as a process of its own, and the unmodified tools that talk to it."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.boats import BOAT, CONFIG_MAP, DEFINITION
from support.running_server import RunningServer

TOOL_TIMEOUT = 240.0
"""Seconds for a program to end; what it is told to wait for has less, so that it says itself what did not come."""


@dataclass(slots=True)
class Tool:
    """A command line program in a namespace. Calling it returns what it printed."""

    program: Path
    home: Path
    kubeconfig: Path
    namespace: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, input: str | None = None, **environment: str) -> str:
        """Run it; fails with its own words if it does."""
        done = self.run(arguments, input, environment)
        assert done.returncode == 0, f"{self._words(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    def fails(self, *arguments: str, input: str | None = None) -> str:
        """Run it, expecting that it refuses; returns its complaint."""
        done = self.run(arguments, input)
        assert done.returncode != 0, f"{self._words(arguments)} should fail, but printed: {done.stdout}"
        return done.stderr

    def warns(self, *arguments: str, input: str | None = None) -> str:
        """Run it; returns what it printed besides its result."""
        done = self.run(arguments, input)
        assert done.returncode == 0, f"{self._words(arguments)}: {done.stderr}{done.stdout}"
        return done.stderr

    def run(
        self, arguments: Sequence[str], input: str | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run it, whatever comes of it."""
        return subprocess.run(
            [self.program, *arguments],
            input=input,
            env=self.variables(environment),
            capture_output=True,
            text=True,
            timeout=TOOL_TIMEOUT,
            check=False,
            cwd=self.home,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run it in the background; what it prints comes in a pipe."""
        return subprocess.Popen(
            [self.program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.variables(),
            cwd=self.home,
        )

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Its environment: nothing of the user's own configuration is seen or changed."""
        own = {"HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), "TZ": "UTC", "LC_ALL": "C.UTF-8"}
        return {"PATH": os.environ.get("PATH", ""), **own, **self.environment, **(more or {})}

    def object(self, *arguments: str, input: str | None = None) -> dict[str, Any]:
        """Run it with `-o yaml` and return the object it printed."""
        found: dict[str, Any] = yaml.safe_load(self(*arguments, "-o", "yaml", input=input))
        return found

    def _words(self, arguments: Sequence[str]) -> str:
        return " ".join([self.program.name, *arguments])


@pytest.fixture(scope="session")
def running_server() -> Iterator[RunningServer]:
    """One server for the session, or for each worker of it: tests keep to a namespace of their own."""
    with RunningServer() as server:
        yield server


@pytest.fixture(scope="session")
def tool_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder of the tools, where they keep their caches."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def kubectl(running_server: RunningServer, tool_home: Path, tmp_path: Path) -> Iterator[Tool]:
    """kubectl as the administrator, in a new namespace."""
    namespace = f"test-{uuid.uuid4().hex[:8]}"
    config = yaml.safe_load(running_server.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = namespace
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch(0o600)
    kubeconfig.write_text(yaml.safe_dump(config))
    tool = Tool(_installed("kubectl"), tool_home, kubeconfig, namespace)
    assert running_server.alive, f"the server has ended:\n{running_server.log}"
    tool("create", "namespace", namespace)
    yield tool
    tool("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def helm(kubectl: Tool) -> Tool:
    """Helm as the administrator, in the same namespace as kubectl."""
    return Tool(_installed("helm"), kubectl.home, kubectl.kubeconfig, kubectl.namespace)


@pytest.fixture
def settings(kubectl: Tool) -> str:
    kubectl("apply", "-f", "-", input=CONFIG_MAP)
    return "configmap/settings"


@pytest.fixture
def group(kubectl: Tool) -> Iterator[str]:
    """A group of its own with the kind Boat in it."""
    name = f"g{uuid.uuid4().hex[:8]}.example.com"
    kubectl("create", "-f", "-", input=DEFINITION.replace("$GROUP", name))
    kubectl("wait", "--for=condition=Established", f"crd/boats.{name}", "--timeout=200s")
    yield name
    kubectl("delete", "crd", f"boats.{name}", "--ignore-not-found")


@pytest.fixture
def boat(kubectl: Tool, group: str) -> str:
    kubectl("create", "-f", "-", input=BOAT.replace("$GROUP", group))
    return f"boats.{group}/swan"


def _installed(name: str) -> Path:
    program = Path(sys.prefix) / "bin" / name
    if not program.exists():
        pytest.skip(f"{name} is not installed: {program} does not exist. `make install helm` provides it.")
    return program
