"""L19: the cloud controller manager should be the last to be pushed aside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.plain import at, mapping, number, text
from nagaya.cloud.lint.selection import selects
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L19"
_CRITICAL: Final = ("system-cluster-critical", "system-node-critical")


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.inside:
        if text(each.pod.get("priorityClassName")) not in _CRITICAL:
            yield _warning(
                each.manifest,
                f"{each.path}.priorityClassName",
                text(each.pod.get("priorityClassName")) or "no priorityClassName",
                "Other pods can push it from a full node, and then no node is initialised until there is room.",
                "priorityClassName: system-cluster-critical",
            )
        for path, container in each.all_containers:
            if ".containers[" in path and not mapping(at(container, "resources", "requests")):
                yield _warning(
                    each.manifest,
                    f"{path}.resources.requests",
                    "no resource requests",
                    "It is the first to be killed when a node runs out of memory.",
                    "resources:\n  requests:\n    cpu: 100m\n    memory: 64Mi",
                )
        yield from _scaled(manifests, each)
        yield from _guarded(manifests, each)


def _scaled(manifests: Manifests, workload: Workload) -> Iterator[Finding]:
    for scaler in manifests.of("HorizontalPodAutoscaler", "VerticalPodAutoscaler"):
        target = mapping(scaler.spec.get("scaleTargetRef") or scaler.spec.get("targetRef"))
        idle = at(scaler.raw, "spec", "updatePolicy", "updateMode") == "Off"
        same = (text(target.get("kind")), text(target.get("name"))) == (workload.kind, workload.name)
        if same and scaler.namespace == workload.namespace and not idle:
            yield _warning(
                scaler,
                "spec",
                f"{scaler.kind} of {workload}",
                "One pod leads and the others wait, so more pods do not help, and fewer or restarted ones do harm.",
                "Delete it, and set replicas and requests by hand.",
            )


def _guarded(manifests: Manifests, workload: Workload) -> Iterator[Finding]:
    for budget in manifests.of("PodDisruptionBudget"):
        if budget.namespace != workload.namespace or not selects(budget.spec.get("selector"), workload.pod_labels):
            continue
        least, most = budget.spec.get("minAvailable"), budget.spec.get("maxUnavailable")
        all_needed = most in (0, "0%") or least == "100%" or (number(least) or 0) >= workload.replicas
        if all_needed and not workload.daemon:
            yield _warning(
                budget,
                "spec.minAvailable" if least is not None else "spec.maxUnavailable",
                f"{'minAvailable' if least is not None else 'maxUnavailable'} for {workload.replicas} replicas",
                f"No pod of {workload} may ever be evicted, so the node that it is on can never be "
                "drained or replaced.",
                "maxUnavailable: 1",
            )


def _warning(manifest: Manifest, path: str, subject: str, why: str, fix: str) -> Finding:
    return finding(_ID, Severity.WARNING, manifest, path, subject, why, fix)


CHECK: Final = Check(
    _ID,
    "the cloud controller manager is pushed aside too easily, or cannot be moved",
    Severity.WARNING,
    """It should have the priority class system-cluster-critical or system-node-critical, resource requests, no
autoscaler, and a disruption budget that lets one pod go. None of this stops a new cluster; all of it stops a full one,
or one whose nodes are replaced.""",
    _run,
)
