"""A Cluster in one line."""

from __future__ import annotations

from nagaya.insight.picture.member import member
from nagaya.insight.picture.summary import summary
from unit.insight.scene import Scene


def test_machines_are_counted_and_what_runs_is_told() -> None:
    status = {
        "phase": "Provisioned",
        "controlPlane": {"desiredReplicas": 1, "readyReplicas": 1, "versions": [{"version": "v1.36.3"}]},
        "workers": {"desiredReplicas": 3, "versions": [{"version": "v1.36.3"}, {"version": "v1.35.4"}]},
    }
    found = summary(member(Scene().cluster(status=status)))
    assert (found.phase, found.available, found.version) == ("Provisioned", "True", "v1.36.3,v1.35.4")
    assert (str(found.control_plane), str(found.workers)) == ("1/1", "0/3")
    assert found.simulated


def test_the_control_plane_says_which_version_is_wanted() -> None:
    scene = Scene()
    plane = scene.add("KubeadmControlPlane", "demo", spec={"version": "v1.37.0"})
    assert summary(member(scene.cluster()), member(plane)).version == "v1.37.0"


def test_a_cluster_that_nobody_has_looked_at_yet() -> None:
    bare = Scene().add("Cluster", "demo")
    found = summary(member(bare))
    assert (found.phase, found.available, found.version, str(found.workers)) == ("", "Unknown", "", "")


def test_one_that_goes_says_so() -> None:
    assert summary(member(Scene().cluster(deleting=5))).phase == "Deleting"
