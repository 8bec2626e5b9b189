from datetime import UTC, datetime
from typing import Any

import pytest

from nagaya.apiserver.table.builtin.pods import PODS
from support.subtest_cases import subtest_cases

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def row(pod_spec: dict[str, Any], pod_status: dict[str, Any], **metadata: Any) -> list[Any]:
    return PODS.row({"metadata": {"name": "p", **metadata}, "spec": pod_spec, "status": pod_status}, NOW)


def container(**state: Any) -> dict[str, Any]:
    return {"name": "c", "state": state, "ready": "running" in state}


ONE = {"containers": [{"name": "c"}]}


@subtest_cases(
    ("observed", "ready", "reason"),
    [
        ({}, "0/1", ""),
        ({"phase": "Pending"}, "0/1", "Pending"),
        ({"phase": "Running", "containerStatuses": [container(running={})]}, "1/1", "Running"),
        ({"phase": "Failed", "reason": "Evicted"}, "0/1", "Evicted"),
        (
            {"phase": "Running", "containerStatuses": [container(waiting={"reason": "CrashLoopBackOff"})]},
            "0/1",
            "CrashLoopBackOff",
        ),
        ({"phase": "Failed", "containerStatuses": [container(terminated={"exitCode": 3})]}, "0/1", "ExitCode:3"),
        (
            {"phase": "Failed", "containerStatuses": [container(terminated={"exitCode": 3, "signal": 9})]},
            "0/1",
            "Signal:9",
        ),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "0/1",
            "SchedulingGated",
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [container(terminated={"reason": "Completed"}), container(running={})],
            },
            "1/1",
            "NotReady",
        ),
        (
            {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [container(terminated={"reason": "Completed"}), container(running={})],
            },
            "1/1",
            "Running",
        ),
    ],
)
def test_the_state_of_the_containers_is_summed_up(observed: dict[str, Any], ready: str, reason: str) -> None:
    assert row(ONE, observed)[1:3] == [ready, reason]


@pytest.mark.parametrize(
    ("init", "reason"),
    [
        (container(running={}), "Init:0/1"),
        (container(waiting={"reason": "PodInitializing"}), "Init:0/1"),
        (container(waiting={"reason": "ErrImagePull"}), "Init:ErrImagePull"),
        (container(terminated={"exitCode": 2}), "Init:ExitCode:2"),
        (container(terminated={"exitCode": 2, "reason": "Error"}), "Init:Error"),
        (container(terminated={"exitCode": 0}), "Pending"),
    ],
)
def test_an_init_container_that_is_not_done_gives_the_reason(init: dict[str, Any], reason: str) -> None:
    pod_spec = {**ONE, "initContainers": [{"name": "c"}]}
    assert row(pod_spec, {"phase": "Pending", "initContainerStatuses": [init]})[2] == reason


def test_a_sidecar_counts_as_a_container() -> None:
    pod_spec = {**ONE, "initContainers": [{"name": "s", "restartPolicy": "Always"}]}
    sidecar = {"name": "s", "started": True, "ready": True, "restartCount": 2, "state": {"running": {}}}
    observed = {
        "phase": "Running",
        "initContainerStatuses": [sidecar],
        "containerStatuses": [{**container(running={}), "restartCount": 1}],
    }
    assert row(pod_spec, observed)[1:4] == ["2/2", "Running", "3"]


def test_the_last_restart_is_dated() -> None:
    ends = ["2026-11-15T23:00:00Z", "2026-11-15T22:00:00Z"]
    observed = {
        "phase": "Running",
        "containerStatuses": [
            {**container(running={}), "restartCount": 1, "lastState": {"terminated": {"finishedAt": end}}}
            for end in ends
        ],
    }
    assert row(ONE, observed)[3] == "2 (60m ago)"


@pytest.mark.parametrize(
    ("observed", "reason"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
        ({"phase": "Succeeded"}, "Succeeded"),
    ],
)
def test_a_deleted_pod_is_terminating_unless_it_is_over(observed: dict[str, Any], reason: str) -> None:
    assert row(ONE, observed, deletionTimestamp="2026-11-15T00:00:00Z")[2] == reason


def test_the_wide_columns_say_where_the_pod_is() -> None:
    pod_spec = {**ONE, "nodeName": "n", "readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}]}
    observed = {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "x", "status": "True"}]}
    assert row(pod_spec, observed)[5:] == ["10.0.0.1", "n", "<none>", "1/2"]
    assert row(ONE, {})[5:] == ["<none>"] * 4


def test_a_pod_that_is_over_is_marked() -> None:
    assert PODS.conditions is not None
    assert PODS.conditions({"status": {"phase": "Failed"}}) == [
        {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}
    ]
    assert PODS.conditions({"status": {"phase": "Running"}}) is None
