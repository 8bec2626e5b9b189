from __future__ import annotations

from datetime import UTC, datetime, timedelta

from nagaya.api.meta import Condition
from nagaya.kube.conditions import (
    UNSET,
    Conditions,
    condition,
    get,
    is_false,
    is_true,
    is_unknown,
    remove_condition,
    set_condition,
)

NOW = datetime(2026, 11, 1, 12, 0, 0, 999_999, tzinfo=UTC)
SECOND = NOW.replace(microsecond=0)
LATER = NOW + timedelta(minutes=5)


def of(*types: str) -> Conditions:
    conditions: Conditions = ()
    for type in types:
        conditions = set_condition(conditions, condition(type, True, "Good"), now=NOW, generation=1)
    return conditions


def test_a_new_condition_gets_the_date_in_whole_seconds_and_the_generation() -> None:
    (found,) = set_condition((), condition("Ready", True, "Good", "Fine."), now=NOW, generation=3)
    assert found == Condition(
        type="Ready",
        status="True",
        reason="Good",
        message="Fine.",
        last_transition_time=SECOND,
        observed_generation=3,
    )


def test_a_new_message_does_not_change_the_transition_time() -> None:
    before = of("Ready")
    (after,) = set_condition(before, condition("Ready", True, "Other", "Text."), now=LATER, generation=2)
    assert (after.reason, after.message, after.observed_generation) == ("Other", "Text.", 2)
    assert after.last_transition_time == SECOND


def test_a_new_status_changes_the_transition_time() -> None:
    (after,) = set_condition(of("Ready"), condition("Ready", False, "Bad"), now=LATER, generation=1)
    assert after.last_transition_time == LATER.replace(microsecond=0)


def test_a_transition_time_that_a_condition_brings_is_kept() -> None:
    since = datetime(2020, 1, 1, tzinfo=UTC)
    (after,) = set_condition((), condition("Ready", False, "Bad", since=since), now=NOW, generation=1)
    assert after.last_transition_time == since


def test_setting_what_is_set_returns_the_same_tuple() -> None:
    before = of("Ready", "Paused")
    assert set_condition(before, condition("Ready", True, "Good"), now=LATER, generation=1) is before


def test_conditions_are_in_the_order_in_which_people_read_them() -> None:
    shuffled = of("Deleting", "Zebra", "MachinesReady", "Paused", "Apple", "Ready", "InfrastructureReady", "Available")
    assert [each.type for each in shuffled] == [
        "Available",
        "Ready",
        "InfrastructureReady",
        "MachinesReady",
        "Apple",
        "Zebra",
        "Paused",
        "Deleting",
    ]


def test_a_missing_condition_is_unknown() -> None:
    conditions = set_condition(of("Ready"), condition("Failing", False, "Fine"), now=NOW, generation=1)
    assert is_true(conditions, "Ready")
    assert not is_true(conditions, "Failing")
    assert is_false(conditions, "Failing")
    assert not is_false(conditions, "Other")
    assert is_unknown(conditions, "Other")
    assert not is_unknown(conditions, "Ready")
    assert get(conditions, "Other") is None


def test_a_condition_can_be_removed() -> None:
    assert [each.type for each in remove_condition(of("Ready", "Paused"), "Ready")] == ["Paused"]


def test_a_computed_condition_has_no_transition_time_yet() -> None:
    assert condition("Ready", "Unknown", "NoIdea").last_transition_time == UNSET
