from __future__ import annotations

import pytest

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.meta import Condition
from nagaya.api.untyped import Untyped
from nagaya.core.cluster.plan import plan
from nagaya.core.cluster.provider_conditions import (
    control_plane_available,
    control_plane_initialized,
    infrastructure_ready,
)
from support.builders import EARLIER, Draft, machine
from support.seen_cluster import bare_cluster, control_plane, grown_cluster, infrastructure, new_cluster, seen
from support.subtest_cases import subtest_cases

TOPOLOGY = {"topology": {"classRef": {"name": "small"}, "version": "v1.36.3"}}
Told = tuple[str, str, str]


def told(condition: Condition | None) -> Told:
    assert condition is not None
    return condition.status, condition.reason, condition.message


@subtest_cases(
    ("subject", "found", "expected"),
    [
        (
            bare_cluster().having(spec=TOPOLOGY),
            None,
            ("False", "ObjectDoesNotExist", "Waiting for cluster topology to be reconciled"),
        ),
        (bare_cluster().having(spec=TOPOLOGY).deleting(), None, ("False", "ObjectDoesNotExist", "")),
        (
            new_cluster(),
            infrastructure().reporting("Ready", "False", "NotReady", "no rope"),
            ("False", "NotReady", "no rope"),
        ),
        (new_cluster(), infrastructure().reporting("Ready", "True", "Moored"), ("True", "Moored", "")),
        (
            new_cluster(),
            infrastructure(),
            ("False", "NotReady", "BoatCluster status.initialization.provisioned is false"),
        ),
        (grown_cluster(), infrastructure(), ("True", "Ready", "")),
        (new_cluster(), "no contract", ("Unknown", "InternalError", "no contract")),
        (grown_cluster().deleting(), None, ("False", "ObjectDeleted", "BoatCluster has been deleted")),
        (new_cluster().deleting(), None, ("False", "ObjectDoesNotExist", "BoatCluster does not exist")),
        (
            grown_cluster(),
            None,
            ("False", "ObjectDeleted", "BoatCluster has been deleted while the cluster still exists"),
        ),
        (new_cluster(), None, ("False", "ObjectDoesNotExist", "BoatCluster does not exist")),
        (bare_cluster(), None, ("True", "Ready", "")),
    ],
)
def test_infrastructure_ready(subject: Draft[Cluster], found: Draft[Untyped] | str | None, expected: Told) -> None:
    view = seen(subject, found)
    assert told(infrastructure_ready(view, plan(view))) == expected


@subtest_cases(
    ("subject", "found", "expected"),
    [
        (
            bare_cluster().having(spec=TOPOLOGY),
            None,
            ("False", "ObjectDoesNotExist", "Waiting for cluster topology to be reconciled"),
        ),
        (
            new_cluster(),
            control_plane().reporting("Available", "False", "NotAvailable", "no crew"),
            ("False", "NotAvailable", "no crew"),
        ),
        (new_cluster(), control_plane().reporting("Available", "True", "Manned"), ("True", "Manned", "")),
        (
            new_cluster(),
            control_plane(),
            ("False", "NotAvailable", "BoatControlPlane status.initialization.controlPlaneInitialized is false"),
        ),
        (grown_cluster(), control_plane(), ("True", "Available", "")),
        (new_cluster(), "no contract", ("Unknown", "InternalError", "no contract")),
        (grown_cluster().deleting(), None, ("False", "ObjectDeleted", "BoatControlPlane has been deleted")),
        (new_cluster().deleting(), None, ("False", "ObjectDoesNotExist", "BoatControlPlane does not exist")),
        (
            grown_cluster(),
            None,
            ("False", "ObjectDeleted", "BoatControlPlane has been deleted while the cluster still exists"),
        ),
        (
            bare_cluster(),
            None,
            ("False", "NotAvailable", "Waiting for the first control plane machine to have status.nodeRef set"),
        ),
    ],
)
def test_control_plane_available(subject: Draft[Cluster], found: Draft[Untyped] | str | None, expected: Told) -> None:
    view = seen(subject, None, found)
    assert told(control_plane_available(view, plan(view))) == expected


def test_a_control_plane_of_machines_is_available_once_one_has_a_node() -> None:
    view = seen(bare_cluster(), control_plane_machines=[machine("a").control_plane().running()])
    assert told(control_plane_available(view, plan(view))) == ("True", "Available", "")


def test_a_condition_that_cannot_be_read_is_told() -> None:
    broken = infrastructure().having(status={"conditions": [{"type": "Ready"}]})
    view = seen(new_cluster(), broken)
    status, reason, message = told(infrastructure_ready(view, plan(view)))
    assert (status, reason) == ("Unknown", "InvalidConditionReported")
    assert "status must be set for the Ready condition" in message


def test_a_condition_of_the_old_form_gets_a_reason_and_keeps_its_time() -> None:
    told_old = infrastructure().reporting("Ready", "True")
    content = {**told_old.content["status"]["conditions"][0], "reason": ""}
    view = seen(new_cluster(), infrastructure().having(status={"conditions": [content]}))
    condition = infrastructure_ready(view, plan(view))
    assert told(condition) == ("True", "Ready", "")
    assert condition.last_transition_time == EARLIER


@pytest.mark.parametrize(
    ("subject", "found", "expected"),
    [
        (
            bare_cluster().having(spec=TOPOLOGY),
            None,
            ("Unknown", "ObjectDoesNotExist", "Waiting for cluster topology to be reconciled"),
        ),
        (new_cluster(), None, ("Unknown", "ObjectDoesNotExist", "BoatControlPlane does not exist")),
        (new_cluster(), "no contract", ("Unknown", "InternalError", "no contract")),
        (new_cluster(), control_plane(), ("False", "NotInitialized", "Control plane not yet initialized")),
        (
            new_cluster(),
            control_plane().having(status={"initialization": {"controlPlaneInitialized": True}}),
            ("True", "Initialized", ""),
        ),
        (
            bare_cluster(),
            None,
            ("False", "NotInitialized", "Waiting for the first control plane machine to have status.nodeRef set"),
        ),
    ],
)
def test_control_plane_initialized(subject: Draft[Cluster], found: Draft[Untyped] | str | None, expected: Told) -> None:
    assert told(control_plane_initialized(seen(subject, None, found))) == expected


def test_a_control_plane_of_machines_is_initialized_once_one_has_a_node() -> None:
    view = seen(bare_cluster(), control_plane_machines=[machine("a").control_plane().running()])
    assert told(control_plane_initialized(view)) == ("True", "Initialized", "")


def test_what_was_initialized_once_stays_so() -> None:
    was = new_cluster().reporting("ControlPlaneInitialized", "True", "Initialized")
    assert control_plane_initialized(seen(was, None, control_plane())) is None
