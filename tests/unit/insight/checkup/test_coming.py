"""Clusters that are there, and those that are on their way."""

from __future__ import annotations

from datetime import timedelta

import pytest

from nagaya.insight.checkup.coming import asleep, available
from nagaya.insight.checkup.finding import Standing, Subject
from nagaya.insight.picture.member import member
from unit.insight.scene import START, Scene


@pytest.mark.parametrize(
    ("status", "minutes", "standing"),
    [
        ("True", 60, Standing.OK),
        ("False", 60, Standing.PROBLEM),
        ("Unknown", 60, Standing.PROBLEM),
        ("False", 5, Standing.WARNING),
    ],
)
def test_a_cluster_has_some_time_to_come(status: str, minutes: int, standing: Standing) -> None:
    cluster = member(Scene().cluster(("Available", status, "NotAvailable", "* Workers:\n  * none")))
    found = available(Subject("demo"), cluster, START + timedelta(minutes=minutes))
    assert found.standing is standing
    assert status == "True" or found.evidence.endswith("Workers: none")


@pytest.mark.parametrize(
    ("kind", "replicas", "rests"),
    [
        ("HostedControlPlane", 0, True),
        ("HostedControlPlane", 1, False),
        ("HostedControlPlane", None, False),
        ("KubeadmControlPlane", 0, False),
    ],
)
def test_one_that_is_declared_to_sleep_is_well(kind: str, replicas: int | None, rests: bool) -> None:
    spec = {} if replicas is None else {"replicas": replicas}
    found = asleep(Subject("demo"), member(Scene().add(kind, "demo", spec=spec)))
    assert (found is not None) is rests
    if found is not None:
        assert found.standing is Standing.OK
        assert "wake it: kubectl scale hostedcontrolplane demo -n default --replicas 1" in found.evidence
    assert asleep(Subject("demo"), None) is None


def test_one_that_goes_or_that_nobody_has_seen_is_told_so() -> None:
    going = member(Scene().cluster(deleting=0))
    assert available(Subject("demo"), going, START).standing is Standing.WARNING
    unseen = member(Scene().cluster(("Other", "True", "x")))
    assert available(Subject("demo"), unseen, START).standing is Standing.UNCHECKED
