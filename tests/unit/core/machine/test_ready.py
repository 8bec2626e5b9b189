from __future__ import annotations

from datetime import timedelta

import pytest

from nagaya.api.cluster.machine import Machine
from nagaya.api.meta import Condition
from nagaya.core.machine.ready import available, one_line_per_control_plane, ready
from nagaya.kube.conditions import condition
from support.builders import EARLIER, NOW, Draft, MachineDraft, date, machine

GOOD = (
    machine()
    .reporting("Deleting", "False", "NotDeleting")
    .reporting("Updating", "False", "NotUpdating")
    .reporting("BootstrapConfigReady", "True", "Ready")
    .reporting("InfrastructureReady", "True", "Ready")
    .reporting("NodeHealthy", "True", "NodeHealthy")
)


def made(draft: Draft[Machine]) -> Condition:
    obj = draft.made()
    return ready(obj, obj.status.conditions, obj.status.deletion, NOW)


def test_a_machine_is_ready_when_everything_is_good() -> None:
    condition = made(GOOD)
    assert (condition.status, condition.reason, condition.message) == ("True", "Ready", "")


def test_what_is_wrong_comes_first_and_what_is_unknown_after_it() -> None:
    bad = GOOD.reporting("InfrastructureReady", "False", "NotReady", "no host").reporting(
        "NodeHealthy", "Unknown", "InspectionFailed", "nobody answers"
    )
    condition = made(bad)
    assert (condition.status, condition.reason) == ("False", "NotReady")
    assert condition.message == "* InfrastructureReady: no host\n* NodeHealthy: nobody answers"


def test_unknown_alone_is_unknown() -> None:
    condition = made(GOOD.reporting("NodeHealthy", "Unknown", "ConnectionDown", "silence"))
    assert (condition.status, condition.reason) == ("Unknown", "ReadyUnknown")


def test_a_health_check_counts_only_if_there_is_one() -> None:
    failed = GOOD.reporting("HealthCheckSucceeded", "False", "UnhealthyNode", "bad for 5m")
    assert made(GOOD).status == "True"
    assert made(failed).message == "* HealthCheckSucceeded: bad for 5m"


def test_gates_of_others_count_with_their_polarity() -> None:
    gated = GOOD.having(
        spec={"readinessGates": [{"conditionType": "Moored"}, {"conditionType": "Leaking", "polarity": "Negative"}]}
    )
    assert made(gated).message == "* Moored: Condition not yet reported\n* Leaking: Condition not yet reported"
    assert made(gated.reporting("Moored", "True").reporting("Leaking", "False")).status == "True"
    assert made(gated.reporting("Moored", "True").reporting("Leaking", "True", message="wet")).status == "False"


def test_what_is_gone_is_no_issue_while_the_machine_goes() -> None:
    going = (
        GOOD.reporting("Deleting", "True", "WaitingForBootstrapDeletion", "Waiting for BoatConfig to be deleted")
        .reporting("InfrastructureReady", "False", "ObjectDeleted", "BoatMachine has been deleted")
        .reporting("NodeHealthy", "False", "NodeDeleted", "Node node-a has been deleted")
        .deleting()
    )
    condition = made(going)
    assert condition.status == "False"
    assert condition.message == "* Deleting: Machine deletion in progress, stage: WaitingForBootstrapDeletion"


def drained(message: str, begun: timedelta, drain: timedelta) -> MachineDraft:
    return (
        GOOD.reporting("Deleting", "True", "DrainingNode", message)
        .having(status={"deletion": {"nodeDrainStartTime": date(NOW - drain)}})
        .deleting(NOW - begun)
    )


@pytest.mark.parametrize(
    ("begun", "drain", "expected"),
    [
        (15, 15, "Machine deletion in progress, stage: DrainingNode"),
        (16, 4, "Machine deletion in progress since more than 15m, stage: DrainingNode"),
        (
            16,
            6,
            "Machine deletion in progress since more than 15m, stage: DrainingNode, "
            "delay likely due to PodDisruptionBudgets, Pods not terminating",
        ),
    ],
)
def test_a_long_drain_says_what_likely_holds_it_up(begun: int, drain: int, expected: str) -> None:
    said = (
        "* Pod b: cannot evict pod as it would violate the pod's disruption budget. Budget x\n"
        "* Pod c: deletionTimestamp set, but still not removed from the Node"
    )
    draft = drained(said, timedelta(minutes=begun), timedelta(minutes=drain))
    assert made(draft).message == f"* Deleting: {expected}"


def test_control_plane_components_that_say_the_same_share_a_line() -> None:
    same = ["* NodeHealthy: x", "* APIServerPodHealthy: down", "* EtcdPodHealthy: down", "* EtcdMemberHealthy: x"]
    assert one_line_per_control_plane(same) == [
        "* NodeHealthy: x",
        "* Control plane components: down",
        "* EtcdMemberHealthy: x",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["* APIServerPodHealthy: down"],
        ["* APIServerPodHealthy: down", "* SchedulerPodHealthy: up"],
        ["* NodeHealthy: x", "no colon here"],
    ],
)
def test_lines_that_differ_stay(lines: list[str]) -> None:
    assert one_line_per_control_plane(lines) == lines


def test_a_machine_that_is_not_ready_is_not_available() -> None:
    condition, again = available(machine().made(), made(GOOD.reporting("NodeHealthy", "Unknown")), NOW)
    assert (condition.status, condition.reason, again) == ("False", "NotReady", None)


def test_a_machine_is_available_once_it_has_been_ready_for_long_enough() -> None:
    patient = machine().having(spec={"minReadySeconds": 30}).made()
    since = condition("Ready", True, "Ready", since=NOW - timedelta(seconds=10))
    told, again = available(patient, since, NOW)
    assert (told.status, told.reason, again) == ("False", "WaitingForMinReadySeconds", 20.0)
    told, again = available(patient, since, NOW + timedelta(seconds=20))
    assert (told.status, told.reason, again) == ("True", "Available", None)


def test_without_a_minimum_a_ready_machine_is_available_at_once() -> None:
    told, again = available(machine().made(), condition("Ready", True, "Ready", since=EARLIER), NOW)
    assert (told.status, again) == ("True", None)
