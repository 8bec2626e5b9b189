"""Control planes that get nothing of the tenant that they name: what they are told, and how they go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.controlplane.hosted.control_plane.names import ABANDON_DATA, HOME
from nagaya.controlplane.hosted.control_plane.plan import MakeDefaultStore, TakeTenant, plan
from nagaya.controlplane.hosted.control_plane.refusal import refusal, refusal_in_pods, waits_for
from nagaya.controlplane.hosted.control_plane.status import status_while_refused
from nagaya.controlplane.hosted.host.ownership import Claim, Owner, Standing, claim
from support.hosted_seen import UID, Tenant, plane_of
from support.standing_clock import StandingClock

OTHER = "9f1c2d3e-0000-4000-8000-000000000002"
FOLDER = Path("/data/hosted")


def moved(**annotations: str) -> HostedControlPlane:
    plane = plane_of({"tenantID": OTHER, "controlPlaneEndpoint": {"host": "192.0.2.7", "port": 6443}})
    metadata = msgspec.structs.replace(plane.metadata, annotations=annotations)
    return msgspec.structs.replace(plane, metadata=metadata)


def test_the_tenant_is_that_of_the_uid_unless_it_was_moved() -> None:
    assert plane_of().tenant_id == UID
    assert moved().tenant_id == OTHER


def test_who_may_have_its_tenant_is_not_refused() -> None:
    for standing in (Standing.NEW, Standing.OWN, Standing.HANDED_OVER):
        assert refusal(plane_of(), Claim(standing), FOLDER) is None


def test_a_tenant_of_somebody_else_is_named_with_its_owner_and_the_remedy() -> None:
    found = refusal(moved(), claim(moved().metadata, OTHER, Owner("shop", OTHER, "team")), FOLDER)

    assert found is not None
    assert found.reason is Reason.NOT_OWNER
    assert found.message == (
        f"Tenant {OTHER} belongs to team/shop. Delete this HostedControlPlane: nothing of that tenant goes with it. To "
        "have a new one, declare it without spec.tenantID."
    )
    assert waits_for(found, moved()) == ""


def test_a_tenant_that_is_elsewhere_says_where_it_looked_and_what_to_do() -> None:
    found = refusal(moved(), Claim(Standing.ELSEWHERE), FOLDER)

    assert found is not None
    assert found.reason is Reason.DATA_ELSEWHERE
    for words in ("/data/hosted", "192.0.2.7", "nagaya up --kubeconfig", "nagaya tenant backup"):
        assert words in found.message
    known = refusal(moved(**{HOME: "/lab/hosted of lab1"}), Claim(Standing.ELSEWHERE), FOLDER)
    assert known is not None
    assert "They were in /lab/hosted of lab1 when it was moved." in known.message
    assert ABANDON_DATA in waits_for(found, moved())
    assert waits_for(found, moved(**{ABANDON_DATA: ""})) == ""


def test_programs_do_not_become_pods() -> None:
    found = refusal_in_pods(moved())

    assert refusal_in_pods(plane_of()) is None
    assert found is not None
    assert found.reason is Reason.DATA_ELSEWHERE
    assert "--hosted-as processes" in found.message


def test_what_is_refused_is_told_as_not_available() -> None:
    found = refusal(moved(), Claim(Standing.ELSEWHERE), FOLDER)
    assert found is not None
    told = status_while_refused(moved(), found, StandingClock())

    conditions = {each.type: (each.status, each.reason) for each in told.conditions}
    assert conditions == {"Available": ("False", "DataElsewhere"), "Paused": ("False", "NotPaused")}
    assert told.data_store is None


def test_whose_a_tenant_is_is_written_down_before_anything_else(tmp_path: Path) -> None:
    seen = Tenant(tmp_path).seen()

    planned = plan(replace(seen, recorded=False))
    assert planned.actions == (TakeTenant(),)
    assert TakeTenant() not in plan(seen).actions


def test_no_store_is_made_for_what_was_moved_and_has_its_data_in_one(tmp_path: Path) -> None:
    fresh, came = Tenant(tmp_path), Tenant(tmp_path, {"tenantID": OTHER})
    for each in (fresh, came):
        each.store, each.status = None, {}

    assert MakeDefaultStore() in fresh.plan().actions
    assert MakeDefaultStore() not in came.plan().actions
