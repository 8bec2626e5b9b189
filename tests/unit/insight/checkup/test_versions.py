"""Whether versions within a cluster go together."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.insight.checkup.finding import Finding, Standing, Subject
from nagaya.insight.checkup.versions import check
from nagaya.insight.picture.member import Member, member
from unit.insight.scene import Scene

PLANE = {"cluster.x-k8s.io/cluster-name": "demo", "cluster.x-k8s.io/control-plane": ""}


def machine(name: str, version: str, *, kubelet: str = "", plane: bool = False) -> Member:
    status: dict[str, Any] = {"nodeInfo": {"kubeletVersion": kubelet}} if kubelet else {}
    labels = PLANE if plane else None
    return member(Scene().add("Machine", name, spec={"version": version}, status=status, labels=labels))


def judged(machines: list[Member], running: str = "", wanted: str = "") -> Finding:
    plane = member(Scene().add("KubeadmControlPlane", "demo", spec={"version": wanted})) if wanted else None
    found = check(Subject("demo"), plane, machines, running)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("running", "kubelets", "standing", "words"),
    [
        ("v1.36.3", ["v1.36.3", "v1.35.0"], Standing.OK, "runs v1.36.3, kubelets v1.35.0, v1.36.3"),
        ("v1.36.3+build", ["v1.33.1"], Standing.WARNING, "next upgrade has to wait"),
        ("v1.36.3", ["v1.32.1"], Standing.PROBLEM, "more than 3 minor versions older"),
        ("v1.36.3", ["v1.36.9"], Standing.OK, ""),
        ("v1.36.3", ["v1.37.0"], Standing.PROBLEM, "newer than the API server (v1.36.3): w0 runs v1.37.0"),
    ],
)
def test_kubelets_may_be_older_and_never_newer(
    running: str, kubelets: list[str], standing: Standing, words: str
) -> None:
    found = judged([machine(f"w{number}", each) for number, each in enumerate(kubelets)], running)
    assert found.standing is standing
    assert words in found.evidence
    assert bool(found.remedy) == (standing is not Standing.OK)


@pytest.mark.parametrize(
    ("machines", "remedy"),
    [
        ([machine("a", "v1.37.0")], "Upgrade the control plane first: set spec.version there to that of the workers."),
        ([machine("a", "v1.32.1")], "Upgrade the workers: set spec.template.spec.version of their MachineDeployment."),
        ([machine("a", "v1.33.1")], "Upgrade the workers: set spec.template.spec.version of their MachineDeployment."),
        (
            [machine("a", "v1.34.1", plane=True), machine("b", "v1.36.1", plane=True)],
            "Upgrade the control plane one minor version at a time, and wait for each: its old machines go first.",
        ),
    ],
    ids=["newer", "too old", "as old as they may be", "API servers apart"],
)
def test_whoever_has_to_be_upgraded_is_named_with_the_field(machines: list[Member], remedy: str) -> None:
    assert judged(machines, "v1.36.3").remedy == (remedy,)


def test_what_kubelets_say_beats_what_is_asked_for() -> None:
    assert judged([machine("a", "v1.36.3", kubelet="v1.32.0")], "v1.36.3").standing is Standing.PROBLEM


def test_api_servers_differ_by_one_at_the_most() -> None:
    machines = [machine("a", "v1.34.1", plane=True), machine("b", "v1.36.1", plane=True)]
    found = judged(machines)
    assert found.standing is Standing.PROBLEM
    assert "a runs v1.34.1, b runs v1.36.1" in found.evidence


def test_without_an_answer_of_the_api_what_is_asked_for_counts() -> None:
    assert judged([machine("a", "v1.37.0")], wanted="v1.36.3").standing is Standing.PROBLEM
    assert judged([machine("a", "v1.36.0")], wanted="v1.36.3").standing is Standing.OK


def test_the_api_of_a_simulated_tenant_tells_nothing_of_its_version() -> None:
    machines = [machine("c", "v1.37.1", plane=True), machine("w", "v1.37.1")]
    assert judged(machines, "v1.36.3+nagaya.0.1.0", "v1.37.1").standing is Standing.OK


def test_a_cluster_of_which_nothing_is_known_is_not_judged() -> None:
    assert check(Subject("demo"), None, []) is None


def test_only_some_are_named() -> None:
    found = judged([machine(f"w{number}", "v1.37.0") for number in range(5)], "v1.36.3")
    assert "and 2 more" in found.evidence
