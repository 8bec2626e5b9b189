from __future__ import annotations

from typing import Any

from nagaya.controlplane.kubeadm.tenant_seen import ContainerSeen, PodSeen
from nagaya.controlplane.kubeadm.workload.static_pod import STATIC_PODS, pod_seen, trimmed


def pod(**status: Any) -> PodSeen:
    metadata = {"name": "etcd-a", "namespace": "kube-system", "labels": {"tier": "control-plane"}, "uid": "1"}
    found = STATIC_PODS.convert({"metadata": metadata, "spec": {"hostNetwork": True}, "status": status})
    return pod_seen(trimmed(found))


def condition(type: str, status: str = "True") -> dict[str, str]:
    return {"type": type, "status": status, "lastProbeTime": ""}


def test_a_pod_that_works() -> None:
    conditions = [condition(each) for each in ("PodScheduled", "Initialized", "Ready")]
    assert pod(phase="Running", conditions=conditions) == PodSeen("Running")


def test_a_pod_without_a_status_is_on_its_way() -> None:
    assert pod() == PodSeen("Pending", scheduled=False, initialized=False, ready=False)


def test_a_phase_that_nobody_knows_says_nothing() -> None:
    assert pod(phase="Dancing").phase == "Pending"


def test_containers_say_why_they_do_not_run() -> None:
    statuses = [
        {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}},
        {"state": {"terminated": {"reason": "Error", "exitCode": 2}}},
        {"state": {"running": {}}, "lastState": {"terminated": {"exitCode": 0}}},
        {"state": {"waiting": {}}},
    ]
    assert pod(phase="Running", containerStatuses=statuses).containers == (
        ContainerSeen(waiting="CrashLoopBackOff", failed_before=True),
        ContainerSeen(terminated="Error"),
        ContainerSeen(),
        ContainerSeen(waiting=""),
    )


def test_what_nobody_asks_for_is_not_kept() -> None:
    found = STATIC_PODS.convert({"metadata": {"name": "a", "annotations": {"a": "b"}, "resourceVersion": "7"}})
    kept = trimmed(found).metadata
    assert (kept.name, kept.resource_version, dict(kept.annotations)) == ("a", "7", {})
