"""The numbers of a Deployment's rollout."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.tenant.rollout import Count, Limits, recreating, rolling


def test_the_new_set_grows_by_the_surge_first() -> None:
    assert rolling(Limits(3, 1, 0), Count("new", 0, 0), [Count("old", 3, 3)]) == {"new": 1}


def test_an_old_set_shrinks_when_a_new_pod_is_available() -> None:
    assert rolling(Limits(3, 1, 0), Count("new", 1, 0), [Count("old", 3, 3)]) == {}
    assert rolling(Limits(3, 1, 0), Count("new", 1, 1), [Count("old", 3, 3)]) == {"old": 2}


def test_old_pods_that_are_not_available_go_at_once() -> None:
    assert rolling(Limits(3, 0, 1), Count("new", 0, 0), [Count("old", 3, 2)]) == {"old": 2}


def test_recreating_waits_until_the_last_old_pod_is_gone() -> None:
    new, old = Count("new", 0, 0), Count("old", 2, 2)
    assert recreating(2, new, [old], 2) == {"old": 0}
    assert recreating(2, new, [Count("old", 0, 0)], 1) == {}
    assert recreating(2, new, [Count("old", 0, 0)], 0) == {"new": 2}


@given(st.integers(0, 12), st.integers(0, 5), st.integers(0, 5), st.lists(st.integers(0, 8), max_size=3))
def test_every_rollout_ends_and_keeps_its_limits(desired: int, surge: int, unavailable: int, sizes: list[int]) -> None:
    unavailable = min(desired, unavailable or (0 if surge else 1))
    limits = Limits(desired, surge, unavailable)
    replicas = {"new": 0} | {f"old{number}": size for number, size in enumerate(sizes)}
    most = max(desired + surge, sum(replicas.values()))
    for _ in range(100):
        counts = {name: Count(name, size, size) for name, size in replicas.items()}
        before = sum(replicas.values())
        steps = rolling(limits, counts["new"], [counts[name] for name in replicas if name != "new"])
        if not steps:
            break
        replicas |= steps
        assert sum(replicas.values()) <= most
        assert sum(replicas.values()) >= min(before, desired - unavailable)
    assert replicas == {"new": desired} | {name: 0 for name in replicas if name != "new"}
