from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.controlplane.kubeadm import actions as act
from nagaya.controlplane.kubeadm.certificates_port import CertificateState, SecretsSeen
from nagaya.controlplane.kubeadm.plan import Plan, plan
from nagaya.controlplane.kubeadm.seen import Connection
from nagaya.kube.tenant_secrets import TENANT_SECRETS
from support.builders import CLUSTER, Draft
from unit.controlplane.kubeadm.examples import (
    cluster,
    config,
    host,
    kcp,
    pilot,
    plane,
    running,
    template,
    tenant,
)

TO_BE_MADE = SecretsSeen(CertificateState.TO_BE_MADE, "missing")


def kinds(found: Plan) -> list[type]:
    return [type(each) for each in found.actions]


def settled(*names: str) -> list[Any]:
    """Machines of which all is told already."""
    told = {each.metadata.name: each for each in plane(kcp(len(names)).initialized(), *running(*names)).machines}
    return [
        each.having(
            status={"conditions": msgspec.to_builtins(told[each.content["metadata"]["name"]].status.conditions)}
        )
        for each in running(*names)
    ]


def test_nothing_but_addons_is_done_when_all_is_as_declared() -> None:
    found = plan(plane(kcp(3).initialized(), *settled("a", "b", "c")))
    assert kinds(found) == [act.UpdateAddons]
    assert found.why == "All machines are as declared."
    assert found.requeue_after is None


def test_what_is_new_about_machines_is_told_once() -> None:
    found = plan(plane(kcp(3).initialized(), *running("a", "b", "c")))
    assert kinds(found) == [act.TellMachine] * 3 + [act.UpdateAddons]


def test_certificates_whose_end_is_not_known_are_asked_for() -> None:
    unknown = config("a")
    bare = {"a": KUBEADM_CONFIGS.convert({"metadata": {"name": "a", "labels": dict(unknown.metadata.labels)}})}
    found = plan(plane(kcp(1).initialized(), *settled("a"), configs=bare))
    (note,) = [each for each in found.actions if isinstance(each, act.NoteExpiry)]
    assert (note.node, note.port) == ("a", 6443)


def test_a_control_plane_is_held_and_its_template_goes_with_the_cluster() -> None:
    of = kcp().having(metadata={"finalizers": []})
    found = plan(plane(of, template=template(ownerReferences=[])))
    assert kinds(found)[:2] == [act.Claim, act.OwnTemplate]


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (
            {"status": {"initialization": {"infrastructureProvisioned": None}}},
            "Cluster infrastructure is not ready yet",
        ),
        ({"spec": {"controlPlaneEndpoint": None}}, "Cluster does not yet have a ControlPlaneEndpoint defined"),
    ],
)
def test_no_machine_is_made_before_the_cluster_is_ready(parts: dict[str, Any], why: str) -> None:
    found = plan(plane(kcp(), cluster=cluster(**parts)))
    assert kinds(found) == []
    assert found.why == why


def test_certificates_are_made_before_anything_else_and_then_it_goes_on() -> None:
    found = plan(plane(kcp(), authorities=TO_BE_MADE, kubeconfig=TO_BE_MADE))
    assert kinds(found) == [act.MakeAuthorities]
    assert found.again
    found = plan(plane(kcp(), kubeconfig=TO_BE_MADE))
    assert kinds(found) == [act.MakeKubeconfig]
    assert found.again


def test_authorities_are_made_even_before_there_is_an_endpoint() -> None:
    found = plan(plane(kcp(), authorities=TO_BE_MADE, cluster=cluster(spec={"controlPlaneEndpoint": None})))
    assert kinds(found) == [act.MakeAuthorities]


def test_no_machine_is_made_without_a_kubeconfig_that_could_tell_how_it_is() -> None:
    broken = SecretsSeen(CertificateState.BROKEN, "no key to sign one with")
    found = plan(plane(kcp(), kubeconfig=broken))
    assert kinds(found) == []
    assert found.problem
    running_on = plan(plane(kcp(3).initialized(), *settled("a", "b", "c"), kubeconfig=broken))
    assert kinds(running_on) == [act.UpdateAddons]


def test_what_was_left_of_a_creation_goes_before_something_new_is_made() -> None:
    found = plan(plane(kcp(), unclaimed_configs=(config("x"),), unclaimed_hosts=(host("x"),)))
    assert kinds(found) == [act.Discard, act.Discard, act.CreateMachine]


def test_changes_in_place_reach_machines_and_their_objects() -> None:
    of = kcp(1).initialized().wanting(machineTemplate={"metadata": {"labels": {"deck": "upper"}}})
    found = plan(plane(of, *settled("a"), configs={"a": config("a")}, hosts={"a": host("a")}))
    assert kinds(found)[:3] == [act.SyncMachine, act.SyncHost, act.SyncConfig]
    limits = {"deletion": {"nodeDrainTimeoutSeconds": 9}}
    slow = kcp(1).initialized().wanting(machineTemplate={"spec": limits})
    going = plan(plane(slow, pilot("a").joined().going()))
    assert kinds(going)[0] is act.SyncDeleting


def test_all_is_applied_once_after_a_change() -> None:
    found = plan(plane(kcp(1).initialized(), *settled("a"), settled=False))
    assert kinds(found)[:3] == [act.SyncMachine, act.SyncHost, act.SyncConfig]


def test_without_the_tenant_nothing_is_decided_about_machines() -> None:
    found = plan(plane(kcp(5).initialized(), *running("a"), tenant=None, connection=Connection(None, 9)))
    assert not any(isinstance(each, act.CreateMachine) for each in found.actions)
    assert found.requeue_after == 15
    assert found.why == "connection to the workload cluster is down"


def test_healing_goes_before_changing() -> None:
    old = [pilot(name, version="v1.35.0").joined() for name in "bc"]
    found = plan(plane(kcp().initialized(), pilot("a", version="v1.35.0").joined().given_up(), *old))
    assert any(isinstance(each, act.DeleteMachine) and each.machine.metadata.name == "a" for each in found.actions)
    assert not any(isinstance(each, act.UpdateKubeadmConfig) for each in found.actions)


def test_a_rollout_goes_on_if_a_machine_cannot_be_healed() -> None:
    sick = pilot("a", version="v1.35.0").joined().given_up()
    found = plan(plane(kcp(1).initialized(), sick))
    assert any(isinstance(each, act.TellRemediation) for each in found.actions)
    assert any(isinstance(each, act.CreateMachine) for each in found.actions)


def test_machines_that_nobody_manages_are_adopted_with_their_secrets() -> None:
    alone = pilot("a").having(metadata={"ownerReferences": []})
    secret = Draft(TENANT_SECRETS, {"metadata": {"name": f"{CLUSTER}-ca"}}).owned_by(
        config("a"), KUBEADM_CONFIGS, controller=True
    )
    found = plan(
        plane(kcp(), adoptable=(alone.it,), adoptable_configs={"a": config("a")}, adoptable_secrets=(secret.made(),))
    )
    assert kinds(found) == [act.AdoptSecret, act.AdoptMachine]
    assert found.again
    adopted = found.actions[0]
    assert isinstance(adopted, act.AdoptSecret)
    assert [each.kind for each in adopted.owners] == ["KubeadmControlPlane"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spec": {"version": "v1.34.0"}}, "is outside supported +/- one minor version skew"),
        ({"spec": {"bootstrap": {"configRef": {"kind": "OtherConfig"}}}}, "expected a ConfigRef of kind KubeadmConfig"),
        ({"spec": {"bootstrap": {"configRef": {"name": "gone"}}, "version": None}}, ""),
    ],
)
def test_machines_that_do_not_fit_are_left_alone(change: dict[str, Any], words: str) -> None:
    odd = pilot("a").having(metadata={"ownerReferences": []}, **change)
    found = plan(plane(kcp(), adoptable=(odd.it,), adoptable_configs={"a": config("a")}))
    if not words:
        assert kinds(found) == [act.AdoptMachine]
        return
    assert not any(isinstance(each, act.AdoptMachine) for each in found.actions)
    assert words in found.why


def test_nothing_is_done_beside_somebody_else() -> None:
    found = plan(plane(kcp().initialized(), *running("a"), foreign=("other",)))
    assert kinds(found) == []
    assert found.problem
    assert "refusing to operate in mixed management mode: other" in found.why


def test_workers_go_before_the_control_plane() -> None:
    found = plan(plane(kcp().initialized().deleting(), *settled("a"), workers=("w2", "w1"), pools=("p",)))
    assert not any(isinstance(each, act.DeleteMachine) for each in found.actions)
    assert found.deleting == (
        "WaitingForWorkersDeletion",
        "KubeadmControlPlane deletion blocked because following objects still exist:\n* MachinePools: p\n"
        "* Machines: w1, w2",
    )
    assert found.requeue_after == 30


def test_all_machines_go_at_once_and_nobody_waits_for_etcd() -> None:
    found = plan(plane(kcp().initialized().deleting(), *settled("a"), pilot("b").joined().going(), tenant=tenant("a")))
    done = [each for each in found.actions if isinstance(each, act.RemoveHook | act.DeleteMachine)]
    assert [(type(each), each.machine.metadata.name) for each in done] == [
        (act.RemoveHook, "a"),
        (act.DeleteMachine, "a"),
        (act.RemoveHook, "b"),
    ]
    assert found.deleting == ("WaitingForMachineDeletion", "Deleting 2 Machines")


def test_a_control_plane_without_machines_is_let_go() -> None:
    found = plan(plane(kcp().deleting()))
    assert kinds(found) == [act.Release]
    assert found.deleting == ("DeletionCompleted", "Deletion completed")
