"""Conditions in a status."""

from __future__ import annotations

from nagaya.apiserver.controllers.conditions import with_condition

BEFORE = {"type": "Ready", "status": "True", "reason": "A", "lastTransitionTime": "then"}


def test_a_new_condition_is_added_at_the_end() -> None:
    other = {"type": "Other", "status": "True", "lastTransitionTime": "then"}
    ready = {"type": "Ready", "status": "True"}
    assert with_condition([other], ready, "now") == [other, {**ready, "lastTransitionTime": "now"}]
    assert with_condition(None, ready, "now") == [{**ready, "lastTransitionTime": "now"}]


def test_the_time_is_that_of_the_last_change_of_the_status() -> None:
    same = {"type": "Ready", "status": "True", "reason": "B"}
    assert with_condition([BEFORE], same, "now") == [{**same, "lastTransitionTime": "then"}]
    changed = {"type": "Ready", "status": "False", "reason": "B"}
    assert with_condition([BEFORE], changed, "now") == [{**changed, "lastTransitionTime": "now"}]


def test_conditions_are_not_changed_in_place() -> None:
    given = [BEFORE]
    with_condition(given, {"type": "Ready", "status": "False"}, "now")
    assert given == [BEFORE]
