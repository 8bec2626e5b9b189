"""How the components on each machine are: its Node, and the static pods that kubeadm runs on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.meta import Condition, ConditionStatus
from nagaya.clusters.node import Node
from nagaya.controlplane.kubeadm.health.pods import pod_condition
from nagaya.controlplane.kubeadm.kubeadm_config import is_for_join
from nagaya.controlplane.kubeadm.machine_content import etcd_managed
from nagaya.controlplane.kubeadm.seen import Seen
from nagaya.controlplane.kubeadm.tenant_seen import API_SERVER, CONTROLLER_MANAGER, ETCD, SCHEDULER, TenantSeen
from nagaya.kube.conditions import condition

CONTROL_PLANE_ROLE: Final = "node-role.kubernetes.io/control-plane"
"""The label and the taint that kubeadm gives to Nodes of a control plane."""
_ROLE_TAINT: Final = (CONTROL_PLANE_ROLE, "NoSchedule")
_UNREACHABLE: Final = ("node.kubernetes.io/unreachable", "NoExecute")
NODE: Final = kubeadm.MACHINE_NODE_KUBEADM_LABELS_AND_TAINTS_SET


def pod_types(seen: Seen) -> dict[str, str]:
    """The conditions of machines that tell of pods, with the component that each is about."""
    types = {
        kubeadm.MACHINE_API_SERVER_POD_HEALTHY: API_SERVER,
        kubeadm.MACHINE_CONTROLLER_MANAGER_POD_HEALTHY: CONTROLLER_MANAGER,
        kubeadm.MACHINE_SCHEDULER_POD_HEALTHY: SCHEDULER,
    }
    return {**types, kubeadm.MACHINE_ETCD_POD_HEALTHY: ETCD} if etcd_managed(seen.kcp) else types


def component_conditions(seen: Seen, tenant: TenantSeen, machine: Machine) -> Iterator[Condition]:
    """What is told on a machine about its Node and its pods."""
    types = pod_types(seen)
    name = "" if machine.status.node_ref is None else machine.status.node_ref.name
    node = tenant.nodes.get(name)
    if tenant.nodes_problem:
        yield condition(NODE, "Unknown", kubeadm.INSPECTION_FAILED_REASON, "Failed to get the Node")
        yield from _all(types, "Unknown", f"Failed to get the Node hosting the Pod: {tenant.nodes_problem}")
    elif machine.metadata.deleting:
        if node is None:
            yield condition(NODE, False, kubeadm.DELETING_REASON, "Machine is deleting")
        else:
            yield node_condition(machine, node, seen.configs.get(machine.metadata.name))
        yield from _all(types, "False", "Machine is deleting", kubeadm.DELETING_REASON)
    elif not name:
        yield from _all((NODE, *types), "Unknown", waiting_for_node(machine))
    elif node is None:
        yield from _all((NODE, *types), "Unknown", f"Node {name} does not exist")
    elif _UNREACHABLE in {each.identity for each in node.spec.taints}:
        # What is known of pods may be old. It is for health checks to give the machine up.
        yield from _all((NODE, *types), "Unknown", f"Node {name} is unreachable")
    else:
        for type, component in types.items():
            yield pod_condition(type, component, node, tenant)
        yield node_condition(machine, node, seen.configs.get(machine.metadata.name))


def node_condition(machine: Machine, node: Node, config: KubeadmConfig | None) -> Condition:
    """Whether a Node has the label and the taint that kubeadm gives to Nodes of a control plane."""
    missing = []
    if CONTROL_PLANE_ROLE not in node.metadata.labels:
        missing.append(f"the {CONTROL_PLANE_ROLE} label")
    if _is_tainted(machine, config) and _ROLE_TAINT not in {each.identity for each in node.spec.taints}:
        missing.append(f"the {':'.join(_ROLE_TAINT)} taint")
    if not missing:
        return condition(NODE, True, kubeadm.SET_REASON)
    message = f"Node {node.metadata.name} does not have {' and '.join(missing)}"
    return condition(NODE, False, kubeadm.NOT_SET_REASON, message)


def waiting_for_node(machine: Machine) -> str:
    """What a machine without a Node waits for."""
    if machine.spec.provider_id:
        return f"Waiting for a Node with spec.providerID {machine.spec.provider_id} to exist"
    return f"Waiting for {machine.spec.infrastructure_ref.kind} to report spec.providerID"


def nodes_without_machine(seen: Seen, tenant: TenantSeen) -> list[str]:
    """Nodes of the control plane that no machine has, a sentence each. Those of machines that just come up look like
    that for a while."""
    names = {each.status.node_ref.name for each in seen.machines if each.status.node_ref is not None}
    if any(each.status.node_ref is None and not each.metadata.deleting for each in seen.machines):
        return []
    return [
        f"Control plane Node {name} does not have a corresponding Machine"
        for name, node in sorted(tenant.nodes.items())
        if CONTROL_PLANE_ROLE in node.metadata.labels and name not in names
    ]


def _is_tainted(machine: Machine, config: KubeadmConfig | None) -> bool:
    """Whether the Node should have the taint: the machine says so, or kubeadm was told, or left to its default."""
    if any((each.key, each.effect) == _ROLE_TAINT for each in machine.spec.taints):
        return True
    if config is None:
        return False
    spec = config.spec
    registration = (spec.join_configuration if is_for_join(config) else spec.init_configuration).node_registration
    if registration.taints is None:
        return True
    return any((each.key, each.effect) == _ROLE_TAINT for each in registration.taints)


def _all(
    types: Iterable[str], status: ConditionStatus, message: str, reason: str = kubeadm.INSPECTION_FAILED_REASON
) -> Iterator[Condition]:
    for type in types:
        yield condition(type, status, reason, message)
