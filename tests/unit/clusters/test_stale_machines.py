"""Machines whose deletion takes too long."""

from __future__ import annotations

from datetime import timedelta

from nagaya.api.cluster.machine import Machine
from nagaya.clusters.stale_machines import stale
from support.builders import NOW, date, machine

LONG_AGO = NOW - timedelta(minutes=16)


def test_a_deletion_is_not_slow_before_a_quarter_of_an_hour() -> None:
    fresh = machine("a").deleting(NOW - timedelta(minutes=14)).made()
    found = stale([fresh, machine("b").made()], NOW)
    assert found.message == ""
    assert found.changes == (NOW + timedelta(minutes=1, milliseconds=1),)
    assert stale([fresh], found.changes[0]).message != ""


def test_slow_ones_are_named() -> None:
    slow = [machine(name).deleting(LONG_AGO).made() for name in "dcba"]
    assert stale(slow[:1], NOW).message == "Machine d is in deletion since more than 15m"
    assert stale(slow, NOW).message == "Machines a, b, c, ... (1 more) are in deletion since more than 15m"


def test_what_the_drain_says_is_told_as_causes_in_a_fixed_order() -> None:
    def draining(name: str, message: str) -> Machine:
        draft = machine(name).deleting(LONG_AGO).reporting("Deleting", "True", "DrainingNode", message)
        return draft.having(status={"deletion": {"nodeDrainStartTime": date(NOW - timedelta(minutes=6))}}).made()

    found = stale(
        [
            draining("a", "* Pod x: waiting for completion"),
            draining("b", "* Pod y: cannot evict pod as it would violate the pod's disruption budget. The budget y"),
        ],
        NOW,
    )
    assert found.message.endswith("delay likely due to PodDisruptionBudgets, Pods not completed yet")


def test_a_drain_that_has_just_begun_is_not_blamed() -> None:
    draft = machine("a").deleting(LONG_AGO).reporting("Deleting", "True", "DrainingNode", "failed to evict Pod z")
    begun = draft.having(status={"deletion": {"nodeDrainStartTime": date(NOW - timedelta(minutes=4))}}).made()
    found = stale([begun], NOW)
    assert found.message == "Machine a is in deletion since more than 15m"
    assert max(found.changes) == NOW + timedelta(minutes=1, milliseconds=1)
    assert stale([begun], max(found.changes)).message.endswith("due to Pod eviction errors")
