"""client-go, unmodified: the library that nearly every program for Kubernetes is made of."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.conftest import Tool
from support.go_program import GO_CLIENT, find_program

RUN_TIMEOUT = 150.0

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.$GROUP
spec:
  group: $GROUP
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat, listKind: BoatList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {oars: {type: integer, maximum: 8}}
          status:
            type: object
            properties: {oars: {type: integer}}
"""


@pytest.fixture(scope="module")
def program() -> Path:
    """The program, built with the versions that go.sum pins."""
    return find_program(GO_CLIENT)


@pytest.fixture
def group(kubectl: Tool) -> Iterator[str]:
    name = f"go{uuid.uuid4().hex[:8]}.example.com"
    kubectl("create", "-f", "-", input=DEFINITION.replace("$GROUP", name))
    kubectl("wait", "--for=condition=Established", f"crd/boats.{name}", "--timeout=200s")
    yield name
    kubectl("delete", "crd", f"boats.{name}")


def test_informers_and_typed_calls(program: Path, kubectl: Tool, group: str) -> None:
    # With this, client-go compares what it was streamed with a list of its own and panics if they differ.
    environment = kubectl.variables({"KUBE_WATCHLIST_INCONSISTENCY_DETECTOR": "true"})
    done = subprocess.run(
        [program, kubectl.kubeconfig, kubectl.namespace, group],
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "ok"
