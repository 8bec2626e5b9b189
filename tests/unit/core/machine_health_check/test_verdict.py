from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import Machine
from nagaya.clusters.node import NODES, Node
from nagaya.core.machine_health_check.verdict import Verdict, duration, judge
from support.builders import NOW
from unit.core.machine_health_check.examples import CHECKS, LONG_AGO, check, harbour, node, worker

RUNNING = worker().running().made()


def verdict(
    machine: Machine = RUNNING,
    node: Node | None = None,
    cluster: Cluster | None = None,
    *,
    deleted: bool = False,
    now: datetime = NOW,
    **checks: Any,
) -> Verdict:
    spec = check(checks={**CHECKS, **checks}).made().spec
    return judge(spec.checks, cluster or harbour(), machine, node, deleted, now)


def said(found: Verdict) -> tuple[str, str]:
    assert found.told is not None
    assert found.again_after is None
    return found.told.reason, found.told.message


def ago(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def test_a_machine_with_a_good_node_is_healthy() -> None:
    found = verdict(node=node())
    assert found.healthy
    assert said(found) == ("HealthCheckSucceeded", "")


def test_a_machine_whose_node_is_gone_is_unhealthy() -> None:
    assert said(verdict(deleted=True)) == ("NodeDeleted", "Health check failed:\n  * Node node-a has been deleted")


@pytest.mark.parametrize(("status", "limit", "words"), [("Unknown", 300, "5m0s"), ("False", 60, "1m0s")])
def test_a_node_condition_must_not_last(status: str, limit: int, words: str) -> None:
    found = verdict(node=node(status=status, since=ago(limit + 1)))
    assert said(found) == (
        "UnhealthyNode",
        f"Health check failed:\n  * Condition Ready on Node is reporting status {status} with reason Said "
        f"for more than {words}",
    )


@pytest.mark.parametrize(("lasted", "left"), [(0, 301), (100, 201), (300, 1)])
def test_until_it_has_lasted_nothing_is_told_and_the_next_look_is_a_second_after_the_limit(
    lasted: int, left: int
) -> None:
    found = verdict(node=node(status="Unknown", since=ago(lasted)))
    assert found == Verdict(again_after=ago(left))
    assert not found.healthy
    assert not found.unhealthy


def test_a_machine_condition_must_not_last_whatever_its_node_says() -> None:
    machine = worker().running().reporting("Paint", "False", "Wet", since=NOW - ago(121)).made()
    reason, message = said(verdict(machine, node()))
    assert reason == "UnhealthyMachine"
    assert message == (
        "Health check failed:\n  * Condition Paint on Machine is reporting status False with reason Wet "
        "for more than 2m0s"
    )


def test_all_problems_are_told_those_of_the_machine_first() -> None:
    machine = worker().running().reporting("Paint", "False", "Wet", since=LONG_AGO).made()
    reason, message = said(verdict(machine, deleted=True))
    assert reason == "UnhealthyMachine"
    assert [line.split()[1] for line in message.splitlines()[1:]] == ["Condition", "Node"]


def test_the_next_look_is_for_whatever_runs_out_first() -> None:
    machine = worker().running().reporting("Paint", "False", since=NOW - ago(20)).made()
    assert verdict(machine, node(status="Unknown", since=ago(10))).again_after == ago(101)


def test_one_problem_is_enough_even_if_something_else_has_time_left() -> None:
    machine = worker().running().reporting("Paint", "False", since=NOW - ago(20)).made()
    assert verdict(machine, node(status="False")).unhealthy


@pytest.mark.parametrize(
    ("created", "initialized", "ready", "infrastructure"),
    [(10, 9000, 9000, None), (9000, 10, 9000, None), (9000, 9000, 10, None), (9000, 9000, 9000, 10)],
)
def test_the_time_to_start_counts_from_when_all_else_was_there(
    created: int, initialized: int, ready: int, infrastructure: int | None
) -> None:
    draft = worker(created=NOW - ago(created))
    if infrastructure is not None:
        draft = draft.reporting("InfrastructureReady", "True", since=NOW - ago(infrastructure))
    cluster = harbour(NOW - ago(initialized), NOW - ago(ready))
    assert verdict(draft.made(), cluster=cluster).again_after == ago(591)
    late = verdict(draft.made(), cluster=cluster, now=NOW + ago(591))
    assert said(late) == ("NodeStartupTimeout", "Health check failed:\n  * Node failed to report startup in 10m0s")


def test_infrastructure_that_is_not_ready_gives_no_more_time() -> None:
    machine = worker().reporting("InfrastructureReady", "False", since=NOW).made()
    assert said(verdict(machine))[0] == "NodeStartupTimeout"


def test_the_time_to_start_is_ten_minutes_if_left_out_and_without_end_if_zero() -> None:
    new = worker(created=NOW).made()
    assert verdict(new, nodeStartupTimeoutSeconds=None).again_after == ago(601)
    assert verdict(worker().made(), nodeStartupTimeoutSeconds=0) == Verdict()


def test_nobody_is_blamed_before_the_cluster_is_there() -> None:
    old = worker().made()
    assert verdict(old, cluster=harbour(initialized=None)) == Verdict()
    assert verdict(old, cluster=harbour(ready=None)) == Verdict()
    assert verdict(old).unhealthy


def test_the_first_machines_of_a_control_plane_are_judged_before_it_is_initialized() -> None:
    old = worker().control_plane().made()
    assert verdict(old, cluster=harbour(initialized=None)).unhealthy
    assert verdict(old, cluster=harbour(initialized=None, ready=None)) == Verdict()


def test_a_machine_is_healthy_while_the_infrastructure_of_its_cluster_is_not_ready() -> None:
    assert verdict(node=node(status="False"), cluster=harbour(ready=None)).healthy


def test_whoever_asks_for_remediation_gets_it_at_once() -> None:
    machine = worker().running().annotated({"cluster.x-k8s.io/remediate-machine": ""}).made()
    assert said(verdict(machine, node(), harbour(None, None))) == (
        "HasRemediateAnnotation",
        "Health check failed: marked for remediation via cluster.x-k8s.io/remediate-machine annotation",
    )


def test_a_machine_that_goes_is_not_called_healthy() -> None:
    assert verdict(worker().running().deleting().made(), node()) == Verdict()


def test_a_condition_without_a_date_has_lasted_forever() -> None:
    undated = NODES.convert({"metadata": {"name": "x"}, "status": {"conditions": [{"type": "Ready"}]}})
    assert verdict(node=undated).unhealthy


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0s"), (59, "59s"), (60, "1m0s"), (3600, "1h0m0s"), (3725, "1h2m5s")]
)
def test_durations_are_written_as_go_does(seconds: int, words: str) -> None:
    assert duration(ago(seconds)) == words


@given(lasted=st.integers(0, 1000), painted=st.integers(0, 1000), status=st.sampled_from(["True", "False", "Unknown"]))
def test_at_the_time_of_the_next_look_something_is_known(lasted: int, painted: int, status: str) -> None:
    machine = worker().running().reporting("Paint", "False", since=NOW - ago(painted)).made()
    there = node(status=status, since=ago(lasted))
    found = verdict(machine, there)
    if found.again_after is None:
        assert found.unhealthy
    else:
        assert verdict(machine, there, now=NOW + found.again_after).unhealthy
        assert not verdict(machine, there, now=NOW + found.again_after - ago(1)).unhealthy
