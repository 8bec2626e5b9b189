"""Our CRDs on the real API server and on the embedded one: accepted, served, explained, and scaled."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from support.real import RealControlPlane, installed_binaries
from support.running_server import RunningServer

pytestmark = pytest.mark.long("API servers establish every definition, and kubectl discovers them all")

Kubectl = Callable[..., str]

DEFINITIONS = [definition for part in PARTS.values() for definition in part]
MACHINE = {"bootstrap": {"dataSecretName": "data"}, "clusterName": "one"}
INFRASTRUCTURE = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimulatedMachine", "name": "small"}
MACHINE_DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "MachineDeployment",
    "metadata": {"name": "workers"},
    "spec": {
        "clusterName": "one",
        "replicas": 3,
        "selector": {"matchLabels": {"pool": "workers"}},
        "template": {
            "metadata": {"labels": {"pool": "workers"}},
            "spec": {**MACHINE, "infrastructureRef": INFRASTRUCTURE},
        },
    },
}


PATIENCE = 200
"""Seconds in which kubectl has to be done, and in which definitions are made or go on a busy machine."""


def kubectl_for(program: Path, kubeconfig: Path) -> Kubectl:
    def run(*arguments: str, given: str = "", fails: bool = False) -> str:
        done = subprocess.run(
            [program, f"--kubeconfig={kubeconfig}", "--cache-dir", kubeconfig.parent / "kubectl-cache", *arguments],
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="module", params=["embedded", "real"])
def kubectl(request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """A server of its own that has our CRDs: a real one may take minutes to forget them."""
    binaries = installed_binaries()
    server = RealControlPlane(binaries) if request.param == "real" else RunningServer()
    with server as running:
        run = kubectl_for(binaries.path("kubectl"), running.kubeconfig)
        define(run)
        yield run


def define(run: Kubectl) -> None:
    """Give a server all kinds, as `nagaya crds` prints them."""
    run("apply", "--server-side", "-f", "-", given=yaml.safe_dump_all([render(each) for each in DEFINITIONS]))
    run("wait", "--for=condition=Established", f"--timeout={PATIENCE}s", *(f"crd/{each.kind}" for each in DEFINITIONS))


def test_no_definition_is_stored_with_a_problem(kubectl: Kubectl) -> None:
    conditions = kubectl(
        "get",
        "crd",
        "-o",
        'jsonpath={range .items[*]}{.status.conditions[?(@.type=="NonStructuralSchema")].message}{end}',
    )
    assert conditions == ""


def test_kinds_are_found_by_category_and_short_name(kubectl: Kubectl) -> None:
    found = kubectl("api-resources", "--categories=cluster-api", "-o", "name").split()
    assert {str(each.kind) for each in DEFINITIONS if each.categories} <= set(found)
    for each in DEFINITIONS:
        for name in each.short_names:
            kubectl("get", name)


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("machine.spec.providerID", "How the infrastructure calls the machine."),
        ("machinedeployment.spec.rollout.strategy.rollingUpdate.maxSurge", "How many machines more than wanted"),
        ("cluster.spec.topology.workers.machineDeployments.name", "How it is called within the topology."),
    ],
)
def test_kubectl_explains_fields(kubectl: Kubectl, field: str, sentence: str) -> None:
    assert sentence in " ".join(kubectl("explain", field).split())


def test_a_deployment_is_stored_shown_and_scaled(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=yaml.safe_dump(MACHINE_DEPLOYMENT))
    try:
        header, row = kubectl("get", "md", "workers").splitlines()
        assert header.split()[:4] == ["NAME", "CLUSTER", "AVAILABLE", "DESIRED"]
        assert row.split()[:3] == ["workers", "one", "3"]
        kubectl("scale", "md", "workers", "--replicas=5")
        assert kubectl("get", "md", "workers", "-o", "jsonpath={.spec.replicas}") == "5"
    finally:
        kubectl("delete", "md", "workers")


def test_the_limits_of_the_schema_hold(kubectl: Kubectl) -> None:
    wrong = {**MACHINE_DEPLOYMENT, "spec": {**MACHINE_DEPLOYMENT["spec"], "deletion": {"order": "Alphabetic"}}}
    said = kubectl("apply", "-f", "-", given=yaml.safe_dump(wrong), fails=True)
    assert 'spec.deletion.order: Unsupported value: "Alphabetic"' in said


def test_rules_are_evaluated(kubectl: Kubectl) -> None:
    check = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": {"name": "workers"},
        "spec": {
            "clusterName": "one",
            "selector": {"matchLabels": {"pool": "workers"}},
            "checks": {
                "unhealthyMachineConditions": [{"type": "Ready", "status": "False", "timeoutSeconds": 60}],
            },
        },
    }
    said = kubectl("apply", "-f", "-", given=yaml.safe_dump(check), fails=True)
    assert "must not be a condition that depends on health checks itself" in said
