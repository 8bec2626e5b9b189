"""Replacing machines that are not as declared: with a surge the new one comes first, without it the old one goes first.

What joining machines read in the tenant is brought in line before anything else: a new machine must find the
configuration that it is made for.
"""

from __future__ import annotations

import re
from dataclasses import replace

from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.api.controlplane.rollout import ROLLING_UPDATE
from nagaya.controlplane.kubeadm.actions import UpdateKubeadmConfig
from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.decision import PREFLIGHT_RETRY, Decision
from nagaya.controlplane.kubeadm.scaling import scale_down, scale_up, select

_is_number = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch


def rollout(plane: ControlPlane) -> Decision | None:
    """What to do about machines that are not as declared. None if all are."""
    outdated = plane.to_be_rolled_out
    if not outdated:
        return None
    reasons = ", ".join(
        f"Machine {each.metadata.name} needs rollout: {', '.join(plane.verdicts[each.metadata.name].details)}"
        for each in outdated
    )
    strategy = plane.kcp.spec.rollout.strategy
    if strategy is not None and strategy.type != ROLLING_UPDATE:
        return Decision(f"{reasons}. But the strategy {strategy.type} is not known.", problem=True)
    if plane.seen.tenant is None:
        return Decision(f"{reasons}. But the tenant cannot be reached.", requeue_after=PREFLIGHT_RETRY, problem=True)
    if len(plane.machines) < plane.replicas + max_surge(plane.kcp):
        decision = scale_up(plane)
    else:
        decision = scale_down(plane, select(plane, outdated))
    update = UpdateKubeadmConfig("Machines that join read the configuration of the cluster in the tenant.")
    return replace(decision, why=f"{decision.why} ({reasons})", actions=(update, *decision.actions))


def max_surge(kcp: KubeadmControlPlane) -> int:
    """How many machines there may be more than declared: 1 if nothing is said, and 0 if it is no number, as in Go."""
    strategy = kcp.spec.rollout.strategy
    surge = None if strategy is None else strategy.rolling_update.max_surge
    if surge is None:
        return 1
    if isinstance(surge, int):
        return surge
    return int(surge) if _is_number(surge) else 0
