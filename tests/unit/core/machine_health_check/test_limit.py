from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.health import RemediationTrigger
from nagaya.core.machine_health_check.limit import Allowance, InvalidTrigger, allowance
from support.subtest_cases import subtest_cases


def at_most(limit: int | str | None) -> RemediationTrigger:
    return RemediationTrigger(unhealthy_less_than_or_equal_to=limit)


def within(span: str) -> RemediationTrigger:
    return RemediationTrigger(unhealthy_in_range=span, unhealthy_less_than_or_equal_to=0)


@subtest_cases(
    ("limit", "total", "healthy", "allowed", "remaining"),
    [
        (None, 5, 0, True, 0),
        (None, 5, 3, True, 3),
        ("100%", 5, 4, True, 4),
        ("40%", 5, 3, True, 0),
        ("40%", 5, 2, False, 0),
        ("20%", 4, 4, True, 0),  # rounded down to none
        ("20%", 4, 3, False, 0),
        (2, 5, 3, True, 0),
        (1, 5, 3, False, 0),
        (0, 0, 0, True, 0),
        (5, 3, 2, True, 4),
    ],
)
def test_so_many_may_be_unhealthy(
    limit: int | str | None, total: int, healthy: int, allowed: bool, remaining: int
) -> None:
    found = allowance(at_most(limit), total, healthy, total - healthy)
    assert (found.allowed, found.remaining) == (allowed, remaining)
    assert bool(found.message) is not allowed


@pytest.mark.parametrize(
    ("span", "total", "healthy", "allowed", "remaining"),
    [("[3-5]", 8, 5, True, 2), ("[3-5]", 8, 3, True, 0), ("[3-5]", 8, 6, False, 0), ("[3-5]", 8, 2, False, 0)],
)
def test_a_range_takes_precedence(span: str, total: int, healthy: int, allowed: bool, remaining: int) -> None:
    found = allowance(within(span), total, healthy, total - healthy)
    assert (found.allowed, found.remaining) == (allowed, remaining)


def test_what_is_told_counts_the_unhealthy_and_not_those_that_start() -> None:
    assert allowance(at_most("40%"), 5, 1, 2).message == (
        "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy "
        "(total: 5, unhealthy: 2, maxUnhealthy: 40%)"
    )
    assert allowance(within("[1-2]"), 5, 1, 2).message == (
        "Remediation is not allowed, the number of not started or unhealthy machines does not fall within the range "
        "(total: 5, unhealthy: 2, unhealthyRange: [1-2])"
    )


@pytest.mark.parametrize("trigger", [at_most("many"), at_most("40"), within("[5-3]"), within("3-5"), within("[a-b]")])
def test_a_limit_that_makes_no_sense_is_an_error(trigger: RemediationTrigger) -> None:
    with pytest.raises(InvalidTrigger):
        allowance(trigger, 5, 5, 0)


@given(total=st.integers(0, 1000), data=st.data())
def test_without_a_limit_everything_is_allowed(total: int, data: st.DataObject) -> None:
    healthy = data.draw(st.integers(0, total))
    assert allowance(at_most(None), total, healthy, total - healthy) == Allowance(True, healthy)
