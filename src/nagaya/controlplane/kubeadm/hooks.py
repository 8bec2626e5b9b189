"""The last thing that happens to a machine before its infrastructure goes: its etcd member is taken out.

The Machine controller drains the Node first and then waits for an annotation to disappear. Machines are let go one at
a time, the one first that was deleted first, and only if what remains keeps its quorum.
"""

from __future__ import annotations

from typing import Final

from nagaya.api.cluster.annotations import PRE_TERMINATE_DELETE_HOOK_PREFIX
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.controlplane.names import PRE_TERMINATE_HOOK_CLEANUP
from nagaya.clusters.kubernetes_version import parse
from nagaya.controlplane.kubeadm.actions import Action, RemoveHook, RemoveMember
from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.decision import DELETION_RETRY, PREFLIGHT_RETRY, Decision
from nagaya.controlplane.kubeadm.leadership import handover
from nagaya.controlplane.kubeadm.member_names import member_of
from nagaya.controlplane.kubeadm.quorum import components_survive, etcd_survives
from nagaya.kube.conditions import get

LAST_OF_HOOKS_FROM: Final = (1, 31)
"""From this version on the kubelet needs the etcd beside it, so all other hooks come first."""


def hook(plane: ControlPlane) -> Decision | None:
    """What to do about machines that are being deleted. None if there are none."""
    going = plane.deleting
    if not going:
        return None
    for machine in going:
        if PRE_TERMINATE_HOOK_CLEANUP not in machine.metadata.annotations:
            return _wait(f"Machine {machine.metadata.name} has to be gone before another one is let go.")
    machine = min(going, key=_deleted)
    name = machine.metadata.name
    version = parse(plane.kcp.spec.version)
    hooks_first = version is None or (version.major, version.minor) >= LAST_OF_HOOKS_FROM
    if hooks_first and (others := _other_hooks(machine)):
        return _wait(f"Machine {name} has other hooks that come first: {', '.join(others)}.")
    if not _is_waiting(machine):
        return _wait(f"Machine {name} is on its way out and not ready to lose its etcd member.")
    if len(plane.machines) <= 1:
        return _release(machine, "It is the last one.")
    if not components_survive(plane, without=name):
        return _wait(
            f"Cannot delete control plane Machine {name} when there are no control plane Machines with all "
            "Kubernetes control plane components in healthy state. Please check Kubernetes control plane component "
            "status"
        )
    if not plane.etcd_managed:
        return _release(machine, "It has no etcd member.")
    if plane.nodes_problem:
        return _problem(f"unable to remove pre-terminate hook of Machine {name}: {plane.nodes_problem}")
    if not plane.members:
        return _problem(f"unable to remove pre-terminate hook of Machine {name}, etcd member list is empty")
    member = member_of(plane, machine)
    if not member:
        return _release(machine, "It never became a Node, so it has no etcd member that is known.")
    if not etcd_survives(plane, without=member):
        return _wait(
            f"Cannot delete control plane Machine {name}, the operation can lead to etcd quorum loss. Please check "
            "the etcd status"
        )
    return _take_out(plane, machine, member)


def _deleted(machine: Machine) -> tuple[float, str]:
    since = machine.metadata.deletion_timestamp
    return (0.0 if since is None else since.timestamp(), machine.metadata.name)


def _take_out(plane: ControlPlane, machine: Machine, member: str) -> Decision:
    # Leadership was moved before the deletion. But it may have come back, or somebody else deleted the machine.
    change = handover(plane, machine)
    if change.problem:
        return _problem(change.problem)
    through = tuple(each for each in plane.node_names if each != member)
    removals = tuple(
        RemoveMember(each, through, f"Machine {machine.metadata.name} goes, and its etcd member with it.")
        for each in plane.members or ()
        if each.name == member
    )
    return _release(machine, "Its etcd member is out.", *change.move, *removals)


def _release(machine: Machine, because: str, *first: Action) -> Decision:
    why = f"Machine {machine.metadata.name} is let go. {because}"
    return Decision(why, (*first, RemoveHook(machine, why)), DELETION_RETRY)


def _wait(why: str) -> Decision:
    return Decision(why, requeue_after=DELETION_RETRY)


def _problem(why: str) -> Decision:
    return Decision(why, requeue_after=PREFLIGHT_RETRY, problem=True)


def _is_waiting(machine: Machine) -> bool:
    """Whether the Machine controller is done with the Node and waits for hooks."""
    told = get(machine.status.conditions, MachineCondition.DELETING)
    return told is not None and told.status == "True" and told.reason == MachineReason.WAITING_FOR_PRE_TERMINATE_HOOK


def _other_hooks(machine: Machine) -> list[str]:
    names = sorted(machine.metadata.annotations)
    return [
        each
        for each in names
        if each.startswith(PRE_TERMINATE_DELETE_HOOK_PREFIX) and each != PRE_TERMINATE_HOOK_CLEANUP
    ]
