"""What is different from one tree to the next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.insight.tree.branch import Branch
from nagaya.insight.tree.changes import changes
from nagaya.insight.tree.shown import Shown
from nagaya.insight.tree.tree import tree
from unit.insight.scene import Condition, Scene


def grown(*machines: tuple[str, str], **more: int) -> Branch:
    """A tree with machines, each with the status of its Ready condition."""
    scene = Scene()
    scene.cluster(**more)
    for name, status in machines:
        told: Condition = (
            "Ready",
            status,
            "Ready" if status == "True" else "NotReady",
            "" if status == "True" else "why",
        )
        scene.machine(name, None, told)
    return tree(scene.picture(), Shown(grouping=False))


def said(before: Branch | None, after: Branch) -> list[str]:
    return [f"{each.kind} {each.name} {each.what}" for each in changes(before, after)]


def test_at_first_everything_appears() -> None:
    assert said(None, grown(("a", "True"))) == [
        "Cluster demo appeared: Available is True",
        "SimulatedCluster demo appeared: Ready is True (Provisioned)",
        "Machine a appeared: Ready is True",
    ]


def test_a_change_is_told_once() -> None:
    before, after = grown(("a", "False")), grown(("a", "True"), ("b", "False"))
    assert said(before, after) == [
        "Machine a Ready is True",
        "Machine b appeared: Ready is False (NotReady): why",
    ]


def test_what_goes_is_told() -> None:
    assert said(grown(("a", "True")), grown()) == ["Machine a is gone"]
    assert said(grown(), grown(deleting=5)) == ["Cluster demo is being deleted"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["True", "False"])), unique_by=lambda each: each[0]))
def test_nothing_is_told_of_a_tree_that_is_the_same(machines: list[tuple[str, str]]) -> None:
    assert changes(grown(*machines), grown(*machines)) == []
