from __future__ import annotations

from datetime import UTC, datetime

from nagaya.api.meta import Condition, ConditionStatus
from nagaya.insight.cause.condition import is_bad
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("type_", "status", "reason", "bad"),
    [
        ("Ready", "True", "Ready", False),
        ("Ready", "False", "NotReady", True),
        ("Ready", "Unknown", "ReadyUnknown", True),
        ("ScalingUp", "False", "NotScalingUp", False),
        ("ScalingUp", "True", "ScalingUp", True),
        ("Paused", "True", "Paused", False),
        ("UpToDate", "Unknown", "NotKnown", False),
        ("KonnectivityReady", "False", "NotUsed", False),
    ],
)
def test_a_condition_is_bad_if_it_is_not_as_it_should_be(
    type_: str, status: ConditionStatus, reason: str, bad: bool
) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    condition = Condition(type=type_, status=status, reason=reason, last_transition_time=now, message="")
    assert is_bad(condition) is bad
