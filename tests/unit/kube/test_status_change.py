from __future__ import annotations

from typing import Any

import pytest

from nagaya.kube.status_change import News, is_news, leftovers, status_change

READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Good",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
LATER = {**READY, "lastTransitionTime": "2026-02-02T00:00:00Z"}
FOREIGN = {**READY, "type": "Foreign"}


def test_what_is_told_already_is_not_told_again() -> None:
    present: dict[str, Any] = {"replicas": 3, "phase": "x", "conditions": [FOREIGN, READY]}
    wanted = {"replicas": 3, "conditions": [LATER]}
    assert status_change(present, wanted, {"Ready"}, {"replicas"}) is None


def test_only_owned_fields_and_conditions_are_sent_and_all_of_them() -> None:
    present: dict[str, Any] = {"replicas": 3, "phase": "x", "conditions": [FOREIGN]}
    wanted = {"replicas": 3, "ready": 2, "phase": "y", "conditions": [READY, FOREIGN]}
    assert status_change(present, wanted, {"Ready"}, {"replicas", "ready"}) == {
        "replicas": 3,
        "ready": 2,
        "conditions": [READY],
    }


def test_a_condition_with_the_same_status_keeps_its_transition_time() -> None:
    change = status_change({"conditions": [READY]}, {"conditions": [{**LATER, "message": "New."}]}, {"Ready"}, ())
    assert change == {"conditions": [{**READY, "message": "New."}]}


def test_a_condition_with_another_status_brings_its_transition_time() -> None:
    changed = {**LATER, "status": "False"}
    assert status_change({"conditions": [READY]}, {"conditions": [changed]}, {"Ready"}, ()) == {"conditions": [changed]}


def test_an_owned_field_that_shall_be_absent_is_a_difference() -> None:
    assert status_change({"phase": "x"}, {}, (), {"phase"}) == {}
    assert status_change({}, {}, (), {"phase"}) is None
    assert status_change({}, {"phase": None}, (), {"phase"}) is None


def test_true_is_not_one() -> None:
    assert status_change({"value": 1}, {"value": True}, (), {"value"}) == {"value": True}


def test_parts_of_fields_are_owned_apart() -> None:
    present = {"initialization": {"infrastructureProvisioned": True}}
    owned = {"initialization.controlPlaneInitialized"}
    assert status_change(present, {"initialization": {}}, (), owned) is None
    wanted = {"initialization": {"controlPlaneInitialized": True, "infrastructureProvisioned": False}}
    assert status_change(present, wanted, (), owned) == {"initialization": {"controlPlaneInitialized": True}}


def test_what_others_keep_alive_is_removed_by_name() -> None:
    present: dict[str, Any] = {"phase": "x", "inner": {"a": 1, "b": 2}, "conditions": [FOREIGN, READY]}
    assert leftovers(present, {}, {"Ready"}, {"phase", "inner.a", "other"}) == {
        "phase": None,
        "inner": {"a": None},
        "conditions": [FOREIGN],
    }
    assert leftovers(present, present, {"Ready"}, {"phase", "inner.a"}) is None


def told(status: str) -> dict[str, Any]:
    return {"conditions": [{**READY, "status": status}]}


def test_fields_that_are_always_news_are_so_from_their_first_value_on() -> None:
    news = News(fields=("initialization.done",))
    assert is_news({}, {"initialization": {"done": True}}, news)
    assert is_news({"initialization": {"done": True}}, {}, news)
    assert not is_news({"replicas": 1}, {"replicas": 2}, news)


def test_a_phase_is_news_when_it_turns_and_not_when_it_begins() -> None:
    news = News(turns=("phase",))
    assert not is_news({}, {"phase": "Pending"}, news)
    assert not is_news({"phase": "Pending"}, {"phase": "Pending", "replicas": 2}, news)
    assert is_news({"phase": "Pending"}, {"phase": "Running"}, news)
    assert is_news({"phase": "Pending"}, {}, news)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("False", "True", True),
        ("Unknown", "True", True),
        ("True", "False", True),
        ("True", "Unknown", True),
        ("False", "Unknown", False),
        ("True", "True", False),
    ],
)
def test_a_condition_is_news_when_it_turns_to_true_or_away_from_it(before: str, after: str, expected: bool) -> None:
    news = News(conditions=("Ready",))
    assert is_news(told(before), told(after), news) is expected
    assert not is_news({}, told(after), news)
    assert not is_news(told(before), told(after), News(conditions=("Other",)))


def test_a_condition_that_held_and_is_no_longer_told_is_news() -> None:
    assert is_news(told("True"), {}, News(conditions=("Ready",)))
