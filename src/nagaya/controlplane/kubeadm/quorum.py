"""What a change would leave of the control plane: whether etcd keeps its quorum, and one machine all its components.

Both assume the worst of what is not known. They look at etcd's own list of members, so they also hold when members
and machines do not match.
"""

from __future__ import annotations

from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.controlplane.kubeadm.control_plane import COMPONENT_CONDITIONS, ControlPlane, node_of
from nagaya.controlplane.kubeadm.tenant_seen import MemberSeen
from nagaya.kube.conditions import is_true


def etcd_survives(plane: ControlPlane, *, without: str = "", with_one_more: bool = False) -> bool:
    """Whether etcd has a quorum of healthy members after one is removed, or one added.

    A new member counts as unhealthy, unless there is one at most: else nobody could ever get from one to two. As long
    as a member is a learner nothing is safe: it is about to be promoted.
    """
    members = plane.members or ()
    voting = sick = learners = 0
    if with_one_more:
        voting += 1
        sick += len(members) > 1
    for member in members:
        if not member.name:
            # It is only just starting, and does not vote yet.
            learners += 1
            sick += 1
        elif member.name != without:
            learners += member.learner
            voting += not member.learner
            sick += not _is_healthy(plane, member)
    return learners == 0 and voting - sick >= quorum(voting)


def components_survive(plane: ControlPlane, *, without: str = "", with_one_more: bool = False) -> bool:
    """Whether all components work on at least one machine after one is deleted, or one added.

    Everything on a machine talks to what is on the same machine, so a machine counts only if all of it works.
    """
    if with_one_more and not plane.machines:
        return True
    return any(works(plane, each) for each in plane.machines if each.metadata.name != without)


def works(plane: ControlPlane, machine: Machine) -> bool:
    """Whether all components on a machine work, its etcd member aside."""
    types = (*COMPONENT_CONDITIONS, *((kubeadm.MACHINE_ETCD_POD_HEALTHY,) if plane.etcd_managed else ()))
    return all(is_true(machine.status.conditions, each) for each in types)


def quorum(voting: int) -> int:
    """How many members must agree."""
    return voting // 2 + 1


def _is_healthy(plane: ControlPlane, member: MemberSeen) -> bool:
    machine = next((each for each in plane.machines if node_of(each) == member.name), None)
    if machine is None:
        # Of a member without a machine nothing is known but its alarms.
        return not member.alarms
    return is_true(machine.status.conditions, kubeadm.MACHINE_ETCD_MEMBER_HEALTHY)
