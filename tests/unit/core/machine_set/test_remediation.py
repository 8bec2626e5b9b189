"""What becomes of machines that a health check gave up. Cases and texts are those of Cluster API's own tests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.core.machine_set.remediation import remediation, scaled
from nagaya.core.machine_set.seen import Seen
from nagaya.core.machine_set.steps import Delete, Remark
from unit.core.machine_set.examples import Worker, control_plane, deployment, of_deployment, seen, worker, workers

ALL = ("All",)
MINUTE = timedelta(minutes=1)


def sick(name: str, age: timedelta = timedelta(hours=1)) -> Worker:
    machine = worker(name).created(age).reporting("HealthCheckSucceeded", "False")
    return machine.reporting("OwnerRemediated", "False", "WaitingForRemediation")


def under_way(name: str) -> Worker:
    return sick(name).going().reporting("OwnerRemediated", "False", "MachineDeleting")


def deleted(found: Seen) -> list[str]:
    return [each.machine.metadata.name for each in remediation(found, ALL) if isinstance(each, Delete)]


def remarks(found: Seen) -> dict[str, tuple[str, str] | None]:
    return {
        each.machine.metadata.name: None if each.condition is None else (each.condition.reason, each.condition.message)
        for each in remediation(found, ALL)
        if isinstance(each, Remark)
    }


def in_deployment(*machines: Worker, **limits: Any) -> Seen:
    return seen(of_deployment(workers()), *machines, deployment=deployment(**limits))


def test_healthy_machines_are_left_alone() -> None:
    assert list(remediation(seen(None, worker("a").working(), worker("b")), ALL)) == []


def test_a_machine_that_is_unhealthy_but_somebody_elses_to_heal_is_left_alone() -> None:
    assert list(remediation(seen(None, worker("a").reporting("HealthCheckSucceeded", "False")), ALL)) == []


def test_unhealthy_machines_are_told_first_and_deleted_then() -> None:
    steps = list(remediation(seen(None, sick("a"), sick("b"), worker("c").working()), ALL))
    assert [type(each) for each in steps] == [Remark, Remark, Delete, Delete]
    assert remarks(seen(None, sick("a"))) == {"a": ("MachineDeleting", "Machine is deleting")}


def test_a_machine_that_recovered_is_told_nothing_any_more() -> None:
    well = sick("a").reporting("HealthCheckSucceeded", "True")
    assert remarks(seen(None, well)) == {"a": None}
    assert remarks(seen(None, well.going())) == {}


def test_a_machine_that_is_going_already_is_not_deleted_again() -> None:
    assert list(remediation(seen(None, under_way("a")), ALL)) == []


def test_a_set_that_a_rollout_replaces_heals_nothing() -> None:
    found = seen(of_deployment(workers(), "1"), sick("a"), deployment=deployment("2"))
    message = "Machine won't be remediated because it is pending removal due to rollout"
    assert remarks(found) == {"a": ("CannotBeRemediated", message)}
    assert deleted(found) == []


def test_the_newest_go_first_and_before_them_those_that_a_user_named() -> None:
    old, new, named = sick("old", 9 * MINUTE), sick("new", MINUTE), sick("named", 5 * MINUTE)
    named = named.marked("cluster.x-k8s.io/remediate-machine")
    assert deleted(in_deployment(old, new, named, max_in_flight=2)) == ["named", "new"]
    told = remarks(in_deployment(old, new, named, max_in_flight=2))
    assert told["old"] == (
        "RemediationDeferred",
        "Waiting because there are already too many remediations in progress "
        "(spec.strategy.remediation.maxInFlight is 2)",
    )


def test_remediations_under_way_count() -> None:
    assert deleted(in_deployment(sick("a"), sick("b"), under_way("c"), max_in_flight=2)) == ["a"]
    full = in_deployment(sick("a"), under_way("b"), max_in_flight="20%", replicas=5)
    assert deleted(full) == []
    told = remarks(full)["a"]
    assert told is not None
    assert told[1].endswith("(spec.strategy.remediation.maxInFlight is 20%)")


def test_nothing_is_deleted_that_could_not_be_made_again() -> None:
    found = seen(None, sick("a"), control_plane=control_plane("v1.36.3", "v1.36.2"))
    assert deleted(found) == []
    message = '* TestControlPlane tenants/cp is upgrading ("ControlPlaneIsStable" preflight check failed)'
    assert remarks(found) == {"a": ("RemediationDeferred", message)}


@pytest.mark.parametrize(("limit", "total", "answer"), [(3, 10, 3), ("20%", 10, 2), ("20%", 11, 3), ("1%", 1, 1)])
def test_shares_are_rounded_up(limit: int | str, total: int, answer: int) -> None:
    assert scaled(limit, total) == answer


@pytest.mark.parametrize("limit", ["3", "x%", "20%x", "-1%"])
def test_what_is_neither_a_number_nor_a_share_is_refused(limit: str) -> None:
    with pytest.raises(ValueError, match="neither a number nor a share"):
        scaled(limit, 10)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_there_are_never_more_under_way_than_allowed(ill: int, going: int, limit: int) -> None:
    machines = [*(sick(f"s{each}") for each in range(ill)), *(under_way(f"u{each}") for each in range(going))]
    found = in_deployment(*machines, max_in_flight=limit)
    count = len(deleted(found))
    assert count == max(0, min(ill, limit - going))
    assert len(remarks(found)) == ill
