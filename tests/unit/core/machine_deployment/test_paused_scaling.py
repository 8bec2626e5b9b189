"""Scaling while rollouts are paused."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from nagaya.core.machine_deployment.paused_scaling import plan_paused
from nagaya.core.machine_deployment.sizes import Group
from nagaya.core.machine_deployment.strategy import Limits
from support.builders import NOW


def group(name: str, wanted: int, age: int = 0) -> Group:
    return Group(name, NOW - timedelta(minutes=age), wanted, wanted, wanted)


def sizes(
    limits: Limits, current: Group | None, *old: Group, before: int = 0, saturated: bool = False, rolling: bool = True
) -> dict[str, int]:
    allowed = {each.name: before for each in (*old, *([current] if current else []))}
    found = plan_paused(limits, current, old, allowed, saturated=saturated, rolling=rolling)
    return found.chosen


def test_the_only_set_with_machines_follows_the_deployment() -> None:
    assert sizes(Limits(5, 1), group("new", 3)) == {"new": 5}
    assert sizes(Limits(5, 1), group("new", 0), group("old", 3)) == {"old": 5}
    assert sizes(Limits(5, 1), None, group("old", 3)) == {"old": 5}
    assert sizes(Limits(3, 1), None, group("old", 3)) == {}


def test_without_any_machine_the_current_or_the_newest_set_gets_them() -> None:
    assert sizes(Limits(2, 1), group("new", 0), group("old", 0)) == {"new": 2}
    assert sizes(Limits(2, 1), None, group("a", 0, age=1), group("b", 0, age=2)) == {"a": 2}
    assert sizes(Limits(2, 1), None) == {}


def test_a_saturated_current_set_ends_the_old_ones() -> None:
    assert sizes(Limits(3, 1), group("new", 3), group("old", 1), saturated=True) == {"old": 0}


def test_sets_grow_in_proportion() -> None:
    assert sizes(Limits(20, 3), group("new", 5), group("old", 8), before=13) == {"new": 9, "old": 14}


def test_sets_shrink_in_proportion() -> None:
    assert sizes(Limits(5, 3), group("new", 5), group("old", 8), before=13) == {"new": 3, "old": 5}


def test_all_go_if_none_are_wanted() -> None:
    assert sizes(Limits(0, 3), group("new", 5), group("old", 8), before=13) == {"new": 0, "old": 0}


def test_on_delete_shares_nothing() -> None:
    assert sizes(Limits(20), group("new", 5), group("old", 8), before=13, rolling=False) == {}


@given(
    st.integers(0, 30),
    st.integers(0, 5),
    st.lists(st.integers(1, 15), min_size=2, max_size=4),
    st.integers(1, 40),
)
def test_shares_add_up(replicas: int, surge: int, wanted: list[int], before: int) -> None:
    current, *old = (group(f"set{index}", number, index) for index, number in enumerate(wanted))
    limits = Limits(replicas, surge)
    chosen = sizes(limits, current, *old, before=before)
    after = {each.name: chosen.get(each.name, each.wanted) for each in (current, *old)}
    assert all(size >= 0 for size in after.values())
    total, allowed = sum(wanted), limits.at_most if replicas else 0
    if before == total:
        assert sum(after.values()) == allowed
    if total <= allowed:
        assert sum(after.values()) <= allowed
