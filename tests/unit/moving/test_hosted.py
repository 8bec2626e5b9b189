"""Hosted control planes in a move: which tenant they go on with, and what stands in the way."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.controlplane.data_store import DEFINITION as OF_STORES
from nagaya.api.controlplane.hosted_control_plane import DEFINITION as OF_PLANES
from nagaya.api.crd import render
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.control_plane.names import HOME
from nagaya.moving.annotations import MOVED_FROM, MOVING
from nagaya.moving.belongings import belongings
from nagaya.moving.carried import carried
from nagaya.moving.checks import problems
from nagaya.moving.item import Item
from nagaya.moving.order import order
from support.moving import item

READY = {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}}
CLUSTER = item("Cluster", "shop", status=READY)
MANAGED = {"driver": "etcd", "managed": True}
ENDPOINTS = {"driver": "PostgreSQL", "endpoints": ["db:5432"]}
NOT_ABOUT_KINDS = "The target does not serve"


def plane(name: str = "shop", owner: Item = CLUSTER, **spec: Any) -> Item:
    return item("HostedControlPlane", name, owner, namespace=owner.metadata.namespace, spec={"version": "v1", **spec})


def store(name: str = "default", spec: dict[str, Any] = MANAGED, **metadata: Any) -> Item:
    return item("DataStore", name, namespace="", spec=spec, **metadata)


def definitions() -> dict[str, Untyped]:
    rendered = (deepcopy(render(each)) for each in (OF_PLANES, OF_STORES))
    return {each["metadata"]["name"]: Untyped(each) for each in rendered}


def found(*items: Item, namespace: str = "", **more: Any) -> list[str]:
    said = problems(belongings(items, namespace), "target", more.pop("known", definitions()), **more)
    return [each for each in said if not each.startswith(NOT_ABOUT_KINDS)]


def test_the_target_is_told_which_tenant_and_which_files_to_go_on_with() -> None:
    assert carried(plane(), {})["spec"] == {"version": "v1", "tenantID": plane().uid}
    assert carried(store(), {})["spec"] == {**MANAGED, "storeID": store().uid}
    assert carried(store(spec={"driver": "SQLite"}), {})["spec"] == {"driver": "SQLite", "storeID": store().uid}


def test_where_the_programs_are_is_noted_if_it_is_known() -> None:
    assert carried(plane(), {}, "/lab of lab1")["metadata"]["annotations"][HOME] == "/lab of lab1"
    assert HOME not in carried(plane(), {})["metadata"]["annotations"]
    assert HOME not in carried(CLUSTER, {}, "/lab of lab1")["metadata"]["annotations"]


def test_who_was_moved_before_goes_on_with_the_same() -> None:
    assert carried(plane(tenantID="first"), {})["spec"]["tenantID"] == "first"
    assert carried(store(spec={**MANAGED, "storeID": "first"}), {})["spec"]["storeID"] == "first"


def test_a_store_with_endpoints_and_other_kinds_are_carried_as_they_are() -> None:
    assert carried(store(spec=ENDPOINTS), {})["spec"] == ENDPOINTS
    assert carried(CLUSTER, {})["spec"] == {}
    assert "tenantID" not in plane().object.raw["spec"]


def test_the_stores_that_have_the_data_move_along_with_their_secrets_and_no_others() -> None:
    reference = {"namespace": "stores", "name": "db", "key": "password"}
    used = store("db", {**ENDPOINTS, "basicAuth": {"username": reference, "password": reference}})
    secret = item("Secret", "db", namespace="stores")
    default, unused = store(), store("unused")
    moved = belongings([CLUSTER, plane(), plane("b", dataStoreRef={"name": "db"}), used, default, unused, secret])

    assert {*moved.items} >= {used, default, secret}
    assert unused not in moved.items
    assert [each.metadata.name for each in moved.hosted] == ["shop", "b"]


def test_stores_are_there_before_control_planes_and_go_after_them() -> None:
    rounds = order(belongings([CLUSTER, plane(), store()]))
    when = {each.kind.kind: number for number, made in enumerate(rounds) for each in made}

    assert when["DataStore"] < when["HostedControlPlane"]


def test_a_store_that_an_early_end_has_left_is_moved_although_its_users_are_gone() -> None:
    left = store(annotations={MOVING: "target", PAUSED: "true"})

    assert belongings([CLUSTER, left]).items == (CLUSTER, left)
    assert found(CLUSTER, left) == []


def test_a_hosted_control_plane_may_move() -> None:
    assert found(CLUSTER, plane(), store()) == []


def test_all_programs_of_a_machine_move_or_none() -> None:
    elsewhere = item("Cluster", "other", namespace="there", status=READY)
    stays = plane("other", elsewhere)

    assert found(CLUSTER, plane(), store(), elsewhere, stays) == []
    [problem] = found(CLUSTER, plane(), store(), elsewhere, stays, namespace="here")
    assert "HostedControlPlane there/other would stay behind" in problem
    assert "-A" in problem
    assert found(CLUSTER, elsewhere, stays, namespace="here") == []


def test_pods_cannot_leave_their_cluster() -> None:
    [problem] = found(CLUSTER, plane(), store(), pods={plane().uid})
    assert "runs as pods of the source" in problem
    assert "nagaya tenant backup" in problem


def test_what_somebody_else_paused_is_waited_for() -> None:
    paused = item("HostedControlPlane", "shop", CLUSTER, annotations={PAUSED: ""})
    assert [each for each in found(CLUSTER, paused, store()) if "paused by somebody else" in each]
    [problem] = found(CLUSTER, plane(), store(annotations={PAUSED: ""}))
    assert "DataStore default is paused by somebody else" in problem


def test_a_target_that_would_drop_the_identity_without_a_word_is_refused() -> None:
    older = definitions()
    for each in older.values():
        spec = each.raw["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        spec.pop("tenantID", None)
        spec.pop("storeID", None)

    problem, of_store = sorted(found(CLUSTER, plane(), store(), known=older), reverse=True)
    assert "HostedControlPlane has no spec.tenantID there" in problem
    assert "DataStore has no spec.storeID there" in of_store
    assert "nagaya crds" in problem


def test_another_store_of_the_same_name_at_the_target_stands_in_the_way() -> None:
    [problem] = found(CLUSTER, plane(), store(), there=[store(uid="another")])
    assert "The target has another DataStore default" in problem
    assert found(CLUSTER, plane(), store(), there=[store(uid="new", annotations={MOVED_FROM: store().uid})]) == []


def test_a_store_that_both_reach_at_its_endpoints_is_shared() -> None:
    ours, theirs = store(spec=ENDPOINTS), store(spec=ENDPOINTS, uid="another")
    assert found(CLUSTER, plane(), ours, there=[theirs]) == []
    other = store(spec={**ENDPOINTS, "endpoints": ["elsewhere:5432"]}, uid="another")
    assert len(found(CLUSTER, plane(), ours, there=[other])) == 1
