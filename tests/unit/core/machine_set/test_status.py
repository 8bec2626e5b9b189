"""What a set tells. Texts are those of Cluster API's own tests and of its managers at work."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from nagaya.api.cluster.machine_set import MachineSet, MachineSetStatus
from nagaya.api.meta import Condition
from nagaya.clusters.pause import status_while_paused
from nagaya.core.machine_set.seen import Seen
from nagaya.core.machine_set.status import news, seconds_until_news, status
from nagaya.kube.status_change import is_news
from support.builders import NOW, date
from unit.core.machine_set.examples import CONFIG_TEMPLATES, CONFIGS, Worker, seen, template, worker, workers

MINUTE = timedelta(minutes=1)
GONE = workers(2, deletion_timestamp=NOW)


def told(found: Seen, type: str, *on_hold: str) -> tuple[str, str, str]:
    conditions = {each.type: each for each in status(found, on_hold, 1, complete=True).conditions}
    each = conditions[type]
    return each.status, each.reason, each.message


def without_templates(found: Seen, *, both: bool = False) -> Seen:
    assert found.infrastructure is not None
    assert found.bootstrap is not None
    bootstrap = replace(found.bootstrap, object=None) if both else found.bootstrap
    return replace(found, infrastructure=replace(found.infrastructure, object=None), bootstrap=bootstrap)


def draining(name: str, message: str, drained: timedelta = 6 * MINUTE) -> Worker:
    machine = worker(name).going(16 * MINUTE).reporting("Deleting", "True", "DrainingNode", message)
    return machine.having(status={"deletion": {"nodeDrainStartTime": date(NOW - drained)}})


def test_a_set_in_order_tells_all_its_conditions() -> None:
    found = status(seen(None, worker("a").working(), worker("b").working()), (), 1, complete=True)
    assert {each.type: (each.status, each.reason, each.message) for each in found.conditions} == {
        "MachinesReady": ("True", "Ready", ""),
        "MachinesUpToDate": ("True", "UpToDate", ""),
        "ScalingUp": ("False", "NotScalingUp", ""),
        "ScalingDown": ("False", "NotScalingDown", ""),
        "Remediating": ("False", "NotRemediating", ""),
        "Deleting": ("False", "NotDeleting", ""),
        "Paused": ("False", "NotPaused", ""),
    }
    assert {each.observed_generation for each in found.conditions} == {1}
    assert msgspec.to_builtins(found) | {"conditions": ()} == {
        "conditions": (),
        "selector": "cluster.x-k8s.io/cluster-name=shop,set=workers",
        "replicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "upToDateReplicas": 2,
        "versions": ({"version": "v1.36.3", "replicas": 2},),
        "observedGeneration": 1,
    }


def test_machines_that_are_updated_in_place_do_not_count_as_ready() -> None:
    updating = worker("a").working().marked("in-place-updates.internal.cluster.x-k8s.io/update-in-progress")
    found = status(seen(None, updating, worker("b").working()), (), 1, complete=True)
    assert (found.replicas, found.ready_replicas, found.available_replicas, found.up_to_date_replicas) == (2, 1, 1, 1)


def test_a_generation_counts_as_observed_only_when_it_is_through() -> None:
    assert status(seen(), (), 7, complete=False).observed_generation is None
    assert status(seen(), (), 7, complete=True).observed_generation == 7


def test_scaling_up() -> None:
    assert told(seen(workers(3), worker("a")), "ScalingUp") == (
        "True",
        "ScalingUp",
        "Scaling up from 1 to 3 replicas",
    )


def test_scaling_up_says_what_it_waits_for() -> None:
    assert told(without_templates(seen(workers(3), worker("a")), both=True), "ScalingUp", "one", "two") == (
        "True",
        "ScalingUp",
        "Scaling up from 1 to 3 replicas is blocked because:\n* one\n* two\n"
        "* TestConfigTemplate and TestMachineTemplate do not exist",
    )


def test_scaling_up_would_be_blocked() -> None:
    found = without_templates(seen(workers(1), worker("a")))
    blocked = "Scaling up would be blocked because TestMachineTemplate does not exist"
    assert told(found, "ScalingUp") == ("False", "NotScalingUp", blocked)
    going = without_templates(seen(GONE, worker("a")))
    assert told(going, "ScalingUp") == ("False", "NotScalingUp", "")


@pytest.mark.parametrize("type", ["ScalingUp", "ScalingDown"])
def test_without_a_number_there_is_nothing_to_scale_to(type: str) -> None:
    assert told(seen(workers(None)), type) == ("Unknown", "WaitingForReplicasSet", "Waiting for spec.replicas set")


def test_scaling_down() -> None:
    assert told(seen(workers(1), worker("a"), worker("b").going()), "ScalingDown") == (
        "True",
        "ScalingDown",
        "Scaling down from 2 to 1 replicas",
    )


def test_machines_that_arrive_from_another_set_are_not_too_many() -> None:
    moved = worker("b").marked("in-place-updates.internal.cluster.x-k8s.io/pending-acknowledge-move")
    assert told(seen(workers(1), worker("a"), moved), "ScalingDown")[0] == "False"


def test_machines_that_take_long_to_go_are_named() -> None:
    late = [worker(name).going(16 * MINUTE) for name in "abcd"]
    assert told(seen(workers(0), *late[:1]), "ScalingDown")[2] == (
        "Scaling down from 1 to 0 replicas\n* Machine a is in deletion since more than 15m"
    )
    assert told(seen(workers(0), *late), "ScalingDown")[2] == (
        "Scaling down from 4 to 0 replicas\n* Machines a, b, c, ... (1 more) are in deletion since more than 15m"
    )


def test_what_holds_machines_is_named_too() -> None:
    found = seen(
        GONE,
        draining("a", "Pod x: cannot evict pod as it would violate the pod's disruption budget. More"),
        draining("b", "Pod y: deletionTimestamp set, but still not removed from the Node"),
        draining("c", "waiting for completion", drained=4 * MINUTE),
    )
    assert told(found, "Deleting") == (
        "True",
        "Deleting",
        "Deleting 3 Machines\n* Machines a, b, c are in deletion since more than 15m, "
        "delay likely due to PodDisruptionBudgets, Pods not terminating",
    )


def test_deleting() -> None:
    assert told(seen(GONE, worker("a")), "Deleting") == ("True", "Deleting", "Deleting 1 Machine")
    assert told(seen(GONE), "Deleting") == ("True", "Deleting", "Deletion completed")


def test_ready_is_what_the_machines_say() -> None:
    down = worker("b").working().reporting("Ready", "False", "NotReady", "* NodeHealthy: gone")
    assert told(seen(None, worker("a"), down), "MachinesReady") == (
        "False",
        "NotReady",
        "* Machine b:\n  * NodeHealthy: gone\n* Machine a: Condition Ready not yet reported",
    )
    assert told(seen(None, worker("a")), "MachinesReady")[:2] == ("Unknown", "ReadyUnknown")
    assert told(seen(), "MachinesReady") == ("True", "NoReplicas", "")


def test_a_new_machine_may_be_silent_about_being_up_to_date_for_a_while() -> None:
    new, old = worker("a").created(timedelta(seconds=9)), worker("a").created(timedelta(seconds=10))
    assert told(seen(None, new), "MachinesUpToDate") == ("True", "NoReplicas", "")
    assert told(seen(None, old), "MachinesUpToDate") == (
        "Unknown",
        "UpToDateUnknown",
        "* Machine a: Condition UpToDate not yet reported",
    )


def test_remediating() -> None:
    sick = worker("a").reporting("HealthCheckSucceeded", "False")
    assert told(seen(None, sick), "Remediating") == (
        "False",
        "NotRemediating",
        "Machine a is not healthy (not to be remediated by MachineSet)",
    )
    healed = sick.reporting("OwnerRemediated", "False", "MachineDeleting", "Machine is deleting")
    assert told(seen(None, healed), "Remediating") == ("True", "Remediating", "* Machine a: Machine is deleting")


def test_a_selector_that_makes_no_sense_makes_everything_unknown() -> None:
    found = status(seen(None, worker("a"), selector=None), (), 1, complete=False)
    unknown = [each for each in found.conditions if each.status == "Unknown"]
    assert len(unknown) == 6
    assert {(each.reason, each.message) for each in unknown} == {
        ("InternalError", "Please check controller logs for errors")
    }
    assert found.replicas is None


def test_a_paused_set_keeps_what_it_said_before() -> None:
    before = status(seen(None, worker("a").working()), (), 1, complete=True)
    machine_set: MachineSet = msgspec.structs.replace(workers(), status=before)
    after = status_while_paused(machine_set, "Cluster spec.paused is set to true", NOW)
    paused = next(each for each in after.conditions if each.type == "Paused")
    assert (paused.status, paused.reason, paused.message) == ("True", "Paused", "Cluster spec.paused is set to true")
    rest: tuple[Condition, ...] = tuple(each for each in after.conditions if each.type != "Paused")
    assert rest == tuple(each for each in before.conditions if each.type != "Paused")
    assert after.replicas == 1


@pytest.mark.parametrize(
    ("machine_set", "machine", "seconds"),
    [
        (workers(1), worker("a").working(), None),
        (workers(1), worker("a").created(timedelta(seconds=4)), 6.0),
        (workers(1), worker("a").created(timedelta(seconds=40)), None),
        (workers(1), worker("a").working().going(14 * MINUTE), None),
        (workers(0), worker("a").working().going(14 * MINUTE), 60.001),
        (workers(0), draining("a", "", 4 * MINUTE).reporting("UpToDate", "True"), 60.001),
        (GONE, worker("a").working().going(20 * MINUTE), None),
    ],
)
def test_time_alone_brings_a_set_back_only_when_it_changes_what_is_told(
    machine_set: Any, machine: Worker, seconds: float | None
) -> None:
    assert seconds_until_news(seen(machine_set, machine)) == seconds


def test_a_kind_that_nobody_serves_is_told_like_any_other_reason() -> None:
    lost = replace(template(CONFIG_TEMPLATES, CONFIGS), kind=None, object=None, problem="Nobody serves it.")
    message = told(seen(workers(1), bootstrap=lost), "ScalingUp", lost.problem)[2]
    assert message == "Scaling up from 0 to 1 replicas is blocked because:\n* Nobody serves it."


def test_numbers_are_news_when_the_last_machine_is_available() -> None:
    def counted(available: int) -> MachineSetStatus:
        return MachineSetStatus(replicas=3, ready_replicas=3, available_replicas=available)

    def at_once(before: int, after: int) -> bool:
        wanted = counted(after)
        return is_news(msgspec.to_builtins(counted(before)), msgspec.to_builtins(wanted), news(wanted))

    assert not at_once(0, 1)
    assert not at_once(1, 2)
    assert at_once(2, 3)
