"""Tolerations match taints as in Kubernetes: by the rules of its code, written down here a second time as a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.cloud.lint.taints import (
    NOT_READY,
    NOT_READY_EVICTS,
    UNINITIALIZED,
    UNREACHABLE_EVICTS,
    Taint,
    Toleration,
    eviction_after,
    of_daemon_pod,
    of_other_pod,
    parse_taints,
    untolerated,
)
from support.subtest_cases import subtest_cases

TAINT = Taint("key", "NoSchedule", "value")


@subtest_cases(
    ("toleration", "expected"),
    [
        (Toleration("key", "Equal", "value", "NoSchedule"), True),
        (Toleration("key", "", "value", "NoSchedule"), True),  # no operator means Equal
        (Toleration("key", "Equal", "other", "NoSchedule"), False),
        (Toleration("key", "Equal", "", "NoSchedule"), False),  # the value that is not given is not any value
        (Toleration("key", "Exists", "", "NoSchedule"), True),
        (Toleration("key", "Exists", "", ""), True),  # no effect means all effects
        (Toleration("key", "Exists", "", "NoExecute"), False),
        (Toleration("other", "Exists", "", ""), False),
        (Toleration("", "Exists", "", ""), True),  # no key means all keys
        (Toleration("", "Exists", "", "NoExecute"), False),
        (Toleration("", "Equal", "value", ""), True),  # the API refuses it; the matching does not
        (Toleration("key", "exists", "", ""), False),
        (Toleration("key", "Gt", "1", ""), False),
        (Toleration("key", "Lt", "9", ""), False),
    ],
)
def test_a_toleration_matches_by_the_rules_of_kubernetes(toleration: Toleration, expected: bool) -> None:
    assert toleration.tolerates(TAINT) is expected


_KEYS = st.sampled_from(["", "a", "b", UNINITIALIZED.key])
_VALUES = st.sampled_from(["", "true", "x"])
_EFFECTS = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
_TAINTS = st.builds(Taint, _KEYS.filter(bool), _EFFECTS, _VALUES)
_TOLERATIONS = st.builds(
    Toleration,
    _KEYS,
    st.sampled_from(["", "Equal", "Exists", "Lt", "nonsense"]),
    _VALUES,
    st.one_of(st.just(""), _EFFECTS),
)


def _by_the_table(toleration: Toleration, taint: Taint) -> bool:
    """Which of all possible taints a toleration covers, as the set that Kubernetes' documentation describes."""
    effects = {toleration.effect} if toleration.effect else {"NoSchedule", "NoExecute", "PreferNoSchedule"}
    keys = {toleration.key} if toleration.key else {taint.key}
    values = {"Exists": {taint.value}, "Equal": {toleration.value}, "": {toleration.value}}
    return taint.effect in effects and taint.key in keys and taint.value in values.get(toleration.operator, set())


@given(st.lists(_TAINTS, max_size=4), st.lists(_TOLERATIONS, max_size=4))
def test_a_pod_is_called_unschedulable_exactly_if_a_taint_that_keeps_away_is_matched_by_nothing(
    taints: list[Taint], tolerations: list[Toleration]
) -> None:
    expected = [
        taint
        for taint in taints
        if taint.effect != "PreferNoSchedule" and not any(_by_the_table(each, taint) for each in tolerations)
    ]

    assert list(untolerated(taints, tolerations)) == expected


@given(st.lists(_TAINTS, max_size=4), st.lists(_TOLERATIONS, max_size=4), _TOLERATIONS)
def test_one_more_toleration_never_makes_it_worse(
    taints: list[Taint], tolerations: list[Toleration], more: Toleration
) -> None:
    assert set(untolerated(taints, [*tolerations, more])) <= set(untolerated(taints, tolerations))


def test_a_daemon_pod_tolerates_being_evicted_but_not_the_taints_of_a_new_node() -> None:
    tolerations = of_daemon_pod((), host_network=True)

    assert untolerated((NOT_READY_EVICTS, UNREACHABLE_EVICTS), tolerations) == ()
    assert untolerated((NOT_READY, UNINITIALIZED), tolerations) == (NOT_READY, UNINITIALIZED)


def test_a_daemon_pod_in_the_host_network_does_not_mind_that_the_network_is_unavailable() -> None:
    taint = Taint("node.kubernetes.io/network-unavailable", "NoSchedule")

    assert untolerated((taint,), of_daemon_pod((), host_network=True)) == ()
    assert untolerated((taint,), of_daemon_pod((), host_network=False)) == (taint,)


def test_the_daemon_controller_puts_its_own_in_the_place_of_the_same_with_a_time() -> None:
    own = Toleration(NOT_READY_EVICTS.key, "Exists", effect="NoExecute", seconds=5)

    assert eviction_after(NOT_READY_EVICTS, of_daemon_pod((own,), host_network=False)) is None


def test_other_pods_get_five_minutes_unless_they_speak_of_it() -> None:
    own = Toleration(NOT_READY_EVICTS.key, "Exists", effect="NoExecute", seconds=5)

    assert eviction_after(NOT_READY_EVICTS, of_other_pod(())) == 300
    assert eviction_after(NOT_READY_EVICTS, of_other_pod((own,))) == 5
    assert eviction_after(UNREACHABLE_EVICTS, of_other_pod((own,))) == 300


@pytest.mark.parametrize(
    ("seconds", "expected"), [([], 0), ([None], None), ([30, None], 30), ([30, 10], 10), ([-4], 0)]
)
def test_the_shortest_time_counts(seconds: list[int | None], expected: int | None) -> None:
    tolerations = [Toleration(NOT_READY_EVICTS.key, "Exists", seconds=each) for each in seconds]

    assert eviction_after(NOT_READY_EVICTS, tolerations) == expected


def test_taints_are_read_from_the_kubelets_option() -> None:
    assert parse_taints("a=b:NoSchedule, c:NoExecute,,d/e=:NoSchedule") == (
        Taint("a", "NoSchedule", "b"),
        Taint("c", "NoExecute"),
        Taint("d/e", "NoSchedule"),
    )
    assert str(UNINITIALIZED) == "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"
    assert str(NOT_READY) == "node.kubernetes.io/not-ready:NoSchedule"
