"""L2: the cloud controller manager must go to nodes that are not ready, if being ready takes its own work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, kept_away
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.taints import NOT_READY

_ID: Final = "L2"


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.initialisers:
        place = manifests.obstacle(each)
        if place is None or NOT_READY not in place.untolerated:
            continue
        known, unknown = manifests.network_waits, manifests.network_may_wait
        if known:
            consequence = f"That pod network waits for the cloud controller manager in turn: {known}."
        elif unknown:
            consequence = f"Whether it waits for the cloud controller manager in turn is open: {unknown}."
        else:
            consequence = "Here the pod network comes up alone, so this only starts later; with another it might not."
        yield kept_away(
            _ID,
            manifests,
            each,
            NOT_READY,
            f"A node is not ready, and carries {NOT_READY}, until it has a pod network. {consequence}",
            Severity.ERROR if known else Severity.WARNING,
        )


CHECK: Final = Check(
    _ID,
    "the cloud controller manager does not tolerate nodes that are not ready",
    Severity.ERROR,
    """Every node starts with node.kubernetes.io/not-ready:NoSchedule (admission adds it at creation), and keeps it
until the container runtime has a pod network. DaemonSets get a toleration of not-ready:NoExecute by themselves, but
not of NoSchedule. Many pod networks wait for the node's internal address, which the cloud controller manager sets
unless the kubelet has --node-ip. So: not ready, no cloud controller manager; no cloud controller manager, no address;
no address, no pod network; no pod network, not ready. The check is an error if the set shows that the pod network
waits, and a warning if that is not known.""",
    _run,
)
