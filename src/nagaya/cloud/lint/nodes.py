"""The nodes that a workload meets when a cluster is new: their taints and their labels, class by class.

A class stands for all nodes that start alike. What is not said in the manifests is taken as kubeadm and Cluster API do
it: control-plane nodes have their label and their taint, workers neither, and all are not ready until there is a pod
network.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from nagaya.cloud.lint.kubelets import Registration, Role
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.plain import mappings, text
from nagaya.cloud.lint.selection import NodeLabels
from nagaya.cloud.lint.taints import (
    CAPI_UNINITIALIZED,
    CONTROL_PLANE,
    NOT_READY,
    NOT_READY_EVICTS,
    UNINITIALIZED,
    Taint,
    read_taint,
    untolerated,
)

CONTROL_PLANE_LABEL: Final = "node-role.kubernetes.io/control-plane"
MASTER_LABEL: Final = "node-role.kubernetes.io/master"
SET_BY_CLOUD: Final = frozenset(
    {
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
    }
)
"""Labels that a node has only after a cloud controller manager has initialised it."""
_EVERYWHERE: Final = {
    "kubernetes.io/hostname": None,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": None,
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": None,
}


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes that start alike."""

    name: str
    labels: NodeLabels
    taints: tuple[Taint, ...]
    count: int | None = None
    """How many there are at the start; None if nothing tells."""


def classes(
    registrations: Sequence[Registration],
    *,
    hosted: bool,
    by_cluster_api: bool,
    cloud_expected: bool,
    everywhere: tuple[Taint, ...] = (),
) -> tuple[NodeClass, ...]:
    """The classes of a new cluster, control plane first. `cloud_expected` is what to think of kubelets that nobody
    describes; taints that are `everywhere` are from the kubelets' own configuration."""
    roles = (Role.WORKER,) if hosted else (Role.CONTROL_PLANE, Role.WORKER)
    any_external = any(each.external for each in registrations) if registrations else cloud_expected
    return tuple(_class(role, registrations, by_cluster_api, any_external, everywhere) for role in roles)


def _class(
    role: Role,
    registrations: Iterable[Registration],
    by_cluster_api: bool,
    any_external: bool,
    everywhere: tuple[Taint, ...],
) -> NodeClass:
    own = [each for each in registrations if each.role is role]
    external = any(each.external for each in own) if own else any_external
    taints = [UNINITIALIZED] if external else []
    taints += [NOT_READY, NOT_READY_EVICTS]
    given = next((each.taints for each in own if each.taints is not None), None)
    if given is not None:
        taints += [each for each in given if each not in taints]
    elif role is Role.CONTROL_PLANE:
        taints.append(CONTROL_PLANE)
    more = [*everywhere, *(taint for each in own for taint in each.extra_taints)]
    taints += [each for each in dict.fromkeys(more) if each not in taints]
    identified = bool(own) and all("provider-id" in each.arguments for each in own)
    if role is Role.WORKER and by_cluster_api and not identified and CAPI_UNINITIALIZED not in taints:
        taints.append(CAPI_UNINITIALIZED)
    known: dict[str, str | None] = dict(_EVERYWHERE)
    for each in own:
        for pair in filter(None, each.arguments.get("node-labels", "").split(",")):
            key, _, value = pair.partition("=")
            known[key.strip()] = value
    absent = {MASTER_LABEL, *SET_BY_CLOUD}
    if role is Role.CONTROL_PLANE:
        known[CONTROL_PLANE_LABEL] = ""
    else:
        absent.add(CONTROL_PLANE_LABEL)
    count = next((each.count for each in own if each.count is not None), None)
    return NodeClass(role.value, NodeLabels(known, frozenset(absent - known.keys())), tuple(taints), count)


def ready_nodes(manifests: Iterable[Manifest]) -> tuple[NodeClass, ...]:
    """Nodes that are running already, initialised and ready: on them, what cannot start a cluster can still run."""
    found = []
    for each in manifests:
        if each.kind != "Node" or each.group:
            continue
        conditions = mappings(each.at("status", "conditions"))
        ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
        taints = tuple(read_taint(one) for one in mappings(each.at("spec", "taints")))
        if ready and UNINITIALIZED.key not in {taint.key for taint in untolerated(taints, ())}:
            found.append(NodeClass(each.name, NodeLabels(dict(each.labels), complete=True), taints, 1))
    return tuple(found)


def node_role(node: Manifest) -> str:
    """What a node is for, by its labels."""
    return Role.CONTROL_PLANE if CONTROL_PLANE_LABEL in node.labels else Role.WORKER


def provider_id(node: Manifest) -> str:
    """The identifier that the cloud knows a node by; empty until it is initialised."""
    return text(node.at("spec", "providerID"))
