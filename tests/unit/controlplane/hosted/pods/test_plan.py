"""What is done for a control plane of pods, in which order, and who is waited for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nagaya.api.controlplane.hosted_conditions import HostedPhase as Phase
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.control_plane.upgrade import target
from nagaya.controlplane.hosted.kubernetes.objects import before_pods, objects
from nagaya.controlplane.hosted.kubernetes.rollout import DeploymentSeen
from nagaya.controlplane.hosted.phases import Hold, MakeAuthorities, Provision
from nagaya.controlplane.hosted.pods import tenancies
from nagaya.controlplane.hosted.pods.applying import APPLIED, whole
from nagaya.controlplane.hosted.pods.components import components, versions
from nagaya.controlplane.hosted.pods.conditions import conditions
from nagaya.controlplane.hosted.pods.known import Known
from nagaya.controlplane.hosted.pods.plan import ApplyObjects, MakeFiles, Plan, plan
from nagaya.controlplane.hosted.pods.seen import Seen
from nagaya.controlplane.hosted.pods.status import status
from nagaya.kube.kubeconfig import parse_text
from support.seen_pods import (
    SERVING,
    applied,
    control_plane,
    data_store,
    deployment,
    etcd_place,
    seen,
    sql_place,
    with_files,
)

BOUND = {"dataStore": {"name": "default"}}


def applies(planned: Plan) -> list[str]:
    return [str(each) for action in planned.actions if isinstance(action, ApplyObjects) for each in action.planned]


def ready(**changes: Any) -> Seen:
    """A control plane that has all it needs for pods."""
    return with_files(seen(**changes))


def everything(found: Seen) -> Any:
    assert found.known.store is not None
    assert found.known.files is not None
    return objects(tenancies.whole(found, found.known.store, found.known.files))


def test_nothing_is_made_before_it_is_certain_to_be_removed() -> None:
    plane = control_plane()
    metadata = msgspec.structs.replace(plane.metadata, finalizers=())
    assert plan(seen(msgspec.structs.replace(plane, metadata=metadata))).actions == (Hold(),)


def test_the_service_and_the_fences_come_first_beside_authorities_and_the_place_of_data() -> None:
    planned = plan(seen(control_plane(BOUND), authorities=False, known=Known()))
    assert {type(each) for each in planned.actions} >= {MakeAuthorities, Provision, ApplyObjects}
    assert applies(planned) == [str(each) for each in before_pods(tenancies.bare(seen()))]
    assert not any("Deployment" in each or "Secret" in each for each in applies(planned))


def test_pods_wait_for_certificates_which_wait_for_the_endpoint() -> None:
    assert any(isinstance(each, MakeFiles) for each in plan(seen()).actions)
    waiting = plan(seen(control_plane(BOUND)))
    assert not any(isinstance(each, MakeFiles) for each in waiting.actions)


def test_with_everything_there_all_objects_are_applied_and_then_none() -> None:
    found = ready()
    planned = plan(found)
    assert applies(planned) == [str(each) for each in everything(found)]
    assert planned.verdicts[Phase.API_SERVER].message == "Pods of kube-apiserver are being started."
    assert plan(applied(found, everything(found))).actions == ()


@pytest.mark.parametrize("port", [6443, 7443])
def test_all_who_come_to_the_api_inside_the_cluster_come_to_where_it_listens(port: int) -> None:
    plane = control_plane(BOUND, controlPlaneEndpoint=SERVING, network={"port": port})
    found = ready(plane=plane)
    made = {str(planned): planned.content for planned in everything(found)}
    deployment = made["Deployment tenants/one-kube-apiserver"]
    [server] = deployment["spec"]["template"]["spec"]["containers"]
    assert f"--secure-port={port}" in server["args"]
    [listening], [reached] = server["ports"], made["Service tenants/one-kube-apiserver"]["spec"]["ports"]
    assert (listening["name"], listening["containerPort"]) == (reached["targetPort"], port)
    assert reached["port"] == port
    assert found.known.files is not None
    for name in ("controller-manager.conf", "scheduler.conf"):
        assert parse_text(found.known.files.files[name]).server == f"https://one-kube-apiserver.tenants.svc:{port}"


def test_an_object_that_the_server_writes_otherwise_is_not_applied_for_ever() -> None:
    found = ready()
    found = applied(found, everything(found))
    name = "Service tenants/one-kube-apiserver"
    raw = dict(found.objects[name].raw)
    raw["spec"] = {**raw["spec"], "ports": []}
    changed = Untyped(raw)
    found = replace(found, objects={**found.objects, name: changed})
    assert applies(plan(found)) == [name]
    found.known.answered[name] = f"{changed.metadata.annotations[APPLIED]} {whole(changed)}"
    assert applies(plan(found)) == []


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        ({"store": None}, "DataStoreNotFound", "There is no DataStore default"),
        ({"store": data_store("SQLite")}, "DataStoreNotReady", "where pods cannot reach it"),
        ({"store": data_store(managed=True)}, "DataStoreNotReady", "where pods cannot reach it"),
        ({"known": Known(), "store_reached": False}, "DataStoreNotReady", "Waiting for DataStore default"),
        ({"known": Known(store_problem="etcd is full.")}, "ProvisioningFailed", "etcd is full."),
    ],
)
def test_a_store_that_cannot_be_used_is_told(changes: dict[str, Any], reason: str, words: str) -> None:
    verdict = plan(seen(**changes)).verdicts[Phase.DATA_STORE]
    assert not verdict.done
    assert verdict.reason == reason
    assert words in verdict.message


def test_credentials_that_are_due_are_had_anew_while_everything_goes_on() -> None:
    found = ready()
    found.known.store_due = found.now
    planned = plan(found)
    assert Provision() in planned.actions
    assert planned.verdicts[Phase.DATA_STORE].done


def test_what_is_somebody_elses_is_told_and_left_alone() -> None:
    found = ready()
    found.known.strangers["Service tenants/one-kube-apiserver"] = "Service one-kube-apiserver is nobody's."
    planned = plan(found)
    assert "Service tenants/one-kube-apiserver" not in applies(planned)
    assert planned.verdicts[Phase.ENDPOINT].message == "Service one-kube-apiserver is nobody's."
    assert planned.requeue_after is not None


def test_encryption_that_cannot_be_had_keeps_pods_from_being_made() -> None:
    planned = plan(ready(encryption_problem="Secret x does not exist. Create it."))
    assert not any("Deployment" in each for each in applies(planned))
    assert planned.verdicts[Phase.API_SERVER].message == "Secret x does not exist. Create it."


def test_without_replicas_it_sleeps() -> None:
    plane = control_plane(BOUND, controlPlaneEndpoint=SERVING, replicas=0)
    none = deployment(replicas=0, updated=0, available=0, total=0)
    planned = plan(ready(plane=plane, api_servers=none, controllers=none))
    assert planned.verdicts[Phase.API_SERVER].reason == "Sleeping"
    told = status(ready(plane=plane, api_servers=none, controllers=none), planned)
    assert [each.state for each in told.components] == ["Stopped"] * 3
    assert told.replicas == 0
    ending = status(ready(plane=plane, api_servers=none, controllers=none, pods=1), planned)
    assert {each.message for each in ending.components} == {"1 pods of the control plane are still ending."}


@pytest.mark.parametrize(
    ("api_servers", "expected"),
    [
        pytest.param(None, (0, 0, 0, 0), id="there are none"),
        pytest.param(deployment(current=False), (2, 2, 2, 0), id="the last change has not been seen"),
        pytest.param(deployment(total=4, available=3, updated=1), (4, 3, 3, 1), id="some are as they shall be"),
    ],
)
def test_replicas_are_up_to_date_only_as_of_a_deployment_whose_last_change_was_seen(
    api_servers: DeploymentSeen | None, expected: tuple[int, int, int, int]
) -> None:
    found = ready(api_servers=api_servers)
    told = status(found, plan(found))
    counted = (told.replicas, told.ready_replicas, told.available_replicas, told.up_to_date_replicas)
    assert counted == expected


# ------------------------------------------------------------------------------------------------------------- upgrades


def upgrading(**changes: Any) -> Seen:
    """A control plane of v1.36.3 on its way to v1.37.1."""
    before = {**BOUND, "versions": [{"version": "v1.36.3", "replicas": 2}]}
    plane = control_plane(before, controlPlaneEndpoint=SERVING, version="v1.37.1")
    given = {"api_servers": deployment(), "controllers": deployment(), **changes}
    running = [each.version for each in given.values()]
    return ready(plane=plane, target=target("v1.37.1", running), **given)


def deployments(planned: Plan) -> list[str]:
    return [each.rpartition("/")[2] for each in applies(planned) if each.startswith("Deployment")]


def test_api_servers_go_first_and_controllers_follow_the_last_of_them() -> None:
    assert deployments(plan(upgrading())) == ["one-kube-apiserver"]
    half = plan(upgrading(api_servers=deployment("v1.37.1", updated=1)))
    assert "one-kube-controllers" not in deployments(half)
    assert "1 of 2 have" in half.rollout
    unseen = plan(upgrading(api_servers=deployment("v1.37.1", current=False)))
    assert "one-kube-controllers" not in deployments(unseen)
    assert "one-kube-controllers" in deployments(plan(upgrading(api_servers=deployment("v1.37.1"))))


def test_versions_are_those_of_pods_and_not_of_wishes() -> None:
    unseen = upgrading(api_servers=deployment("v1.37.1", current=False))
    assert [(each.version, each.replicas) for each in versions(unseen)] == [("v1.36.3", 2)]
    half = upgrading(api_servers=deployment("v1.37.1", updated=1))
    assert [(each.version, each.replicas) for each in versions(half)] == [("v1.36.3", 1), ("v1.37.1", 1)]
    done = upgrading(api_servers=deployment("v1.37.1"))
    assert [(each.version, each.replicas) for each in versions(done)] == [("v1.37.1", 2)]
    assert status(half, plan(half)).version == "v1.36.3"
    assert {each.name: each.version for each in components(done)}["kube-scheduler"] == "v1.36.3"


def test_what_is_beside_an_api_server_is_a_component_of_its_own() -> None:
    plane = control_plane(BOUND, controlPlaneEndpoint=SERVING, addons={"konnectivity": {"enabled": True}})
    found = ready(plane=plane, known=Known(store=sql_place()), api_servers=deployment(), controllers=deployment())
    names = [each.name for each in components(found)]
    expected = ["kine", "konnectivity-server", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]
    assert names == expected


def test_conditions_say_how_it_stands_each_once() -> None:
    found = ready(api_servers=deployment(available=1), controllers=deployment(), known=Known(store=etcd_place()))
    told = list(conditions(found, plan(found), components(found)))
    by_type = {each.type: each for each in told}
    assert len(by_type) == len(told) == 17
    assert by_type["Available"].status == "True"
    assert by_type["APIServerReady"].message == "1 of 2 pods are available."
    assert by_type["KonnectivityReady"].reason == "NotUsed"
    assert by_type["ComponentsReady"].message == "Not ready: kube-apiserver."
