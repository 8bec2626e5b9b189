from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.selector import LabelSelector
from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.core.machine_set.deletion_order import UnknownOrder
from nagaya.core.machine_set.plan import CREATED_AT_ONCE, Plan, plan
from nagaya.core.machine_set.seen import Seen
from nagaya.core.machine_set.steps import (
    Adopt,
    Claim,
    Create,
    Delete,
    Discard,
    OwnTemplate,
    Release,
    SyncDeleting,
    SyncMachine,
    SyncObject,
)
from support.builders import NOW
from unit.core.machine_set.examples import (
    CLUSTER_OWNER,
    HOSTS,
    LABELS,
    Worker,
    control_plane,
    deployment,
    made,
    of_deployment,
    seen,
    worker,
    workers,
)

ALL = ("All",)
GONE = workers(2, deletion_timestamp=NOW)
MOVE = "in-place-updates.internal.cluster.x-k8s.io/"


def planned(found: Seen) -> Plan:
    return plan(found, ALL)


def kinds(found: Seen) -> list[str]:
    return [type(each).__name__ for each in planned(found).steps]


def deleted(found: Seen) -> list[str]:
    return [each.machine.metadata.name for each in planned(found).steps if isinstance(each, Delete)]


def with_order(order: str) -> Any:
    content = msgspec.to_builtins(workers(1))
    content["spec"]["deletion"] = {"order": order}
    return msgspec.convert(content, type(workers()))


def test_a_set_in_order_is_left_alone() -> None:
    found = planned(seen(None, worker("a").working(), worker("b")))
    assert found == Plan()


def test_a_new_set_is_tied_to_its_cluster_in_one_write() -> None:
    new = workers(0, labels={}, finalizers=("other",), owner_references=())
    spec = msgspec.structs.replace(
        new.spec,
        selector=msgspec.structs.replace(new.spec.selector, match_labels={"set": "workers"}),
        template=msgspec.structs.replace(new.spec.template, metadata=type(new.spec.template.metadata)()),
    )
    (step,) = planned(seen(msgspec.structs.replace(new, spec=spec))).steps
    assert isinstance(step, Claim)
    tie = {"cluster.x-k8s.io/cluster-name": "shop"}
    assert step.content == {
        "metadata": {
            "finalizers": ["other", "cluster.x-k8s.io/machineset"],
            "labels": tie,
            "ownerReferences": [msgspec.to_builtins(CLUSTER_OWNER)],
        },
        "spec": {"selector": {"matchLabels": tie}, "template": {"metadata": {"labels": tie}}},
    }


def test_the_specification_of_a_deployments_set_is_left_to_the_deployment() -> None:
    content = msgspec.to_builtins(of_deployment(workers(0)))
    content["spec"]["selector"] = {"matchLabels": {"set": "workers"}}
    content["spec"]["template"]["metadata"] = {"labels": {"set": "workers"}}
    assert kinds(seen(msgspec.convert(content, type(workers())), deployment=deployment())) == []


def test_a_set_of_a_deployment_is_not_the_clusters_own() -> None:
    restored = msgspec.structs.replace(of_deployment(workers(0)).metadata, owner_references=())
    found = seen(msgspec.structs.replace(of_deployment(workers(0)), metadata=restored), deployment=deployment())
    assert kinds(found) == []


def test_templates_go_with_the_cluster() -> None:
    found = seen(workers(0))
    assert found.infrastructure is not None
    template = found.infrastructure.object
    assert template is not None
    stray = type(template)({"metadata": {"name": "small", "ownerReferences": []}})
    (step,) = planned(replace(found, infrastructure=replace(found.infrastructure, object=stray))).steps
    assert isinstance(step, OwnTemplate)
    assert step.owners == (CLUSTER_OWNER,)


def test_an_orphan_is_adopted_and_made_ours_field_by_field() -> None:
    orphan = worker("a").having(metadata={"ownerReferences": []})
    adopt, sync = planned(seen(workers(1), orphan)).steps
    assert isinstance(adopt, Adopt)
    assert isinstance(sync, SyncMachine)
    (owner,) = adopt.owners
    assert (owner.uid, owner.controller) == ("uid-of-workers", True)


def test_missing_machines_are_made() -> None:
    (step,) = planned(seen(workers(3), worker("a"))).steps
    assert isinstance(step, Create)
    assert step.count == 2


def test_very_many_machines_are_made_in_turns() -> None:
    (step,) = planned(seen(workers(500))).steps
    assert isinstance(step, Create)
    assert step.count == CREATED_AT_ONCE


def test_none_is_made_where_that_is_disabled() -> None:
    disabled = workers(3, annotations={"cluster.x-k8s.io/disable-machine-create": "true"})
    assert planned(seen(disabled)) == Plan()
    enabled = workers(3, annotations={"cluster.x-k8s.io/disable-machine-create": "false"})
    assert kinds(seen(enabled)) == ["Create"]


def test_none_is_made_that_would_not_be_known_again() -> None:
    """The names of the set and of its deployment are labels of machines, whatever the template says of them."""
    mistaken = workers(3)
    labels = {**LABELS, "cluster.x-k8s.io/set-name": "others"}
    template = msgspec.structs.replace(mistaken.spec.template, metadata=TemplateMetadata(labels=labels))
    spec = msgspec.structs.replace(mistaken.spec, selector=LabelSelector(match_labels=labels), template=template)
    found = planned(seen(msgspec.structs.replace(mistaken, spec=spec)))
    assert found.steps == ()
    assert "does not select the machines of this set" in found.on_hold[0]
    assert "cluster.x-k8s.io/set-name=workers" in found.on_hold[0]


def test_none_is_made_while_the_control_plane_moves() -> None:
    found = planned(seen(control_plane=control_plane("v1.36.3", "")))
    assert found.steps == ()
    assert found.on_hold == (
        'TestControlPlane tenants/cp is provisioning ("ControlPlaneIsStable" preflight check failed)',
    )
    assert found.complete


def test_none_is_made_without_a_template() -> None:
    found = seen()
    assert found.infrastructure is not None
    found = replace(found, infrastructure=replace(found.infrastructure, object=None))
    assert planned(found) == Plan(complete=False)
    old = replace(found, machine_set=of_deployment(workers(0)), deployment=deployment("2"))
    assert planned(old).complete


def test_nothing_is_scaled_without_a_number() -> None:
    assert planned(seen(workers(None), worker("a"))) == Plan(complete=False)


def test_what_a_creation_left_behind_goes_before_anything_is_made() -> None:
    found = seen(workers(1), unclaimed=(made(HOSTS, "x"), made(HOSTS, "y", deletionTimestamp="2026-11-01T12:00:00Z")))
    discard, create = planned(found).steps
    assert isinstance(discard, Discard)
    assert discard.made.object.metadata.name == "x"
    assert isinstance(create, Create)


def test_machines_that_are_going_already_are_counted_and_not_deleted_again() -> None:
    assert deleted(seen(workers(1), worker("a").working(), worker("b").working().going())) == []
    assert deleted(seen(workers(0), worker("a").working(), worker("b").working().going())) == ["a"]


def test_machines_go_in_the_order_that_is_asked_for() -> None:
    assert deleted(seen(with_order("Oldest"), worker("a").working(), worker("b").working())) == ["a"]
    with pytest.raises(UnknownOrder):
        planned(seen(with_order("Whatever"), worker("a"), worker("b")))


def test_machines_that_arrive_from_another_set_are_not_deleted() -> None:
    receiving = workers(1, annotations={f"{MOVE}receive-machines-from-machinesets": "old"})
    arriving = worker("b").working().marked(f"{MOVE}pending-acknowledge-move")
    assert deleted(seen(receiving, worker("a").working(), arriving)) == []


def test_machines_that_shall_move_to_another_set_are_not_deleted() -> None:
    moving = workers(0, annotations={f"{MOVE}move-machines-to-machineset": "new"})
    assert deleted(seen(moving, worker("a").working())) == []


def test_a_set_that_goes_deletes_its_machines_and_is_held_by_them() -> None:
    assert deleted(seen(GONE, worker("a"), worker("b").going())) == ["a"]
    assert kinds(seen(GONE, worker("b").going())) == []
    assert kinds(seen(GONE)) == ["Release"]
    assert kinds(seen(GONE, selector=None)) == ["Release"]
    (step,) = planned(seen(GONE)).steps
    assert isinstance(step, Release)


def test_a_set_whose_selector_makes_no_sense_does_nothing() -> None:
    assert planned(seen(None, worker("a"), selector=None)) == Plan(complete=False)


def test_a_changed_specification_is_applied_to_everything_once() -> None:
    found = seen(workers(1), worker("a"), settled=False)
    assert kinds(found) == ["SyncMachine", "SyncObject", "SyncObject"]
    assert kinds(replace(found, settled=True)) == []


def test_what_is_missing_from_an_object_is_applied() -> None:
    bare = made(HOSTS, "a", labels={})
    (step,) = planned(seen(workers(1), worker("a"), provider_objects={"a": (bare,)})).steps
    assert isinstance(step, SyncObject)
    assert step.wanted["labels"]["cluster.x-k8s.io/set-name"] == "workers"


def test_a_machine_that_goes_follows_time_limits_alone() -> None:
    content = msgspec.to_builtins(workers(1))
    content["spec"]["template"]["spec"]["minReadySeconds"] = 5
    slower = msgspec.convert(content, type(workers()))
    (step,) = planned(seen(slower, worker("a").going(), settled=False)).steps
    assert isinstance(step, SyncDeleting)
    assert step.content == {"spec": {"minReadySeconds": 5}}


def test_an_unhealthy_machine_is_deleted_and_not_changed_any_more() -> None:
    sick = worker("a").reporting("HealthCheckSucceeded", "False").reporting("OwnerRemediated", "False")
    assert kinds(seen(workers(1), sick, settled=False)) == ["Remark", "Delete"]


def machines() -> st.SearchStrategy[list[Worker]]:
    """Up to five machines, each in some state."""
    states = st.sampled_from(["new", "working", "going", "marked", "sick"])

    def one(index: int, state: str) -> Worker:
        machine = worker(f"m{index}")
        match state:
            case "working":
                return machine.working()
            case "going":
                return machine.working().going()
            case "marked":
                return machine.marked("cluster.x-k8s.io/delete-machine")
            case "sick":
                return machine.working().reporting("NodeHealthy", "False")
        return machine

    return st.lists(states, max_size=5).map(lambda states: [one(*each) for each in enumerate(states)])


@given(machines(), st.integers(0, 6), st.sampled_from(["", "Newest", "Oldest"]))
def test_a_plan_never_goes_past_the_number_that_is_wanted(found: list[Worker], wanted: int, order: str) -> None:
    machine_set = msgspec.convert({**msgspec.to_builtins(with_order(order) if order else workers(1))}, type(workers()))
    machine_set = msgspec.structs.replace(machine_set, spec=msgspec.structs.replace(machine_set.spec, replicas=wanted))
    steps = planned(seen(machine_set, *found)).steps
    made_now = sum(each.count for each in steps if isinstance(each, Create))
    going = sum(each.it.metadata.deleting for each in found)
    gone_now = sum(isinstance(each, Delete) for each in steps)
    assert len(found) + made_now <= max(wanted, len(found))
    # As many stay as wanted, unless others had been on their way before.
    assert len(found) - going - gone_now >= min(wanted, len(found) - going)
    assert not (made_now and gone_now)
