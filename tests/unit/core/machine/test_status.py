from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineReason
from nagaya.api.cluster.machine_status import MachineDeletionStatus, MachineStatus, NodeReference
from nagaya.clusters.pause import status_while_paused
from nagaya.core.machine.deletion_outcome import DeletionOutcome
from nagaya.core.machine.plan import plan
from nagaya.core.machine.seen import Seen
from nagaya.core.machine.status import FIELDS, Told, owned_conditions, status
from nagaya.kube.conditions import get
from nagaya.kube.remote import Probe
from support.builders import NOW, Draft, machine, machine_deployment, machine_set
from support.machine_seen import config, host, node, provisioned_host, ready_config, seen

SET = machine_set().made()
WORKER = machine().of_deployment(SET)


def tell(view: Seen, going: DeletionOutcome | None = None, complete: bool = True) -> Told:
    return status(view, plan(view), view.machine, going, complete)


def line(made: MachineStatus, type: str) -> str:
    found = get(made.conditions, type)
    return "" if found is None else f"{found.status} {found.reason}"


def test_a_new_machine_says_everything_about_itself_at_once() -> None:
    view = seen(WORKER, machine_set=SET, deployment=machine_deployment().made())
    made = tell(view).status
    assert [f"{each.type}: {each.status} {each.reason}" for each in made.conditions] == [
        "Available: False NotReady",
        "Ready: False NotReady",
        "UpToDate: True UpToDate",
        "BootstrapConfigReady: False NotReady",
        "InfrastructureReady: False NotReady",
        "NodeHealthy: Unknown InspectionFailed",
        "NodeReady: Unknown InspectionFailed",
        "Updating: False NotUpdating",
        "Paused: False NotPaused",
        "Deleting: False NotDeleting",
    ]
    assert (made.phase, made.last_updated, made.observed_generation) == ("Pending", NOW, 1)
    assert {each.observed_generation for each in made.conditions} == {1}


def test_a_machine_with_a_good_node_is_available() -> None:
    view = seen(WORKER.running(), host=provisioned_host(), config=ready_config(), nodes=(node(),))
    made = tell(view).status
    assert (line(made, "Ready"), line(made, "Available")) == ("True Ready", "True Available")
    assert made.phase == "Running"
    assert made.initialization.infrastructure_provisioned is True


def test_a_machine_that_must_prove_itself_looks_again_when_it_has() -> None:
    patient = WORKER.running().having(spec={"minReadySeconds": 30})
    told = tell(seen(patient, host=provisioned_host(), config=ready_config(), nodes=(node(),)))
    assert line(told.status, "Available") == "False WaitingForMinReadySeconds"
    assert told.again_after == 30.0


def test_a_silent_tenant_is_looked_at_again_when_its_silence_counts() -> None:
    quiet = Probe(NOW - timedelta(minutes=4), failures=2)
    assert tell(seen(WORKER, probe=quiet)).again_after == 61.0


@pytest.mark.parametrize(
    ("draft", "more", "phase"),
    [
        (machine(), {}, "Pending"),
        (machine(), {"config": ready_config()}, "Provisioning"),
        (machine(), {"host": provisioned_host()}, "Provisioned"),
        (machine(), {"host": provisioned_host(), "config": ready_config(), "nodes": (node(),)}, "Running"),
        (machine().running(), {"host": None, "config": None, "nodes": None}, "Running"),
        (
            machine().running().annotated({"in-place-updates.internal.cluster.x-k8s.io/update-in-progress": ""}),
            {},
            "Updating",
        ),
    ],
)
def test_the_phase_follows_what_has_come_into_being(draft: Draft[Machine], more: dict[str, Any], phase: str) -> None:
    assert tell(seen(draft, **more)).status.phase == phase


def test_the_phase_is_dated_only_when_it_changes() -> None:
    known = machine().running().having(status={"lastUpdated": "2026-01-01T00:00:00Z"})
    made = tell(seen(known, host=provisioned_host(), nodes=(node(),))).status
    assert made.last_updated is not None
    assert made.last_updated.year == 2026
    assert made.last_updated.month == 1


def test_a_deletion_is_told_as_far_as_it_has_come() -> None:
    view = seen(machine().running().deleting(), host=provisioned_host(), nodes=(node(),))
    started = MachineDeletionStatus(node_drain_start_time=NOW)
    going = DeletionOutcome(MachineReason.DRAINING_NODE, "3 pods left", started)
    made = tell(view, going).status
    assert (made.phase, made.deletion) == ("Deleting", started)
    deleting = get(made.conditions, "Deleting")
    assert deleting is not None
    assert (deleting.status, deleting.reason, deleting.message) == ("True", "DrainingNode", "3 pods left")
    ready = get(made.conditions, "Ready")
    assert ready is not None
    assert ready.message == "* Deleting: Machine deletion in progress, stage: DrainingNode"


def test_a_node_that_is_found_only_when_the_machine_goes_is_remembered() -> None:
    going = DeletionOutcome(MachineReason.DELETING, "", MachineDeletionStatus(), node_ref=NodeReference(name="late"))
    made = tell(seen(machine().deleting()), going).status
    assert made.node_ref == NodeReference(name="late")


def test_a_status_that_is_not_complete_does_not_stand_for_the_generation() -> None:
    known = machine().having(metadata={"generation": 4}, status={"observedGeneration": 3})
    assert tell(seen(known), complete=False).status.observed_generation == 3
    assert tell(seen(known)).status.observed_generation == 4


def test_the_conditions_of_others_are_left_alone() -> None:
    known = machine().reporting("OwnerRemediated", "False", "WaitingForRemediation")
    made = tell(seen(known)).status
    assert line(made, "OwnerRemediated") == "False WaitingForRemediation"
    assert "OwnerRemediated" not in owned_conditions(known.made())


def test_up_to_date_is_told_for_machines_of_deployments_only() -> None:
    deployment = machine_deployment().made()
    assert "UpToDate" in owned_conditions(WORKER.made())
    for others in (machine(), WORKER.control_plane()):
        assert "UpToDate" not in owned_conditions(others.made())
        assert line(tell(seen(others, machine_set=SET, deployment=deployment)).status, "UpToDate") == ""


def test_up_to_date_stays_as_it_was_while_its_owner_is_not_seen() -> None:
    known = WORKER.reporting("UpToDate", "False", "NotUpToDate")
    assert line(tell(seen(known)).status, "UpToDate") == "False NotUpToDate"


def test_a_paused_machine_says_so_and_nothing_else_changes() -> None:
    known = machine().running().reporting("Ready", "True").reporting("Paused", "False", "NotPaused").made()
    made = status_while_paused(known, "Cluster spec.paused is set to true", NOW)
    paused = get(made.conditions, "Paused")
    assert paused is not None
    assert (paused.status, paused.reason, paused.message) == ("True", "Paused", "Cluster spec.paused is set to true")
    assert get(made.conditions, "Ready") == get(known.status.conditions, "Ready")
    assert (made.phase, made.node_ref) == (known.status.phase, known.status.node_ref)


DRAFTS = st.sampled_from([machine(), machine().provisioned(), machine().running(), WORKER.running()])
HOSTS = st.sampled_from([None, "broken", host(), provisioned_host(), provisioned_host().deleting()])
CONFIGS = st.sampled_from([None, "broken", config(), ready_config(), ready_config().deleting()])
NODES = st.sampled_from([None, (), (node(),), (node("one"), node("two"))])
PROBES = st.sampled_from([Probe(), Probe(NOW), Probe(NOW - timedelta(hours=1), 300)])


@given(DRAFTS, st.booleans(), HOSTS, CONFIGS, NODES, PROBES)
def test_whatever_happens_every_condition_is_told_once_and_nothing_is_taken_back(
    draft: Any, deleting: bool, a_host: Any, a_config: Any, nodes: Any, probe: Probe
) -> None:
    draft = draft.deleting() if deleting else draft
    view = seen(draft, host=a_host, config=a_config, nodes=nodes, probe=probe)
    going = DeletionOutcome(MachineReason.DELETING, "", MachineDeletionStatus()) if deleting else None
    made = tell(view, going).status
    types = [each.type for each in made.conditions]
    assert len(types) == len(set(types))
    assert {*owned_conditions(view.machine)} - {"UpToDate"} <= {*types}
    assert all(each.reason for each in made.conditions)
    before = view.machine.status
    for latch in ("infrastructure_provisioned", "bootstrap_data_secret_created"):
        assert not getattr(before.initialization, latch) or getattr(made.initialization, latch)
    assert before.node_ref is None or made.node_ref == before.node_ref
    told = Machine(metadata=view.machine.metadata, spec=view.machine.spec, status=made)
    assert tell(dataclasses.replace(view, machine=told), going).status == made, "the same again changes nothing"


def test_every_field_of_the_status_is_told() -> None:
    names = {
        f"{field.encode_name}.{inner.encode_name}"
        if field.encode_name in ("initialization", "deletion")
        else field.encode_name
        for field in msgspec.structs.fields(MachineStatus)
        for inner in (
            msgspec.structs.fields(type(field.default)) if isinstance(field.default, msgspec.Struct) else (field,)
        )
    }
    assert {*FIELDS} == names - {"conditions", "deprecated"}
