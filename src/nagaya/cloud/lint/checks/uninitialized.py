"""L1: the cloud controller manager must go to nodes that it has not initialised yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, kept_away
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.taints import UNINITIALIZED

_ID: Final = "L1"


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.initialisers:
        place = manifests.obstacle(each)
        if place is not None and UNINITIALIZED in place.untolerated:
            yield kept_away(
                _ID,
                manifests,
                each,
                UNINITIALIZED,
                f"New nodes carry {UNINITIALIZED} until the cloud controller manager has initialised them. "
                "It does not tolerate that, so it is scheduled nowhere and initialises nothing: every node "
                "waits for it.",
            )


CHECK: Final = Check(
    _ID,
    "the cloud controller manager does not tolerate nodes that are not initialised",
    Severity.ERROR,
    """A kubelet with --cloud-provider=external registers its node with the taint
node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule. Only a cloud controller manager removes it. If that
runs as pods of the same cluster and its pods do not tolerate the taint, they wait for a node without it, and the nodes
wait for them. Nothing is logged but Pending pods. Static pods are not concerned: no scheduler places them.""",
    _run,
)
