"""L3: the cloud controller manager must not be evicted from a node that is not ready before it could make it so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.taints import NOT_READY_EVICTS, eviction_after

_ID: Final = "L3"
START_BUDGET: Final = 60
"""Seconds that pulling an image, starting, winning the election and initialising a node may well take."""


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.initialisers:
        after = None if each.static else eviction_after(NOT_READY_EVICTS, each.tolerations)
        if after is None or after >= START_BUDGET:
            continue
        yield finding(
            _ID,
            Severity.WARNING if after else Severity.ERROR,
            each.manifest,
            f"{each.path}.tolerations",
            f"{NOT_READY_EVICTS}, tolerationSeconds: {after}",
            f"On a node that is not ready its pods are evicted after {after} s"
            + (
                f"; pulling the image and initialising the node may take {START_BUDGET} s, and then it starts again."
                if after
                else ": as soon as they are bound, so they never run."
            ),
            f"tolerations:\n- key: {NOT_READY_EVICTS.key}\n  operator: Exists\n  effect: NoExecute\n"
            "  tolerationSeconds: 300  # or leave it out: for ever",
        )


CHECK: Final = Check(
    _ID,
    "the cloud controller manager is evicted from nodes that are not ready too soon",
    Severity.ERROR,
    """node.kubernetes.io/not-ready also comes with the effect NoExecute: pods that do not tolerate it are evicted, and
those that tolerate it with tolerationSeconds are evicted after that time. Pods that say nothing get 300 s by
admission, DaemonSets tolerate it for ever. If several tolerations match, the shortest time counts. Leave enough time
to pull the image and to initialise the node that the pod is on.""",
    _run,
)
