from __future__ import annotations

from typing import Any

import pytest

from nagaya.controlplane.kubeadm.actions import Warn
from nagaya.controlplane.kubeadm.certificates_port import CertificateState, SecretsSeen
from nagaya.controlplane.kubeadm.preflight import awaited_version, preflight
from unit.controlplane.kubeadm.examples import (
    cluster,
    etcd,
    kcp,
    member,
    pilot,
    plane,
    running,
    tenant,
    without_pods,
)

IN_PROGRESS = {
    "controlplane.cluster.x-k8s.io/remediation-in-progress": '{"machine":"x","timestamp":"2026-11-01T11:59:00Z"}'
}
MISSING = SecretsSeen(CertificateState.MISSING, "gone")


def topology(version: str, step: str = "") -> Any:
    annotations = {"topology.internal.cluster.x-k8s.io/upgrade-step": step} if step else {}
    return cluster(
        metadata={"annotations": annotations}, spec={"topology": {"classRef": {"name": "c"}, "version": version}}
    )


def test_without_machines_nothing_stands_against_the_first() -> None:
    assert preflight(plane(kcp()), up=True) is None


def test_a_healthy_control_plane_passes() -> None:
    found = plane(kcp().initialized(), *running("a", "b"))
    assert preflight(found, up=True) is None
    assert preflight(found, up=False, going=found.machines[0]) is None


@pytest.mark.parametrize(
    ("declared", "step", "awaited"),
    [("v1.36.3", "", ""), ("v1.37.0", "", "v1.37.0"), ("v1.38.0", "v1.37.0", "v1.37.0"), ("v1.38.0", "v1.36.3", "")],
)
def test_a_version_that_the_topology_has_yet_to_hand_on_is_waited_for(declared: str, step: str, awaited: str) -> None:
    of = topology(declared, step)
    assert awaited_version(of, "v1.36.3") == awaited
    refusal = preflight(plane(kcp().initialized(), *running("a"), cluster=of), up=True)
    if not awaited:
        assert refusal is None
        return
    assert refusal is not None
    assert refusal.checks.topology_version == awaited
    assert refusal.requeue_after == 15


def test_no_machine_joins_without_certificates_but_one_may_go() -> None:
    found = plane(kcp().initialized(), *running("a", "b"), authorities=MISSING)
    refusal = preflight(found, up=True)
    assert refusal is not None
    assert refusal.checks.certificates_missing
    assert preflight(found, up=False, going=found.machines[0]) is None


def test_nothing_else_happens_while_a_machine_goes() -> None:
    refusal = preflight(plane(kcp().initialized(), *running("a"), pilot("b").joined().going()), up=True)
    assert refusal is not None
    assert refusal.checks.deleting_machine
    assert refusal.requeue_after == 30
    assert refusal.why == "Waiting for machines to be deleted: b"


def test_a_machine_without_a_node_is_waited_for() -> None:
    refusal = preflight(plane(kcp().initialized(), *running("a"), pilot("b")), up=True)
    assert refusal is not None
    assert refusal.checks.components_not_healthy
    assert refusal.checks.etcd_not_healthy
    assert refusal.checks.failures == (
        "Machine b does not have a corresponding Node yet (Machine.status.nodeRef not set)",
    )
    assert isinstance(refusal.actions[0], Warn)
    assert refusal.actions[0].reason == "ControlPlaneUnhealthy"


def test_a_failing_component_is_waited_for_unless_its_machine_is_the_one_to_go() -> None:
    found = plane(kcp().initialized(), *running("a", "b"), tenant=without_pods(tenant("a", "b"), "kube-apiserver-b"))
    refusal = preflight(found, up=True)
    assert refusal is not None
    assert refusal.checks.components_not_healthy
    assert not refusal.checks.etcd_not_healthy
    assert refusal.checks.failures == ("Machine b reports APIServerPodHealthy condition is false (Pod does not exist)",)
    assert preflight(found, up=False, going=found.machines[1]) is None
    assert preflight(found, up=False, going=found.machines[0]) is not None


def test_a_failing_member_is_waited_for() -> None:
    sick = tenant("a", "b", etcd=etcd("a", member("b", alarms=("CORRUPT",))))
    refusal = preflight(plane(kcp().initialized(), *running("a", "b"), tenant=sick), up=True)
    assert refusal is not None
    assert refusal.checks.etcd_not_healthy
    assert not refusal.checks.components_not_healthy


def test_a_replacement_comes_although_another_machine_fails() -> None:
    sick = without_pods(
        tenant("a", "b", "c", "d", etcd=etcd("a", "b", "c", member("d", alarms=("CORRUPT",)))), "kube-apiserver-d"
    )
    of = kcp(5).initialized().annotated(IN_PROGRESS)
    assert preflight(plane(of, *running("a", "b", "c", "d"), tenant=sick), up=True) is None
    assert preflight(plane(of, *running("a", "b", "c", "d"), tenant=sick), up=False) is not None


def test_a_replacement_does_not_come_if_etcd_could_lose_its_quorum() -> None:
    sick = tenant("a", "b", etcd=etcd("a", member("b", alarms=("CORRUPT",))))
    refusal = preflight(plane(kcp().initialized().annotated(IN_PROGRESS), *running("a", "b"), tenant=sick), up=True)
    assert refusal is not None
    assert "adding a new control plane Machine can lead to etcd quorum loss" in refusal.why
    assert refusal.checks.etcd_not_healthy
    assert not refusal.checks.components_not_healthy


def test_a_replacement_does_not_come_if_no_machine_could_let_it_join() -> None:
    broken = without_pods(tenant("a", "b"), "kube-apiserver-a", "kube-scheduler-b")
    refusal = preflight(plane(kcp().initialized().annotated(IN_PROGRESS), *running("a", "b"), tenant=broken), up=True)
    assert refusal is not None
    assert "cannot add a new control plane Machine when there are no" in refusal.why
    assert refusal.checks.components_not_healthy
