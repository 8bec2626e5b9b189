"""Moving etcd's leadership away from a machine that is about to go, so that nobody has to wait for an election."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.controlplane.kubeadm.actions import MoveLeader
from nagaya.controlplane.kubeadm.control_plane import ControlPlane, node_of
from nagaya.controlplane.kubeadm.failure_domains import age
from nagaya.kube.conditions import is_true


@dataclass(frozen=True, slots=True)
class Handover:
    """How a machine comes to be no leader."""

    move: tuple[MoveLeader, ...] = ()
    """At most one; none if it does not lead."""
    problem: str = ""
    """Why it cannot be done."""


def handover(plane: ControlPlane, machine: Machine, remediated: Machine | None = None) -> Handover:
    """What it takes before a machine goes."""
    leader = plane.leader
    if leader is None:
        return Handover(problem="unable to move etcd leadership, failed to detect etcd leader")
    name = node_of(machine)
    if not name or name != leader.name:
        return Handover()
    candidates = tuple(map(node_of, candidates_for(plane, machine)))
    if not candidates:
        return Handover(problem="unable to move etcd leadership, no candidate machines for etcd leadership found")
    why = f"Machine {machine.metadata.name} is about to go and leads etcd: {candidates[0]} shall lead."
    return Handover((MoveLeader(name, candidates, why, remediated),))


def candidates_for(plane: ControlPlane, machine: Machine) -> list[Machine]:
    """Who could lead instead, the most reliable first: those that will stay, and among them the newest."""

    def rank(each: Machine) -> tuple[bool, bool, bool, float, str]:
        conditions = each.status.conditions
        made, name = age(each)
        return (
            not is_true(conditions, kubeadm.MACHINE_ETCD_MEMBER_HEALTHY),
            not is_true(conditions, MachineCondition.HEALTH_CHECK_SUCCEEDED),
            not is_true(conditions, MachineCondition.UP_TO_DATE),
            -made,
            name,
        )

    others = (each for each in plane.machines if each.metadata.name != machine.metadata.name)
    return sorted((each for each in others if node_of(each) and not each.metadata.deleting), key=rank)
