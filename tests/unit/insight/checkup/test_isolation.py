"""Whether programs of hosted control planes are kept apart."""

from __future__ import annotations

from nagaya.insight.checkup.finding import Standing
from nagaya.insight.checkup.isolation import check
from nagaya.insight.picture.member import member
from unit.insight.scene import Condition, Scene

APART: Condition = ("ProgramsIsolated", "True", "Isolated", "")
TOGETHER: Condition = ("ProgramsIsolated", "False", "NotIsolated", "All programs run as user 1000.")


def judged(*planes: tuple[Condition, ...]) -> list[tuple[Standing, str]]:
    scene = Scene()
    members = [member(scene.add("HostedControlPlane", f"plane-{number}", *told)) for number, told in enumerate(planes)]
    return [(each.standing, each.evidence) for each in check(members)]


def test_without_hosted_control_planes_nothing_is_said() -> None:
    assert judged() == []
    assert judged(()) == []


def test_one_finding_says_it_for_all() -> None:
    assert judged((TOGETHER,), (TOGETHER,), (APART,)) == [(Standing.WARNING, "All programs run as user 1000.")]


def test_programs_that_are_kept_apart_are_well() -> None:
    [(standing, _)] = judged((APART,), (APART,), ())
    assert standing is Standing.OK
