"""Whether the tenant's API can be used: a quorum of etcd, one machine on which everything works, and certificates.

Problems of single machines are told only once they have lasted, so that a restart of a pod makes no noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.meta import Condition
from nagaya.controlplane.kubeadm.control_plane import COMPONENT_CONDITIONS, ControlPlane, node_of
from nagaya.controlplane.kubeadm.quorum import quorum
from nagaya.controlplane.kubeadm.tenant_seen import MemberSeen
from nagaya.kube.conditions import Conditions, condition, get, is_true

TIME_TO_LIST_MEMBERS: Final = timedelta(minutes=2)
"""How long after the tenant came to life etcd may be silent before that is a problem."""
WORTH_TELLING_AFTER: Final = timedelta(seconds=10)
_TYPE: Final = kubeadm.AVAILABLE

_State = Literal["healthy", "failing", "failing for a moment"]


@dataclass(frozen=True, slots=True)
class _Count:
    healthy: int
    failing: int
    moments: int
    """Failing, but not for long enough to be told."""


def available(plane: ControlPlane, *, initialized: bool, conditions: Conditions) -> Condition:
    """The condition Available. `conditions` are those of the control plane as they are told now."""
    if not initialized:
        return condition(_TYPE, False, kubeadm.NOT_AVAILABLE_REASON, "Control plane not yet initialized")
    members = plane.members
    if plane.etcd_managed and members is None:
        return _without_members(conditions, plane.seen.now)
    if plane.etcd_managed and not plane.members_match:
        message = "The list of etcd members does not match the list of Machines and Nodes"
        return condition(_TYPE, False, kubeadm.NOT_AVAILABLE_REASON, message)
    members = (members or ()) if plane.etcd_managed else ()
    types = (*COMPONENT_CONDITIONS, *plane.etcd_conditions)
    now = plane.seen.now
    machines = _count([_state(each, types, now) for each in plane.machines if each.spec.provider_id])
    etcd = _count(_member_states(plane, members))
    needed = quorum(sum(1 for each in members if each.name and not each.learner))
    certificates = is_true(conditions, kubeadm.CERTIFICATES_AVAILABLE)
    etcd_works = not plane.etcd_managed or etcd.healthy >= needed
    if not plane.seen.deleting and etcd_works and machines.healthy and certificates:
        lines = []
        if plane.etcd_managed and etcd.failing:
            lines.append(_members_line(etcd.healthy + etcd.moments, members, needed))
        if machines.failing:
            lines.append(_machines_line(machines.healthy + machines.moments, len(plane.machines)))
        return condition(_TYPE, True, kubeadm.AVAILABLE_REASON, "\n".join(lines))
    lines = []
    if plane.seen.deleting:
        lines.append("* Control plane metadata.deletionTimestamp is set")
    if not certificates:
        lines.append("* Control plane certificates are not available")
    if not etcd_works:
        lines.append(_members_line(etcd.healthy, members, needed))
    if not machines.healthy:
        lines.append("* There are no Machines with healthy control plane components, at least 1 required")
    return condition(_TYPE, False, kubeadm.NOT_AVAILABLE_REASON, "\n".join(lines))


def _without_members(conditions: Conditions, now: datetime) -> Condition:
    found = get(conditions, kubeadm.INITIALIZED)
    if found is not None and found.status == "True" and now - found.last_transition_time < TIME_TO_LIST_MEMBERS:
        message = "Waiting for etcd to report the list of members"
        return condition(_TYPE, False, kubeadm.NOT_AVAILABLE_REASON, message)
    return condition(_TYPE, "Unknown", kubeadm.INSPECTION_FAILED_REASON, "Failed to get etcd members")


def _member_states(plane: ControlPlane, members: Sequence[MemberSeen]) -> list[_State]:
    by_node = {node_of(each): each for each in plane.machines if node_of(each)}
    coming = [each for each in plane.machines if not node_of(each)]
    states: list[_State] = []
    for member in members:
        if not member.name:
            states.append("healthy")  # it starts, which usually takes no time
            continue
        machine = by_node.get(member.name)
        if machine is None and len(coming) == 1:
            # Machines are made one at a time, so this must be the one.
            machine = coming.pop()
        if machine is None:
            states.append("failing")
            continue
        states.append(_state(machine, (kubeadm.MACHINE_ETCD_MEMBER_HEALTHY,), plane.seen.now))
    return states


def _state(machine: Machine, types: Sequence[str], now: datetime) -> _State:
    found = [get(machine.status.conditions, each) for each in types]
    if all(each is not None and each.status == "True" for each in found):
        return "healthy"
    since = [each.last_transition_time for each in found if each is not None and each.status != "True"]
    return "failing" if since and now - min(since) > WORTH_TELLING_AFTER else "failing for a moment"


def _count(states: Sequence[_State]) -> _Count:
    return _Count(states.count("healthy"), states.count("failing"), states.count("failing for a moment"))


def _members_line(healthy: int, members: Sequence[MemberSeen], needed: int) -> str:
    learners = sum(1 for each in members if each.learner or not each.name)
    apart = f" {learners} learner etcd member," if learners else ""
    ending = f"{apart} at least {needed} healthy member required for etcd quorum"
    if healthy == 0:
        return f"* There are no healthy etcd member,{ending}"
    verb = "is" if healthy == 1 else "are"
    return f"* {healthy} of {len(members)} etcd members {verb} healthy,{ending}"


def _machines_line(healthy: int, total: int) -> str:
    verb = "has" if healthy == 1 else "have"
    return f"* {healthy} of {total} Machines {verb} healthy control plane components, at least 1 required"
