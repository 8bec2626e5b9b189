from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from nagaya.api.cluster.cluster_conditions import ClusterCondition
from nagaya.api.cluster.machine import Machine
from nagaya.api.meta import Condition
from nagaya.core.cluster.machine_conditions import (
    machines_ready,
    machines_up_to_date,
    next_judgement,
    remediating,
    workers_available,
)
from support.builders import NOW, Draft, date, machine, machine_deployment
from support.seen_cluster import grown_cluster, seen

READY = ClusterCondition.WORKER_MACHINES_READY
UP_TO_DATE = ClusterCondition.WORKER_MACHINES_UP_TO_DATE
JUST_NOW = {"creationTimestamp": date(NOW - timedelta(seconds=4))}
Told = tuple[str, str, str]


def told(condition: Condition) -> Told:
    return condition.status, condition.reason, condition.message


def made(machines: Sequence[Draft[Machine]]) -> list[Machine]:
    return [each.made() for each in machines]


@pytest.mark.parametrize(
    ("machines", "expected"),
    [
        ([], ("True", "NoReplicas", "")),
        ([machine("a").reporting("Ready", "True")], ("True", "Ready", "")),
        (
            [machine("a").reporting("Ready", "True"), machine("b")],
            ("Unknown", "ReadyUnknown", "* Machine b: Condition Ready not yet reported"),
        ),
        (
            [
                machine("a").reporting("Ready", "True"),
                machine("b").reporting("Ready", "False", message="HealthCheckSucceeded: gone"),
                machine("c").reporting("Ready", "Unknown", message="Node unknown"),
                machine("d").reporting("Ready", "False", message="* Deleting: Machine deletion in progress"),
            ],
            (
                "False",
                "NotReady",
                "* Machine b: HealthCheckSucceeded: gone\n* Machine d:\n  * Deleting: Machine deletion in progress\n"
                "* Machine c: Node unknown",
            ),
        ),
    ],
)
def test_machines_ready(machines: Sequence[Draft[Machine]], expected: Told) -> None:
    assert told(machines_ready(READY, made(machines))) == expected


@pytest.mark.parametrize(
    ("machines", "expected"),
    [
        ([], ("True", "NoReplicas", "")),
        ([machine("a").reporting("UpToDate", "True")], ("True", "UpToDate", "")),
        ([machine("a")], ("Unknown", "UpToDateUnknown", "* Machine a: Condition UpToDate not yet reported")),
        ([machine("a").having(metadata=JUST_NOW)], ("True", "NoReplicas", "")),
        (
            [
                machine("a")
                .having(metadata=JUST_NOW)
                .reporting("UpToDate", "False", message="* Version v1, v2 required")
            ],
            ("False", "NotUpToDate", "* Machine a:\n  * Version v1, v2 required"),
        ),
    ],
)
def test_machines_up_to_date(machines: Sequence[Draft[Machine]], expected: Told) -> None:
    assert told(machines_up_to_date(UP_TO_DATE, made(machines), NOW)) == expected


def test_a_new_machine_is_looked_at_again_when_its_grace_is_over() -> None:
    assert next_judgement(made([machine("a")]), NOW) is None
    assert next_judgement(made([machine("a").having(metadata=JUST_NOW)]), NOW) == 6.0
    assert next_judgement(made([machine("a").having(metadata=JUST_NOW)]), NOW + timedelta(seconds=6)) is None
    assert next_judgement(made([machine("a").having(metadata=JUST_NOW).reporting("UpToDate", "True")]), NOW) is None


def test_workers_are_available_when_all_deployments_are() -> None:
    subject = grown_cluster()
    assert told(workers_available(seen(subject))) == ("True", "NoWorkers", "")
    one = machine_deployment("one").reporting("Available", "True")
    assert told(workers_available(seen(subject, deployments=[one]))) == ("True", "Available", "")
    two = machine_deployment("two").reporting("Available", "False", message="1 available replicas, at least 3 required")
    assert told(workers_available(seen(subject, deployments=[one, two]))) == (
        "False",
        "NotAvailable",
        "* MachineDeployment two: 1 available replicas, at least 3 required",
    )
    silent = machine_deployment("silent")
    assert told(workers_available(seen(subject, deployments=[one, silent]))) == (
        "Unknown",
        "AvailableUnknown",
        "* MachineDeployment silent: Condition Available not yet reported",
    )


def sick(name: str) -> Draft[Machine]:
    return machine(name).reporting("HealthCheckSucceeded", "False", "NodeStartupTimeout")


@pytest.mark.parametrize(
    ("machines", "expected"),
    [
        ([machine("a")], ("False", "NotRemediating", "")),
        ([sick("a")], ("False", "NotRemediating", "Machine a is not healthy (not to be remediated)")),
        (
            [sick("b"), sick("a"), machine("c")],
            ("False", "NotRemediating", "Machines a, b are not healthy (not to be remediated)"),
        ),
        (
            [sick(name) for name in "abcde"],
            ("False", "NotRemediating", "Machines a, b, c, ... (2 more) are not healthy (not to be remediated)"),
        ),
        (
            [sick("a").reporting("OwnerRemediated", "False", message="Machine deletionTimestamp set"), sick("b")],
            ("True", "Remediating", "* Machine a: Machine deletionTimestamp set"),
        ),
    ],
)
def test_remediating(machines: Sequence[Draft[Machine]], expected: Told) -> None:
    assert told(remediating(seen(grown_cluster(), workers=machines))) == expected


def test_pools_speak_for_their_machines_themselves() -> None:
    view = seen(grown_cluster(), workers=[sick("a").labelled({"cluster.x-k8s.io/pool-name": "p"})])
    assert view.descendants.judged_workers == ()
    assert told(remediating(view)) == ("False", "NotRemediating", "")
