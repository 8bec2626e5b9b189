"""The arithmetic of rolling updates."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.core.machine_deployment.rolling_update import plan_rolling_update
from nagaya.core.machine_deployment.sizes import Group, Sizes, machines_there_may_be
from nagaya.core.machine_deployment.strategy import Limits
from support.builders import NOW
from support.subtest_cases import subtest_cases


def group(name: str, wanted: int, machines: int | None = None, available: int | None = None, age: int = 0) -> Group:
    there = wanted if machines is None else machines
    created: datetime = NOW - timedelta(minutes=age)
    return Group(name, created, wanted, there, there if available is None else available)


def planned(limits: tuple[int, int, int], current: Group, *old: Group) -> Sizes:
    return plan_rolling_update(Limits(*limits), current, old)


@subtest_cases(
    ("limits", "current", "old", "expected"),
    [
        # nothing to do
        ((3, 1, 0), group("new", 3), [], {}),
        ((3, 1, 0), group("new", 3), [group("old", 0)], {}),
        # scaling without a rollout
        ((5, 1, 0), group("new", 3), [], {"new": 5}),
        ((1, 1, 0), group("new", 3), [], {"new": 1}),
        # the surge is used at once, and no more than is wanted
        ((3, 1, 0), group("new", 0), [group("old", 3)], {"new": 1}),
        ((6, 10, 0), group("new", 0), [group("old", 6)], {"new": 6}),
        ((6, 0, 10), group("new", 0), [group("old", 6)], {"old": 0}),
        # machines that are still going count
        ((3, 1, 0), group("new", 1), [group("old", 2, 3)], {}),
        # one old machine goes when one more is available than has to be
        ((3, 1, 0), group("new", 1), [group("old", 3)], {"old": 2}),
        # a new machine that is not available yet stops the rollout
        ((3, 1, 0), group("new", 1, 1, 0), [group("old", 3)], {}),
        ((6, 3, 1), group("new", 3, 3, 0), [group("old", 6)], {"old": 5}),
        # machines that never came still count for the surge: they are on their way
        ((10, 3, 0), group("new", 0), [group("old", 10, 8, 8)], {"new": 3}),
        # several old sets: the oldest first
        ((3, 1, 0), group("new", 2), [group("b", 1, age=1), group("a", 1, age=2)], {"a": 0}),
        # and before that those that do not work, if nothing available can be lost by it
        ((4, 1, 1), group("new", 2), [group("a", 1, age=2), group("b", 2, 2, 0, age=1)], {"b": 0}),
    ],
)
def test_sizes(limits: tuple[int, int, int], current: Group, old: list[Group], expected: dict[str, int]) -> None:
    assert planned(limits, current, *old).chosen == expected


def test_every_change_of_a_size_has_a_reason() -> None:
    found = planned((3, 1, 0), group("new", 0), group("old", 3))
    assert found.why("new") == "3 current Machines < 3 MachineDeployment spec.replicas + 1 maxSurge"
    found = planned((3, 1, 0), group("new", 1), group("old", 3))
    assert found.why("old") == "4 available replicas > 3 minimum available replicas"


@pytest.mark.parametrize(
    ("current", "old", "stuck"),
    [
        (group("new", 10), group("old", 0), False),
        (group("new", 5), group("old", 5), False),
        (group("new", 6, 5), group("old", 5, 5, 4), False),  # something is still coming
        (group("new", 5), group("old", 4, 5, 4), False),  # something is still going
        (group("new", 5, 5, 3), group("old", 5, 5, 4), False),  # new ones have to work first
        (group("new", 5), group("old", 5, 5, 3), True),
    ],
)
def test_only_a_deadlock_is_broken_and_by_one_machine(current: Group, old: Group, stuck: bool) -> None:
    found = planned((8, 2, 0), current, old)
    if stuck:
        assert found.chosen == {"old": old.wanted - 1}
    assert ("unblock rollout stuck due to unavailable Machine" in found.why("old")) is stuck


def groups(name: str) -> st.SearchStrategy[Group]:
    numbers = st.integers(0, 12)
    return st.builds(
        lambda wanted, machines, missing, age: group(name, wanted, machines, max(machines - missing, 0), age),
        numbers,
        numbers,
        st.integers(0, 3),
        st.integers(0, 3),
    )


@given(
    st.integers(0, 12),
    st.integers(0, 4),
    st.integers(0, 4),
    groups("new"),
    st.lists(st.sampled_from("abc"), unique=True).flatmap(lambda names: st.tuples(*map(groups, names))),
)
def test_no_step_goes_beyond_the_limits(
    replicas: int, surge: int, unavailable: int, current: Group, old: tuple[Group, ...]
) -> None:
    unavailable = min(unavailable, replicas) if surge or unavailable else min(1, replicas)
    limits = Limits(replicas, surge, unavailable)
    found = plan_rolling_update(limits, current, old)
    everybody = (*old, current)
    before = machines_there_may_be(everybody)
    after = sum(max(found.of(each), each.machines) for each in everybody)
    assert after <= max(before, limits.at_most)
    assert 0 <= found.of(current) <= max(current.wanted, replicas)
    for each in old:
        assert 0 <= found.of(each) <= each.wanted
    if any("unblock" in found.why(each.name) for each in old):
        assert len(found.chosen) == 1
        return
    shrunk = [each for each in old if found.of(each) < each.wanted and each.available]
    if shrunk:
        lost = sum(min(each.available, max(each.machines - found.of(each), 0)) for each in shrunk)
        assert sum(each.available for each in everybody) - lost >= limits.available_at_least or not lost
