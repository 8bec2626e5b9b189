from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from nagaya.api.kind import Kind
from nagaya.api.meta import Condition
from nagaya.api.untyped import Untyped
from nagaya.kube.conditions import UNSET, Source, conditions_of

T = "2026-01-02T03:04:05Z"
MACHINES = Kind("cluster.x-k8s.io", "v1beta2", "Machine", "machines", Untyped)


def obj(status: Any) -> Untyped:
    labels = {"cluster.x-k8s.io/control-plane": ""}
    metadata = {"name": "m", "namespace": "n", "labels": labels}
    return Untyped({"kind": "Machine", "metadata": metadata, "status": status})


def test_conditions_are_read() -> None:
    content = {
        "type": "Ready",
        "status": "True",
        "observedGeneration": 4,
        "lastTransitionTime": "2026-01-02T03:04:05Z",
        "reason": "Good",
        "message": "Fine.",
    }
    assert conditions_of(obj({"conditions": [content]})) == (
        Condition(
            type="Ready",
            status="True",
            observed_generation=4,
            last_transition_time=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            reason="Good",
            message="Fine.",
        ),
    )


def test_conditions_of_the_new_form_go_before_those_of_the_old_one() -> None:
    status = {"conditions": [{"type": "Old", "status": "True"}], "v1beta2": {"conditions": []}}
    assert conditions_of(obj(status)) == ()


def test_what_is_missing_in_the_old_form_is_filled_in() -> None:
    (found,) = conditions_of(obj({"conditions": [{"type": "Ready", "status": "False"}]}))
    assert (found.reason, found.message, found.last_transition_time) == ("NoReasonReported", "", UNSET)


def test_one_that_lacks_something_takes_nothing_from_the_others() -> None:
    complete = {"type": "Ready", "status": "True", "lastTransitionTime": T, "reason": "Good", "message": "Fine."}
    (expected,) = conditions_of(obj({"conditions": [complete]}))
    for change in ({"reason": ""}, {"reason": None}, {"message": None}, {"observedGeneration": 1.5}):
        first, second = conditions_of(obj({"conditions": [complete, {**complete, **change}]}))
        assert first == expected
        assert second.reason == ("NoReasonReported" if "reason" in change else "Good")
        assert second.message == ("" if "message" in change else "Fine.")
        assert second.observed_generation is None
    assert conditions_of(obj({"conditions": [complete, "no condition"]})) == (expected,)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"status": "True"}, "type must be set"),
        ({"type": "", "status": "True", "lastTransitionTime": T, "reason": "A", "message": ""}, "type must be set"),
        ({"type": "Ready"}, "status must be set for the Ready condition"),
        ({"type": "Ready", "status": "Maybe"}, "must be one of True, False, Unknown"),
        ({"type": "Ready", "status": "True", "lastTransitionTime": "yesterday"}, "lastTransitionTime"),
    ],
)
def test_what_cannot_be_read_is_named(content: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as error:
        conditions_of(obj({"conditions": [content]}))
    assert "Machine n/m" in str(error.value)


def test_an_object_without_conditions_has_none() -> None:
    assert conditions_of(obj(None)) == conditions_of(obj({"conditions": "no list"})) == ()


def test_control_plane_machines_are_known_by_their_label() -> None:
    assert Source.of(MACHINES, obj(None)) == Source("Machine", "m", (), control_plane_machine=True)
