"""Members of etcd that no machine has: left over from a machine that went without them, or from nobody knows where.

They count for the quorum and never vote, so they are taken out, one at a time, unless a machine that is only just
coming up may be theirs.
"""

from __future__ import annotations

from nagaya.api.controlplane import conditions as kubeadm
from nagaya.controlplane.kubeadm.actions import RemoveMember
from nagaya.controlplane.kubeadm.control_plane import ControlPlane, node_of
from nagaya.controlplane.kubeadm.decision import AT_ONCE, PREFLIGHT_RETRY, Decision
from nagaya.controlplane.kubeadm.quorum import etcd_survives
from nagaya.kube.conditions import is_true

NAMELESS = "(Name not yet assigned)"


def stray_member(plane: ControlPlane) -> Decision | None:
    """What to do about members without a machine. None if there are none, or if it has to be waited for."""
    members = plane.members
    if not plane.etcd_managed or not plane.machines or not members:
        return None
    if plane.nodes_problem:
        return _problem(f"unable to reconcile etcd members: {plane.nodes_problem}")
    if is_true(plane.told, kubeadm.ETCD_CLUSTER_HEALTHY):
        return None
    expected = {node_of(each) for each in plane.machines}
    if "" in expected:
        return None  # a machine that does not say yet which Node it is may be the one
    strays = sorted((each for each in members if each.name not in expected), key=lambda each: (each.name, each.id))
    if not strays:
        return None
    stray = strays[0]
    title = stray.name or NAMELESS
    # One without a name never started and does not vote, so taking it out cannot cost the quorum.
    if stray.name and not etcd_survives(plane, without=stray.name):
        return _problem(
            f"etcd member {title} does not have a corresponding Machine, it must be removed from the cluster but this "
            "operation can lead to quorum loss. Please check the etcd status"
        )
    names = ", ".join(each.name or NAMELESS for each in strays)
    why = f"Etcd members {names} without corresponding Machines, removing member {title}"
    through = tuple(each for each in plane.node_names if each != stray.name)
    return Decision(why, (RemoveMember(stray, through, why),), AT_ONCE)


def _problem(why: str) -> Decision:
    return Decision(why, requeue_after=PREFLIGHT_RETRY, problem=True)
