"""Doubts about versions, numbers and refusals."""

from __future__ import annotations

import pytest

from nagaya.insight.foresight.change import Change, Verb
from nagaya.insight.foresight.doubts import Doubt, Severity, of_changes, of_rollout
from nagaya.insight.foresight.read import Future
from nagaya.insight.foresight.rollout import Rollout
from unit.insight.foresight.fleets import settled

PLANE = "KubeadmControlPlane default/demo"


def doubts(*versions: tuple[str, str, str], **more: object) -> list[Doubt]:
    future = Future(settled(1), (), (), versions)
    return list(of_rollout(future, Rollout((), 1, **more)))  # type: ignore[arg-type]  # given by name


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("v1.35.1", "v1.37.0", "one minor version at a time"),
        ("v1.36.1", "v1.35.4", "would go back"),
        ("v1.36.1", "latest", "is no version of Kubernetes"),
    ],
)
def test_versions_that_cannot_be_reached_are_errors(before: str, after: str, words: str) -> None:
    (found,) = doubts((PLANE, before, after))
    assert found.severity is Severity.ERROR
    assert words in found.what


def test_the_next_version_is_no_matter_of_doubt() -> None:
    assert doubts((PLANE, "v1.35.1", "v1.36.0"), ("MachineDeployment default/a", "v1.33.0", "v1.36.0")) == []


def test_who_stands_still_and_who_has_nobody_left_is_told() -> None:
    found = doubts(blocked=(("MachineSet a", "a template does not exist"),), least=(("MachineDeployment b", 0, 1),))
    assert [each.severity for each in found] == [Severity.ERROR, Severity.WARNING]
    assert "MachineSet a of Cluster harbour would stand still: a template does not exist." in found[0].what
    assert "no machine that works for a while" in found[1].what


def test_equal_refusals_are_one() -> None:
    refused = [Change(Verb.REFUSE, "Machine", "a", name, "f.yaml", refusal="No.") for name in ("x", "y", "z")]
    (found,) = of_changes(refused)
    assert found.what == "Machine a/x (f.yaml) and 2 more would be refused: No."


@pytest.mark.parametrize(
    ("why", "remedy"),
    [
        (
            "spec.version: Forbidden: cannot update Kubernetes version from v1.36.3 to v1.38.0.",
            "A control plane goes one minor version at a time: go to v1.37 first.",
        ),
        ("spec.version: Forbidden: cannot update Kubernetes version from v1.36.3 to v1.35.0.", ""),
        ("spec.replicas: Forbidden: no.", ""),
    ],
)
def test_a_version_that_is_too_far_is_refused_with_the_next_one(why: str, remedy: str) -> None:
    (found,) = of_changes([Change(Verb.REFUSE, "KubeadmControlPlane", "a", "x", "f.yaml", refusal=why)])
    assert found.remedy == remedy
