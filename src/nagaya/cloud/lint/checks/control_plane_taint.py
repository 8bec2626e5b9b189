"""L4: what selects control-plane nodes must tolerate what keeps pods off them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, kept_away
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.taints import CAPI_UNINITIALIZED, CONTROL_PLANE, NOT_READY, NOT_READY_EVICTS, UNINITIALIZED

_ID: Final = "L4"
_OTHERS: Final = (UNINITIALIZED, CAPI_UNINITIALIZED, NOT_READY, NOT_READY_EVICTS)
_OLD: Final = "node-role.kubernetes.io/master"


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.initialisers:
        place = manifests.obstacle(each)
        if place is None:
            continue
        for taint in place.untolerated:
            if taint in _OTHERS:
                continue
            why = f"The nodes that it selects ({place.nodes.name}) carry {taint}, which it does not tolerate."
            if taint == CONTROL_PLANE and any(one.key == _OLD for one in each.tolerations):
                why += f" It tolerates {_OLD}, which no node carries since Kubernetes 1.25."
            yield kept_away(_ID, manifests, each, taint, f"{why} So it is scheduled nowhere.")


CHECK: Final = Check(
    _ID,
    "the cloud controller manager does not tolerate the taint of the nodes that it selects",
    Severity.ERROR,
    """kubeadm gives control-plane nodes node-role.kubernetes.io/control-plane:NoSchedule, unless
nodeRegistration.taints says otherwise. A node selector or an affinity for control-plane nodes does not tolerate that
by itself. The old key node-role.kubernetes.io/master was removed from nodes with Kubernetes 1.25; manifests that
tolerate only it worked once, and do not any more. Taints from nodeRegistration.taints and --register-with-taints count
the same.""",
    _run,
)
