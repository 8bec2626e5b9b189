from __future__ import annotations

from datetime import timedelta

import pytest

from nagaya.api.kind import Kind
from nagaya.api.meta import Condition
from nagaya.api.untyped import Untyped
from nagaya.clusters.pause import status_while_paused
from nagaya.core.machine_health_check.external import External
from nagaya.core.machine_health_check.plan import Plan, Step, plan
from nagaya.core.machine_health_check.seen import Target
from nagaya.core.machine_health_check.status import status, status_while_blind
from support.builders import CLUSTER, NAMESPACE, NOW
from unit.core.machine_health_check.examples import check, healthy, node, request, seen, sick, starting, worker

REQUESTS = Kind("remediation.example.com", "v1", "BoatRemediation", "boatremediations", Untyped)
TEMPLATE = Untyped(
    {
        "apiVersion": "remediation.example.com/v1",
        "kind": "BoatRemediationTemplate",
        "metadata": {"namespace": NAMESPACE, "name": "reboot"},
        "spec": {"template": {"spec": {"type": "Reboot"}}},
    }
)
REFERENCE = {"apiVersion": "remediation.example.com/v1", "kind": "BoatRemediationTemplate", "name": "reboot"}


def only(found: Plan) -> Step:
    (step,) = found.steps
    return step


def external(*requests: Untyped, template: Untyped | None = TEMPLATE) -> External:
    return External(template, REQUESTS, {each.metadata.name: each for each in requests})


def reason(condition: Condition | None) -> str:
    return "" if condition is None else condition.reason


def test_a_sick_machine_is_handed_to_its_owner() -> None:
    step = only(plan(seen([sick("a")])))
    assert step.health.status == "False"
    assert step.remedy is not None
    assert (step.remedy.type, step.remedy.status) == ("OwnerRemediated", "False")
    assert (step.remedy.reason, step.remedy.message) == ("WaitingForRemediation", "Waiting for remediation")
    assert step.announced


@pytest.mark.parametrize(("status", "again"), [("False", False), ("Unknown", False), ("True", True)])
def test_a_machine_is_handed_over_again_only_after_a_remediation_that_is_over(status: str, again: bool) -> None:
    machine = worker().running().reporting("OwnerRemediated", status).made()
    step = only(plan(seen([Target(machine, node(status="Unknown"))])))
    assert (step.remedy is not None) is again


def test_a_sick_machine_that_goes_already_is_told_but_not_handed_over() -> None:
    machine = worker().running().deleting().made()
    step = only(plan(seen([Target(machine, node(status="Unknown"))])))
    assert step.remedy is None
    assert step.health.status == "False"


def test_beyond_the_limit_machines_are_told_but_not_handed_over() -> None:
    found = plan(seen([sick("a"), sick("b"), healthy("c")], triggerIf={"unhealthyLessThanOrEqualTo": 1}))
    assert [step.health.status for step in found.steps] == ["False", "False", "True"]
    assert not any(step.remedy or step.announced for step in found.steps)
    assert not found.allowance.allowed


def test_machines_that_start_count_against_the_limit_but_are_not_told_anything() -> None:
    found = plan(seen([starting("a"), sick("b"), healthy("c")], triggerIf={"unhealthyLessThanOrEqualTo": 1}))
    assert (found.healthy, found.unhealthy, found.targets) == (1, 1, ("a", "b", "c"))
    assert not found.allowance.allowed
    assert [step.machine.metadata.name for step in found.steps] == ["b", "c"]
    assert found.again_after == timedelta(seconds=601)


def test_somebody_else_is_asked_by_a_request_with_the_name_of_the_machine() -> None:
    step = only(plan(seen([sick("a")], external(), templateRef=REFERENCE)))
    assert step.request is not None
    assert step.request.raw["spec"] == {"type": "Reboot"}
    assert (step.request.kind, step.request.metadata.name) == ("BoatRemediation", "a")
    assert step.request.metadata.labels == {"cluster.x-k8s.io/cluster-name": CLUSTER}
    (owner,) = step.request.metadata.owner_references
    assert (owner.kind, owner.uid) == ("Machine", "uid-a")
    assert step.remedy is not None
    assert (step.remedy.type, step.remedy.reason) == ("ExternallyRemediated", "WaitingForRemediation")


def test_whoever_was_asked_is_not_asked_again_and_not_interrupted() -> None:
    step = only(plan(seen([sick("a")], external(request("a")), templateRef=REFERENCE)))
    assert step.request is None
    assert reason(step.remedy) == "WaitingForRemediation", "the process may have ended before it was told"
    machine = worker().running().reporting("ExternallyRemediated", "False", "Rebooting").made()
    step = only(plan(seen([Target(machine, node(status="Unknown"))], external(request("a")), templateRef=REFERENCE)))
    assert step.remedy is None


def test_without_a_template_nobody_is_asked_and_the_machine_says_why() -> None:
    step = only(plan(seen([sick("a")], external(template=None), templateRef=REFERENCE)))
    assert step.request is None
    assert step.remedy is not None
    assert step.remedy.reason == "RemediationTemplateNotFound"
    assert step.remedy.message == "Error retrieving remediation template BoatRemediationTemplate fleet/reboot"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(external(request("a")), "WaitingForRemediation", id="who was asked already"),
        pytest.param(external(template=None), "RemediationTemplateNotFound", id="who cannot be asked"),
        pytest.param(external(), "WaitingForRemediation", id="who is asked now"),
    ],
)
def test_an_event_tells_of_a_sick_machine_that_somebody_else_shall_remediate(found: External, expected: str) -> None:
    step = only(plan(seen([sick("a")], found, templateRef=REFERENCE)))
    assert (step.announced, reason(step.remedy)) == (True, expected)
    assert not only(plan(seen([healthy("a")], found, templateRef=REFERENCE))).announced


def test_the_request_for_a_machine_that_recovered_is_withdrawn() -> None:
    requests = [request("a"), request("b")]
    first, second = plan(seen([healthy("a"), healthy("c")], external(*requests), templateRef=REFERENCE)).steps
    assert first.obsolete is requests[0]
    assert second.obsolete is None


def test_the_status_tells_what_was_counted() -> None:
    look = seen([starting("a"), sick("b"), healthy("c")])
    told = status(look, plan(look), look.check, complete=True)
    assert (told.expected_machines, told.current_healthy, told.remediations_allowed) == (3, 1, 1)
    assert told.targets == ("a", "b", "c")
    assert told.observed_generation == 3
    assert [(each.type, each.status, each.reason) for each in told.conditions] == [
        ("RemediationAllowed", "True", "RemediationAllowed"),
        ("Paused", "False", "NotPaused"),
    ]


def test_a_status_after_a_failure_does_not_stand_for_the_generation() -> None:
    look = seen([healthy("a")])
    assert status(look, plan(look), look.check, complete=False).observed_generation is None


def test_a_check_that_is_paused_or_blind_keeps_what_it_said() -> None:
    draft = check().having(status={"expectedMachines": 3, "currentHealthy": 2, "targets": ["a", "b", "c"]})
    known = draft.reporting("RemediationAllowed", "True").made()
    for told in (status_while_paused(known, "because", NOW), status_while_blind(known, NOW)):
        assert (told.expected_machines, told.current_healthy, told.targets) == (3, 2, ("a", "b", "c"))
        assert {each.type for each in told.conditions} == {"RemediationAllowed", "Paused"}
