"""How a static pod is, as a condition of its machine. The texts are Cluster API's."""

from __future__ import annotations

from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.meta import Condition
from nagaya.clusters.node import Node
from nagaya.controlplane.kubeadm.tenant_seen import PodSeen, TenantSeen, pod_name
from nagaya.kube.conditions import condition

STALE = "Node Ready condition is Unknown, Pod data might be stale"
CHECK_THE_LOGS = "Please check controller logs for errors"


def pod_condition(type: str, component: str, node: Node, tenant: TenantSeen) -> Condition:
    """The condition of a machine for one of its components, given that its Node is there and reachable."""
    if node.unreachable:
        # The kubelet tells nothing any more, of pods neither.
        return condition(type, "Unknown", kubeadm.INSPECTION_FAILED_REASON, STALE)
    name = pod_name(component, node.metadata.name)
    if name in tenant.unreadable_pods:
        return condition(type, "Unknown", kubeadm.INSPECTION_FAILED_REASON, CHECK_THE_LOGS)
    pod = tenant.pods.get(name)
    if pod is None:
        return condition(type, False, kubeadm.POD_DOES_NOT_EXIST_REASON, "Pod does not exist")
    match pod.phase:
        case "Pending":
            return condition(type, False, kubeadm.POD_PROVISIONING_REASON, _pending(pod))
        case "Running":
            return _running(type, pod)
        case "Succeeded" | "Failed":
            message = "All the containers have been terminated"
            return condition(type, False, kubeadm.POD_FAILED_REASON, message)
        case "Unknown":
            message = "Pod is reporting Unknown status"
            return condition(type, "Unknown", kubeadm.INSPECTION_FAILED_REASON, message)


def _pending(pod: PodSeen) -> str:
    if not pod.scheduled:
        return "Waiting to be scheduled"
    return "" if pod.initialized else "Running init containers"


def _running(type: str, pod: PodSeen) -> Condition:
    if pod.ready:
        return condition(type, True, kubeadm.POD_RUNNING_REASON)
    waiting = [each.waiting for each in pod.containers if each.waiting is not None]
    if waiting:
        # A container that failed waits for its next start, so waiting alone says little.
        failed = any(each.failed_before for each in pod.containers)
        reason = kubeadm.POD_FAILED_REASON if failed else kubeadm.POD_PROVISIONING_REASON
        return condition(type, False, reason, ", ".join(waiting))
    ended = [each.terminated for each in pod.containers if each.terminated is not None]
    if ended:
        return condition(type, False, kubeadm.POD_FAILED_REASON, ", ".join(ended))
    return condition(type, False, kubeadm.POD_PROVISIONING_REASON, "Waiting for startup or readiness probes")
