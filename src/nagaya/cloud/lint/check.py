"""What a check is: a pure function from a set of manifests to findings, with a name and a lesson."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.taints import Taint
from nagaya.cloud.lint.workload import Workload


@dataclass(frozen=True, slots=True)
class Check:
    """One way in which a cluster can fail to start."""

    id: str
    title: str
    worst: Severity
    """The most that it ever says."""
    lesson: str
    """What `--explain` teaches."""
    run: Callable[[Manifests], Iterator[Finding]]


def finding(check: str, severity: Severity, manifest: Manifest, path: str, subject: str, why: str, fix: str) -> Finding:
    """A finding about an object."""
    return Finding(check, severity, str(manifest), manifest.source, path, subject, why, fix)


def kept_away(
    check: str, manifests: Manifests, workload: Workload, taint: Taint, why: str, worst: Severity = Severity.ERROR
) -> Finding:
    """A finding about a taint that a workload should tolerate. It is less bad where a node would take it today."""
    if manifests.runs_today(workload):
        worst = min(worst, Severity.WARNING, key=lambda each: each.rank)
        why += " It runs today, on nodes that are initialised and ready already; a new cluster would not get there."
    return finding(check, worst, workload.manifest, f"{workload.path}.tolerations", str(taint), why, toleration(taint))


def toleration(*taints: Taint) -> str:
    """The lines that tolerate taints."""
    lines = ["tolerations:"]
    for taint in taints:
        lines += [f"- key: {taint.key}", "  operator: Exists", f"  effect: {taint.effect}"]
    return "\n".join(lines)
