from __future__ import annotations

from nagaya.controlplane.kubeadm.health.pods import pod_condition
from nagaya.controlplane.kubeadm.tenant_seen import ContainerSeen, PodSeen, TenantSeen
from support.subtest_cases import subtest_cases
from unit.controlplane.kubeadm.examples import node

TYPE = "SchedulerPodHealthy"
POD = "kube-scheduler-a"


def told(pod: PodSeen | None, **more: object) -> tuple[str, str, str]:
    pods = {} if pod is None else {POD: pod}
    found = pod_condition(TYPE, "kube-scheduler", node("a"), TenantSeen(pods=pods, **more))  # type: ignore[arg-type]  # one field of its own type
    return found.status, found.reason, found.message


@subtest_cases(
    ("pod", "expected"),
    [
        (None, ("False", "DoesNotExist", "Pod does not exist")),
        (PodSeen("Pending", scheduled=False), ("False", "Provisioning", "Waiting to be scheduled")),
        (PodSeen("Pending", initialized=False), ("False", "Provisioning", "Running init containers")),
        (PodSeen("Pending"), ("False", "Provisioning", "")),
        (PodSeen("Running"), ("True", "Running", "")),
        (PodSeen("Running", ready=False), ("False", "Provisioning", "Waiting for startup or readiness probes")),
        (
            PodSeen("Running", ready=False, containers=(ContainerSeen(waiting="ErrImagePull"),)),
            ("False", "Provisioning", "ErrImagePull"),
        ),
        (
            PodSeen("Running", ready=False, containers=(ContainerSeen("CrashLoopBackOff", failed_before=True),)),
            ("False", "Failed", "CrashLoopBackOff"),
        ),
        (
            PodSeen("Running", ready=False, containers=(ContainerSeen(terminated="Error"),)),
            ("False", "Failed", "Error"),
        ),
        (PodSeen("Succeeded"), ("False", "Failed", "All the containers have been terminated")),
        (PodSeen("Failed"), ("False", "Failed", "All the containers have been terminated")),
        (PodSeen("Unknown"), ("Unknown", "InspectionFailed", "Pod is reporting Unknown status")),
    ],
)
def test_a_pod_is_told_as_cluster_api_tells_it(pod: PodSeen | None, expected: tuple[str, str, str]) -> None:
    assert told(pod) == expected


def test_a_pod_that_cannot_be_read_is_unknown() -> None:
    found = told(None, unreadable_pods=frozenset({POD}))
    assert found == ("Unknown", "InspectionFailed", "Please check controller logs for errors")


def test_a_pod_of_a_node_that_tells_nothing_is_unknown() -> None:
    silent = node("a", status={"conditions": [{"type": "Ready", "status": "Unknown"}]})
    found = pod_condition(TYPE, "kube-scheduler", silent, TenantSeen(pods={POD: PodSeen("Running")}))
    assert found.message == "Node Ready condition is Unknown, Pod data might be stale"
