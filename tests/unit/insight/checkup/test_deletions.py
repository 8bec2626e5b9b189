"""Clusters that are paused, and deletions that do not end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from nagaya.insight.checkup.deletions import paused, stuck
from nagaya.insight.checkup.finding import Standing, Subject
from nagaya.insight.picture.member import member
from unit.insight.scene import START, Scene

SUBJECT = Subject("Cluster default/demo")


def test_a_cluster_that_works_is_not_mentioned() -> None:
    assert paused(SUBJECT, member(Scene().cluster())) is None


def test_a_paused_cluster_is_told_with_what_lets_it_go_on() -> None:
    found = paused(SUBJECT, member(Scene().cluster(spec={"paused": True})))
    assert found is not None
    assert found.standing is Standing.WARNING
    assert found.remedy == ('kubectl patch -n default cluster demo --type merge -p \'{"spec":{"paused":false}}\'',)


def test_an_annotation_pauses_too() -> None:
    cluster = Scene().cluster()
    cluster.raw["metadata"]["annotations"] = {"cluster.x-k8s.io/paused": ""}  # type: ignore[index]
    found = paused(SUBJECT, member(type(cluster)(cluster.raw)))
    assert found is not None
    assert found.remedy == ("kubectl annotate -n default cluster demo cluster.x-k8s.io/paused-",)


@pytest.mark.parametrize(
    ("minutes", "standing"),
    [(5, None), (15, Standing.WARNING), (90, Standing.PROBLEM)],
    ids=["new", "long", "too long"],
)
def test_a_deletion_that_takes_long_is_told_with_who_holds_it_and_why(minutes: int, standing: Standing | None) -> None:
    scene = Scene()
    scene.add("Machine", "a", ("Deleting", "True", "Draining", "Pods\n cannot be evicted."), deleting=0)
    scene.add("Machine", "b")
    found = list(stuck([member(each) for each in scene.objects], START + timedelta(minutes=minutes)))
    if standing is None:
        assert found == []
        return
    (one,) = found
    assert one.standing is standing
    assert one.subject == "Machine default/a"
    assert "held by example.com/finalizer" in one.evidence
    assert "Pods cannot be evicted." in one.evidence


def test_a_deletion_of_which_nobody_says_anything_is_told_so() -> None:
    scene = Scene()
    scene.add("ProxmoxVirtualMachine", "demo-100", deleting=0, namespace="")
    (found,) = stuck([member(each) for each in scene.objects], START + timedelta(hours=2))
    assert found.subject == "ProxmoxVirtualMachine demo-100"
    assert "says nothing of it" in found.evidence
