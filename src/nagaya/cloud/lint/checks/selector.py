"""L5: a selector must select nodes that exist when the cluster is new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.nodes import CONTROL_PLANE_LABEL, MASTER_LABEL, SET_BY_CLOUD
from nagaya.cloud.lint.placement import places
from nagaya.cloud.lint.selection import selected_labels
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L5"


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.initialisers:
        if each.static or places(each, manifests.node_classes):
            continue
        labels = sorted(selected_labels(each.pod))
        today = bool(manifests.ready_nodes) and bool(places(each, manifests.ready_nodes))
        why, fix = _explained(manifests, labels)
        yield finding(
            _ID,
            Severity.WARNING if today else Severity.ERROR,
            each.manifest,
            _path(each),
            ", ".join(labels),
            why + (" Nodes of today have the labels; those of a new cluster do not." if today else ""),
            fix,
        )


def _explained(manifests: Manifests, labels: list[str]) -> tuple[str, str]:
    if late := [each for each in labels if each in SET_BY_CLOUD]:
        return (
            f"It selects nodes by {', '.join(late)}, which nodes have only after a cloud controller manager has "
            "initialised them: it waits for its own work.",
            f"nodeSelector:\n  {CONTROL_PLANE_LABEL}: ''" if not manifests.hosted else "nodeSelector: {}",
        )
    if manifests.hosted and CONTROL_PLANE_LABEL in labels:
        return (
            "The control plane is hosted elsewhere, so no node of this cluster ever has the label of control-plane "
            "nodes.",
            "Remove the selector so that it runs on workers, or run it next to the hosted control plane.",
        )
    if MASTER_LABEL in labels:
        return (
            f"No node has the label {MASTER_LABEL} since Kubernetes 1.24, unless somebody adds it by hand.",
            f"nodeSelector:\n  {CONTROL_PLANE_LABEL}: ''",
        )
    return "Its node selector and affinity exclude every node of a new cluster.", "Select labels that new nodes have."


def _path(workload: Workload) -> str:
    return f"{workload.path}.nodeSelector" if workload.pod.get("nodeSelector") else f"{workload.path}.affinity"


CHECK: Final = Check(
    _ID,
    "the cloud controller manager selects nodes that do not exist in a new cluster",
    Severity.ERROR,
    """topology.kubernetes.io/zone and region and node.kubernetes.io/instance-type are set by the cloud controller
manager: it cannot select nodes by them. With a hosted control plane there are no control-plane nodes in the cluster.
The label node-role.kubernetes.io/master was removed with Kubernetes 1.24. Labels that the kubelet is given with
--node-labels are there from the start.""",
    _run,
)
