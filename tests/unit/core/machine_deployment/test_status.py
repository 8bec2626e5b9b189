"""What a deployment tells of itself."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_deployment import MachineDeploymentStatus
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.clusters.external import Referenced
from nagaya.clusters.pause import status_while_paused
from nagaya.core.machine_deployment.seen import Seen, selector_of
from nagaya.core.machine_deployment.status import CONDITIONS, FIELDS, next_look, status
from nagaya.core.machine_deployment.templates import NOT_LOOKED_AT, Templates
from nagaya.kube.conditions import get
from support.builders import NOW, Draft, cluster, date, machine, machine_deployment, machine_set

Said = tuple[str, str, str]


def deployment(replicas: int | None = 3, **spec: Any) -> Draft[Any]:
    draft = machine_deployment().having(spec={"selector": {"matchLabels": {"role": "deckhand"}}, **spec})
    return draft if replicas is None else draft.having(spec={"replicas": replicas})


def a_set(machines: int | None, available: int | None = None, **status: Any) -> MachineSet:
    numbers = {"replicas": machines, "availableReplicas": available}
    return machine_set().having(status={**numbers, **status}).made()


def told(
    draft: Draft[Any],
    *sets: MachineSet,
    machines: tuple[Machine, ...] = (),
    templates: Templates = NOT_LOOKED_AT,
    stuck: bool = False,
) -> MachineDeploymentStatus:
    return status(looked(draft, *sets, machines=machines, templates=templates), stuck=stuck)


def looked(draft: Draft[Any], *sets: MachineSet, **more: Any) -> Seen:
    made = draft.made()
    selector, problem = selector_of(made)
    return Seen(made, cluster().made(), NOW, sets, selector=selector, problem=problem, **more)


def said(found: MachineDeploymentStatus, type: str) -> Said:
    condition = get(found.conditions, type)
    assert condition is not None
    assert condition.observed_generation == 1
    return condition.status, condition.reason, condition.message


def without_templates(*kinds: str) -> Templates:
    spec = deployment().made().spec.template.spec
    references = {"bootstrap": spec.bootstrap.config_ref, "infrastructure": spec.infrastructure_ref}
    return Templates(tuple(Referenced(each) for name, each in references.items() if name in kinds and each is not None))


def test_a_new_deployment_waits_for_its_set() -> None:
    found = told(deployment())
    assert said(found, "Available") == (
        "Unknown",
        "WaitingForAvailableReplicasSet",
        "Waiting for status.availableReplicas set",
    )
    assert said(found, "ScalingUp") == ("True", "ScalingUp", "Scaling up from 0 to 3 replicas")
    assert said(found, "MachinesReady") == ("True", "NoReplicas", "")
    assert said(found, "MachinesUpToDate") == ("True", "NoReplicas", "")
    assert said(found, "RollingOut") == ("False", "NotRollingOut", "")
    assert said(found, "Remediating") == ("False", "NotRemediating", "")
    assert said(found, "Deleting") == ("False", "NotDeleting", "")
    assert said(found, "Paused") == ("False", "NotPaused", "")
    assert found.phase == "ScalingUp"
    assert found.selector == "role=deckhand"
    assert found.observed_generation == 1
    assert (found.replicas, found.available_replicas) == (None, None)
    assert {each.type for each in found.conditions} == set(CONDITIONS)


def test_numbers_are_the_sums_of_those_that_sets_tell() -> None:
    found = told(
        deployment(),
        a_set(2, 1, readyReplicas=2, upToDateReplicas=2, versions=[{"version": "v1.36.3", "replicas": 2}]),
        a_set(1, 1, upToDateReplicas=0, versions=[{"version": "v1.35.0", "replicas": 1}]),
        a_set(None),
    )
    assert (found.replicas, found.ready_replicas, found.available_replicas, found.up_to_date_replicas) == (3, 2, 2, 2)
    assert [each.version for each in found.versions] == ["v1.35.0", "v1.36.3"]


@pytest.mark.parametrize(
    ("draft", "available", "expected"),
    [
        (deployment(), 3, ("True", "Available", "")),
        (
            deployment(),
            2,
            (
                "False",
                "NotAvailable",
                "2 available replicas, at least 3 required "
                "(spec.strategy.rollout.maxUnavailable is 0, spec.replicas is 3)",
            ),
        ),
        (
            deployment(10, rollout={"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%"}}}),
            7,
            (
                "False",
                "NotAvailable",
                "7 available replicas, at least 8 required "
                "(spec.strategy.rollout.maxUnavailable is 25%, spec.replicas is 10)",
            ),
        ),
        (
            deployment(2, rollout={"strategy": {"type": "OnDelete"}}),
            1,
            ("False", "NotAvailable", "1 available replicas, at least 2 required"),
        ),
        (deployment().deleting(), 1, ("False", "NotAvailable", "Deletion in progress")),
        (deployment(None), 1, ("Unknown", "WaitingForReplicasSet", "Waiting for spec.replicas set")),
        (
            deployment().having(spec={"selector": {"matchLabels": {"role": None}}}),
            1,
            ("Unknown", "InternalError", "Please check controller logs for errors"),
        ),
    ],
)
def test_available(draft: Draft[Any], available: int, expected: Said) -> None:
    assert said(told(draft, a_set(available, available)), "Available") == expected


@pytest.mark.parametrize(
    ("draft", "present", "missing", "expected"),
    [
        (deployment(), 3, (), ("False", "NotScalingUp", "")),
        (deployment(), 1, (), ("True", "ScalingUp", "Scaling up from 1 to 3 replicas")),
        (
            deployment(),
            1,
            ("infrastructure",),
            (
                "True",
                "ScalingUp",
                "Scaling up from 1 to 3 replicas is blocked because BoatMachineTemplate does not exist",
            ),
        ),
        (
            deployment(),
            0,
            ("bootstrap", "infrastructure"),
            (
                "True",
                "ScalingUp",
                "Scaling up from 0 to 3 replicas is blocked because "
                "BoatConfigTemplate and BoatMachineTemplate do not exist",
            ),
        ),
        (
            deployment(),
            3,
            ("bootstrap",),
            ("False", "NotScalingUp", "Scaling up would be blocked because BoatConfigTemplate does not exist"),
        ),
        (deployment().deleting(), 0, ("bootstrap",), ("False", "NotScalingUp", "")),
        (deployment(None), 0, (), ("Unknown", "WaitingForReplicasSet", "Waiting for spec.replicas set")),
    ],
)
def test_scaling_up(draft: Draft[Any], present: int, missing: tuple[str, ...], expected: Said) -> None:
    assert said(told(draft, a_set(present), templates=without_templates(*missing)), "ScalingUp") == expected


def test_scaling_down_tells_what_takes_long() -> None:
    slow = machine("a").deleting(NOW - timedelta(minutes=20)).made()
    found = told(deployment(1), a_set(3), machines=(slow,))
    assert said(found, "ScalingDown") == (
        "True",
        "ScalingDown",
        "Scaling down from 3 to 1 replicas\n* Machine a is in deletion since more than 15m",
    )
    assert said(told(deployment(), a_set(3)), "ScalingDown") == ("False", "NotScalingDown", "")


@pytest.mark.parametrize(
    ("draft", "present", "expected"),
    [
        (deployment(), 3, "Running"),
        (deployment(), 2, "ScalingUp"),
        (deployment(), 4, "ScalingDown"),
        (deployment().deleting(), 3, "ScalingDown"),
        (deployment(None), 3, "Unknown"),
    ],
)
def test_phase(draft: Draft[Any], present: int, expected: str) -> None:
    assert told(draft, a_set(present)).phase == expected


def test_rolling_out_tells_why_the_version_first() -> None:
    outdated = (
        machine("a").reporting("UpToDate", "False", "NotUpToDate", "* Failure domain a, b required").made(),
        machine("b")
        .reporting("UpToDate", "False", "NotUpToDate", "* Version v1, v2 required\n* Failure domain a, b required")
        .made(),
        machine("c").reporting("UpToDate", "True").made(),
    )
    assert said(told(deployment(), machines=outdated), "RollingOut") == (
        "True",
        "RollingOut",
        "Rolling out 2 not up-to-date replicas\n* Version v1, v2 required\n* Failure domain a, b required",
    )


def test_machines_are_put_together() -> None:
    machines = (
        machine("a").reporting("Ready", "True").reporting("UpToDate", "True").made(),
        machine("b").reporting("Ready", "False", "NotReady", "no node").made(),
    )
    found = told(deployment(), machines=machines)
    assert said(found, "MachinesReady") == ("False", "NotReady", "* Machine b: no node")
    assert said(found, "MachinesUpToDate") == (
        "Unknown",
        "UpToDateUnknown",
        "* Machine b: Condition UpToDate not yet reported",
    )
    assert said(told(deployment(), machines=machines[:1]), "MachinesReady") == ("True", "Ready", "")
    assert said(told(deployment(), machines=machines[:1]), "MachinesUpToDate") == ("True", "UpToDate", "")


def test_a_machine_that_was_just_made_does_not_make_the_condition_flicker() -> None:
    young = machine("b").having(metadata={"creationTimestamp": date(NOW - timedelta(seconds=4))}).made()
    seen = looked(deployment(), machines=(young,))
    assert said(status(seen, stuck=False), "MachinesUpToDate") == ("True", "NoReplicas", "")
    assert next_look(seen) == pytest.approx(6, abs=0.01)


def test_remediation_is_told_for_machines_that_wait_for_it() -> None:
    sick = machine("a").reporting("HealthCheckSucceeded", "False", "UnhealthyNode")
    assert said(told(deployment(), machines=(sick.made(),)), "Remediating") == (
        "False",
        "NotRemediating",
        "Machine a is not healthy (not to be remediated by MachineDeployment/MachineSet)",
    )
    waiting = sick.reporting("OwnerRemediated", "False", "WaitingForRemediation", "waits").made()
    assert said(told(deployment(), machines=(waiting,)), "Remediating") == (
        "True",
        "Remediating",
        "* Machine a: waits",
    )


@pytest.mark.parametrize(
    ("sets", "machines", "message"),
    [
        ((a_set(2),), (machine("a").made(), machine("b").made()), "Deleting 2 Machines"),
        ((a_set(1),), (machine("a").made(),), "Deleting 1 Machine"),
        ((a_set(0), a_set(0)), (), "Deleting 2 MachineSets"),
        ((), (), "Deletion completed"),
    ],
)
def test_deleting(sets: tuple[MachineSet, ...], machines: tuple[Machine, ...], message: str) -> None:
    found = told(deployment().deleting(), *sets, machines=machines)
    assert said(found, "Deleting") == ("True", "Deleting", message)


def test_a_generation_that_cannot_be_acted_upon_does_not_count_as_seen() -> None:
    changed = deployment().having(metadata={"generation": 1}, status={"observedGeneration": 7})
    assert told(changed, stuck=True).observed_generation == 7
    assert told(changed).observed_generation == 1


def test_numbers_stay_if_the_sets_cannot_be_told() -> None:
    lost = deployment().having(spec={"selector": {"matchLabels": {"role": None}}}, status={"replicas": 3})
    found = told(lost)
    assert (found.replicas, found.phase) == (3, "Unknown")
    assert said(found, "Deleting")[1] == "InternalError"


def test_a_transition_time_is_kept_as_long_as_the_status_is() -> None:
    seen = looked(deployment())
    first = status(seen, stuck=False)
    assert {each.last_transition_time for each in first.conditions} == {NOW}
    later = dataclasses.replace(
        seen,
        deployment=msgspec.structs.replace(seen.deployment, status=first),
        sets=(a_set(3, 3),),
        now=NOW + timedelta(hours=1),
    )
    second = status(later, stuck=False)
    changed = {each.type for each in second.conditions if each.last_transition_time != NOW}
    assert changed == {"Available", "ScalingUp"}


def test_while_paused_only_that_is_told() -> None:
    draft = deployment().reporting("Available", "True").having(status={"replicas": 3, "observedGeneration": 1})
    held = draft.annotated({"cluster.x-k8s.io/paused": ""}).having(metadata={"generation": 1})
    seen = looked(held)
    assert seen.paused == "MachineDeployment has the cluster.x-k8s.io/paused annotation"
    found = status_while_paused(held.made(), seen.paused, NOW)
    assert said(found, "Paused") == ("True", "Paused", seen.paused)
    assert found.replicas == 3
    assert len(found.conditions) == 2


def test_time_alone_brings_a_rollout_that_is_due_later() -> None:
    later = deployment(rollout={"after": date(NOW + timedelta(hours=2))})
    assert next_look(looked(later)) == pytest.approx(7200, abs=0.01)
    assert next_look(looked(deployment())) is None


def test_all_fields_of_the_status_have_an_owner() -> None:
    assert {*FIELDS, "conditions", "deprecated"} == set(MachineDeploymentStatus.__struct_encode_fields__)
