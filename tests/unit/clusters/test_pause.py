from __future__ import annotations

from nagaya.clusters.pause import NOT_PAUSED, status_while_paused
from nagaya.kube.conditions import get
from support.builders import NOW, machine

WHY = "Cluster spec.paused is set to true"


def test_a_paused_object_says_why_and_else_what_it_said_before() -> None:
    before = machine("a").reporting("Ready", "True").having(status={"phase": "Running"}).made()
    told = status_while_paused(before, WHY, NOW)
    paused = get(told.conditions, "Paused")
    assert paused is not None
    assert (paused.status, paused.reason, paused.message) == ("True", "Paused", WHY)
    assert get(told.conditions, "Ready") == get(before.status.conditions, "Ready")
    assert told.phase == "Running"


def test_an_object_at_work_says_so() -> None:
    assert (NOT_PAUSED.type, NOT_PAUSED.status, NOT_PAUSED.reason) == ("Paused", "False", "NotPaused")
