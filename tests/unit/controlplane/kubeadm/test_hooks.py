from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from nagaya.controlplane.kubeadm.actions import MoveLeader, RemoveHook, RemoveMember
from nagaya.controlplane.kubeadm.decision import Decision
from nagaya.controlplane.kubeadm.hooks import hook
from nagaya.controlplane.kubeadm.stray_members import stray_member
from nagaya.controlplane.kubeadm.tenant_seen import EtcdSeen, MemberSeen
from unit.controlplane.kubeadm.examples import (
    Pilot,
    etcd,
    kcp,
    member,
    pilot,
    plane,
    running,
    tenant,
    without_pods,
)

HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup"
OTHER = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/other"


def drained(name: str, ago: timedelta = timedelta()) -> Pilot:
    """A machine that waits for hooks."""
    return pilot(name).joined().going(ago).reporting("Deleting", "True", "WaitingForPreTerminateHook")


def kinds(found: Decision | None) -> list[type]:
    assert found is not None
    return [type(each) for each in found.actions]


def test_nobody_goes() -> None:
    assert hook(plane(kcp().initialized(), *running("a"))) is None


def test_a_member_is_taken_out_before_its_machine_is_let_go() -> None:
    found = hook(plane(kcp().initialized(), drained("a"), *running("b", "c")))
    assert kinds(found) == [RemoveMember, RemoveHook]
    assert found is not None
    remove = found.actions[0]
    assert isinstance(remove, RemoveMember)
    assert (remove.member.name, remove.through) == ("a", ("b", "c"))
    assert found.requeue_after == 30


def test_a_leader_hands_over_before_it_is_taken_out() -> None:
    leading = tenant("a", "b", "c", etcd=etcd("a", "b", "c", leader="a"))
    found = hook(plane(kcp().initialized(), drained("a"), *running("b", "c"), tenant=leading))
    assert kinds(found) == [MoveLeader, RemoveMember, RemoveHook]


def test_the_machine_that_was_deleted_first_goes_first() -> None:
    found = hook(plane(kcp().initialized(), drained("b", timedelta(minutes=2)), drained("a"), *running("c", "d", "e")))
    assert found is not None
    assert "Machine b is let go" in found.why


def test_one_machine_is_gone_before_the_next_is_let_go() -> None:
    leaving = drained("a").annotated({HOOK: None})
    found = hook(plane(kcp().initialized(), leaving, drained("b"), *running("c", "d")))
    assert kinds(found) == []
    assert found is not None
    assert found.why == "Machine a has to be gone before another one is let go."


@pytest.mark.parametrize(("version", "waits"), [("v1.36.3", True), ("v1.31.0", True), ("v1.30.0", False)])
def test_other_hooks_come_first(version: str, waits: bool) -> None:
    busy = drained("a").annotated({OTHER: ""})
    found = hook(plane(kcp(version=version).initialized(), busy, *running("b", "c")))
    assert (kinds(found) == []) is waits


def test_a_machine_that_is_not_drained_yet_is_left_alone() -> None:
    found = hook(plane(kcp().initialized(), pilot("a").joined().going(), *running("b", "c")))
    assert kinds(found) == []


def test_the_last_machine_goes_without_further_questions() -> None:
    assert kinds(hook(plane(kcp(1).initialized(), drained("a")))) == [RemoveHook]


def test_no_machine_goes_if_no_other_works() -> None:
    broken = without_pods(tenant("a", "b"), "kube-apiserver-b")
    found = hook(plane(kcp().initialized(), drained("a"), *running("b"), tenant=broken))
    assert kinds(found) == []
    assert found is not None
    assert found.why.startswith("Cannot delete control plane Machine a when there are no control plane Machines")


def test_no_member_goes_at_the_price_of_the_quorum() -> None:
    sick = tenant("a", "b", "c", etcd=etcd("a", member("b", alarms=("CORRUPT",)), "c"))
    found = hook(plane(kcp().initialized(), drained("a"), *running("b", "c"), tenant=sick))
    assert kinds(found) == []
    assert found is not None
    assert "can lead to etcd quorum loss" in found.why


def test_no_member_goes_while_etcd_does_not_answer() -> None:
    silent = tenant("a", "b", etcd=EtcdSeen(problem="x"))
    found = hook(plane(kcp().initialized(), drained("a"), *running("b"), tenant=silent))
    assert kinds(found) == []
    assert found is not None
    assert found.problem
    assert found.why.endswith("etcd member list is empty")


def test_a_machine_that_never_became_a_node_has_no_member() -> None:
    failed = pilot("a").going().reporting("Deleting", "True", "WaitingForPreTerminateHook")
    assert kinds(hook(plane(kcp().initialized(), failed, *running("b")))) == [RemoveHook]


def test_a_member_that_is_out_already_holds_nothing_up() -> None:
    out = tenant("a", "b", "c", etcd=etcd("b", "c"))
    assert kinds(hook(plane(kcp().initialized(), drained("a"), *running("b", "c"), tenant=out))) == [RemoveHook]


def test_with_an_external_etcd_there_is_no_member() -> None:
    external = {"endpoints": ["https://e"], "caFile": "a", "certFile": "b", "keyFile": "c"}
    of = kcp().initialized().wanting(kubeadmConfigSpec={"clusterConfiguration": {"etcd": {"external": external}}})
    assert kinds(hook(plane(of, drained("a"), *running("b")))) == [RemoveHook]


def test_a_member_without_a_machine_is_taken_out() -> None:
    stray = tenant("a", "b", etcd=etcd("a", "b", "x"))
    found = stray_member(plane(kcp().initialized(), *running("a", "b"), tenant=stray))
    assert found is not None
    (remove,) = found.actions
    assert isinstance(remove, RemoveMember)
    assert (remove.member.name, remove.through) == ("x", ("a", "b"))
    assert found.requeue_after == 1


def test_a_member_that_never_started_is_taken_out_first_and_without_counting() -> None:
    stray = tenant("a", etcd=etcd("a", "x", MemberSeen(9, "")))
    found = stray_member(plane(kcp().initialized(), *running("a"), tenant=stray))
    assert found is not None
    (remove,) = found.actions
    assert isinstance(remove, RemoveMember)
    assert remove.member.id == 9


def test_a_member_that_may_be_that_of_a_newcomer_stays() -> None:
    stray = tenant("a", etcd=etcd("a", "x"))
    assert stray_member(plane(kcp().initialized(), *running("a"), pilot("b"), tenant=stray)) is None


def test_a_stray_member_stays_if_the_quorum_would_go_with_it() -> None:
    stray = tenant("a", "b", etcd=etcd("a", member("b", alarms=("CORRUPT",)), "x"))
    found = stray_member(plane(kcp().initialized(), *running("a", "b"), tenant=stray))
    assert found is not None
    assert found.actions == ()
    assert found.problem
    assert "it must be removed from the cluster but this operation can lead to quorum loss" in found.why


def test_no_member_is_stray_when_all_is_well_or_nothing_is_known() -> None:
    assert stray_member(plane(kcp().initialized(), *running("a"))) is None
    assert stray_member(plane(kcp().initialized())) is None
    silent = tenant("a", etcd=EtcdSeen(problem="x"))
    assert stray_member(plane(kcp().initialized(), *running("a"), tenant=silent)) is None
    blind = replace(tenant("a"), nodes_problem="no answer")
    found = stray_member(plane(kcp().initialized(), *running("a"), tenant=blind))
    assert found is not None
    assert found.problem
