"""L7: replicas that must be apart need as many nodes as there are replicas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.placement import HOSTNAME, keeps_apart, node_count
from nagaya.cloud.lint.plain import mappings, number, text
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L7"


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.inside:
        if each.daemon or each.kind == "Pod":
            continue
        nodes = node_count(each, manifests.node_classes)
        surge, unavailable = each.budget()
        field = "podAntiAffinity" if keeps_apart(each) else "topologySpreadConstraints" if _spreads(each, nodes) else ""
        if not field:
            continue
        path = f"{each.path}.affinity.podAntiAffinity" if field == "podAntiAffinity" else f"{each.path}.{field}"
        if nodes is not None and each.replicas > nodes:
            stuck = not unavailable
            yield finding(
                _ID,
                Severity.ERROR if stuck else Severity.WARNING,
                each.manifest,
                path,
                f"{field}, replicas: {each.replicas}, nodes: {nodes}",
                f"It wants {each.replicas} pods on different nodes and there are {nodes} to begin with: the others "
                "stay Pending"
                + (
                    ", and with maxUnavailable 0 the Deployment never gets complete and no later version is rolled out."
                    if stuck
                    else ", until more nodes join."
                ),
                f"replicas: {max(nodes, 1)}",
            )
        elif field == "podAntiAffinity" and surge and not unavailable and _is_tight(each, nodes, surge):
            yield finding(
                _ID,
                Severity.WARNING,
                each.manifest,
                "spec.strategy",
                f"{field}, maxSurge: {surge}, maxUnavailable: 0",
                f"A rollout makes a new pod before it takes an old one away, and needs {each.replicas + surge} nodes "
                f"for {each.replicas} replicas that must be apart; with fewer it stands still.",
                "strategy:\n  type: RollingUpdate\n  rollingUpdate:\n    maxSurge: 0\n    maxUnavailable: 1",
            )


def _is_tight(workload: Workload, nodes: int | None, surge: int) -> bool:
    return workload.replicas > 1 if nodes is None else nodes < workload.replicas + surge


def _spreads(workload: Workload, nodes: int | None) -> bool:
    """Whether it demands more nodes than there are; an even spread over one node is no demand."""
    return any(
        each.get("whenUnsatisfiable") == "DoNotSchedule"
        and text(each.get("topologyKey")) == HOSTNAME
        and nodes is not None
        and (number(each.get("minDomains")) or 1) > nodes
        for each in mappings(workload.pod.get("topologySpreadConstraints"))
    )


CHECK: Final = Check(
    _ID,
    "replicas that must be apart are more than the nodes, or block their own rollout",
    Severity.ERROR,
    """Required anti-affinity by hostname is good advice for a cloud controller manager, as long as there are enough
nodes. A new cluster has one control-plane node. Replicas without a node stay Pending, which does no harm by itself;
with maxUnavailable 0 nothing newer is ever rolled out. The default of RollingUpdate, a quarter, rounds to
maxUnavailable 0 and maxSurge 1 for up to three replicas, so that a rollout needs one node more than there are
replicas.""",
    _run,
)
