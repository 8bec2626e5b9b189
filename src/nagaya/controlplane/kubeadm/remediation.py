"""Machines that a health check gave up: one at a time is deleted, and the control plane makes another.

The machine that is the most broken goes first. Before it goes, everything is asked that could make matters worse:
whether the tenant would be left with a quorum of etcd and one machine that works. Once the tenant is initialized that
is asked of every machine; before, there is nothing to lose. Each answer is told in the machine's condition
OwnerRemediated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from nagaya.api.cluster.annotations import REMEDIATE_MACHINE
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.controlplane.names import REMEDIATION_FOR, REMEDIATION_IN_PROGRESS
from nagaya.api.controlplane.rollout import DEFAULT_MIN_HEALTHY_PERIOD_SECONDS
from nagaya.controlplane.kubeadm.actions import Action, DeleteMachine, RememberRemediation, TellRemediation
from nagaya.controlplane.kubeadm.control_plane import COMPONENT_CONDITIONS, ControlPlane, node_of
from nagaya.controlplane.kubeadm.decision import PREFLIGHT_RETRY, Decision
from nagaya.controlplane.kubeadm.failure_domains import age
from nagaya.controlplane.kubeadm.leadership import handover
from nagaya.controlplane.kubeadm.member_names import member_of
from nagaya.controlplane.kubeadm.preflight import awaited_version
from nagaya.controlplane.kubeadm.quorum import components_survive, etcd_survives
from nagaya.controlplane.kubeadm.remediation_record import RemediationRecord, UnreadableRecord, read
from nagaya.kube.conditions import condition, is_false, is_true


@dataclass(frozen=True, slots=True)
class Remediation:
    """What becomes of unhealthy machines."""

    plane: ControlPlane
    """As the rest of the plan is to see it: without a record that is out of date."""
    actions: tuple[Action, ...] = ()
    """What is told and tidied in any case."""
    decision: Decision | None = None
    """What ends the plan; None if it goes on."""
    retry_after: float | None = None
    """When time alone changes the answer, in seconds."""


@dataclass(frozen=True, slots=True)
class _Allowed:
    record: RemediationRecord | None
    """None: not now."""
    reason: str = ""
    message: str = ""
    again_at: datetime | None = None


def remediation(plane: ControlPlane) -> Remediation:
    """What to do about unhealthy machines."""
    tidied: list[Action] = [
        TellRemediation(each, None, f"Machine {each.metadata.name} is healthy again.")
        for each in plane.machines
        if not each.metadata.deleting and _recovered(each)
    ]
    try:
        if _record_is_stale(plane):
            tidied.append(RememberRemediation(None, "The replacement of an unhealthy machine has been made."))
            plane = _without_record(plane)
    except UnreadableRecord as error:
        return Remediation(plane, tuple(tidied), _blocked(f"Annotation {REMEDIATION_IN_PROGRESS}: {error}"))
    machine = most_broken(plane)
    if machine is None or machine.metadata.deleting:
        return Remediation(plane, tuple(tidied))
    if REMEDIATION_IN_PROGRESS in plane.kcp.metadata.annotations:
        # The replacement of another machine has yet to be made.
        return Remediation(plane, tuple(tidied))
    found = _one(plane, machine)
    return Remediation(plane, (*tidied, *found.actions), found.decision, found.retry_after)


def most_broken(plane: ControlPlane) -> Machine | None:
    """The machine to be replaced first: that gives the rest the best chance to be healed afterwards.

    First those that somebody named, then those without a Node, then those with an etcd that does not work or is not
    known to, then those with other components like that; among equals the oldest.
    """
    types = (
        *((kubeadm.MACHINE_ETCD_MEMBER_HEALTHY, kubeadm.MACHINE_ETCD_POD_HEALTHY) if plane.etcd_managed else ()),
        *COMPONENT_CONDITIONS,
        kubeadm.MACHINE_NODE_KUBEADM_LABELS_AND_TAINTS_SET,
    )

    def rank(machine: Machine) -> tuple[bool, bool, tuple[bool, ...], tuple[float, str]]:
        works = tuple(is_true(machine.status.conditions, each) for each in types)
        named = REMEDIATE_MACHINE in machine.metadata.annotations
        return (not named, bool(node_of(machine)), works, age(machine))

    return min(plane.to_be_remediated, key=rank, default=None)


def _one(plane: ControlPlane, machine: Machine) -> Remediation:
    kcp, name = plane.kcp, machine.metadata.name
    if version := awaited_version(plane.seen.cluster, kcp.spec.version):
        return _deferred(
            plane,
            machine,
            f"KubeadmControlPlane can't remediate while waiting for a version upgrade to {version} to be propagated "
            "from Cluster.spec.topology",
        )
    try:
        allowed = _retry(plane, machine)
    except UnreadableRecord as error:
        return Remediation(plane, decision=_blocked(f"Machine {name}, annotation {REMEDIATION_FOR}: {error}"))
    if allowed.record is None:
        told = _told(machine, allowed.reason, allowed.message)
        wait = None if allowed.again_at is None else (allowed.again_at - plane.seen.now).total_seconds()
        return Remediation(plane, (told,), retry_after=wait)
    moves: tuple[Action, ...] = ()
    if plane.seen.initialized:
        if refusal := _refusal(plane, machine):
            return Remediation(plane, (_told(machine, *refusal),))
        if plane.etcd_managed:
            change = handover(plane, machine, machine)
            if change.problem:
                told = _told(machine, kubeadm.CANNOT_BE_REMEDIATED_REASON, change.problem)
                decision = replace(_blocked(f"Machine {name} cannot be remediated: {change.problem}"), actions=(told,))
                return Remediation(plane, decision=decision)
            moves = change.move
    why = f"Deleting Machine {name} (remediating unhealthy Machine)"
    return Remediation(
        plane,
        decision=Decision(
            why,
            (
                *moves,
                _told(machine, kubeadm.MACHINE_DELETING_REASON, "Machine is deleting"),
                DeleteMachine(machine, why, failure="FailedRemediation"),
                RememberRemediation(allowed.record.annotation, f"A replacement for Machine {name} is to be made."),
            ),
        ),
    )


def _refusal(plane: ControlPlane, machine: Machine) -> tuple[str, str] | None:
    """Why deleting a machine of a tenant that works could make it worse: reason and message."""
    deferred, impossible = kubeadm.REMEDIATION_DEFERRED_REASON, kubeadm.CANNOT_BE_REMEDIATED_REASON
    if len(plane.machines) <= 1:
        return impossible, "KubeadmControlPlane can't remediate if current replicas are less or equal to 1"
    waiting = "KubeadmControlPlane waiting for control plane Machine {} to complete before triggering remediation"
    if plane.healthy_but_without_node:
        return deferred, waiting.format("provisioning")
    if plane.deleting:
        return deferred, waiting.format("deletion")
    if plane.etcd_managed and (not plane.members or plane.nodes_problem):
        return deferred, "Failed to check etcd cluster health before remediation"
    if not _is_safe(plane, machine):
        return (
            impossible,
            "KubeadmControlPlane can't remediate this Machine because this could result in loosing Kubernetes "
            "control plane components or in etcd quorum loss",
        )
    return None


def _is_safe(plane: ControlPlane, machine: Machine) -> bool:
    if not components_survive(plane, without=machine.metadata.name):
        return False
    if not plane.etcd_managed:
        return True
    member = member_of(plane, machine)
    # Without a Node nobody knows whether there will ever be a member. It is asked again before the machine is gone.
    return not member or etcd_survives(plane, without=member)


def _retry(plane: ControlPlane, machine: Machine) -> _Allowed:
    """Whether a machine may be replaced, considering how often its predecessors were."""
    now, spec = plane.seen.now, plane.kcp.spec.remediation
    record = RemediationRecord(machine=machine.metadata.name, timestamp=now.replace(microsecond=0))
    annotation = machine.metadata.annotations.get(REMEDIATION_FOR)
    if annotation is None:
        return _Allowed(record)
    last = read(annotation)
    healthy = spec.min_healthy_period_seconds
    min_healthy = timedelta(seconds=DEFAULT_MIN_HEALTHY_PERIOD_SECONDS if healthy is None else healthy)
    period = timedelta(seconds=spec.retry_period_seconds or 0)
    if last.timestamp is None or last.timestamp + min_healthy <= now:
        # It worked for long enough: this is another failure, not the same again.
        return _Allowed(record)
    if last.timestamp + period > now:
        message = (
            "KubeadmControlPlane can't remediate this machine because the operation already failed in the latest "
            f"{duration(period)} (RetryPeriodSeconds)"
        )
        return _Allowed(None, kubeadm.REMEDIATION_DEFERRED_REASON, message, last.timestamp + period)
    if spec.max_retry is not None and last.retry_count >= spec.max_retry:
        message = (
            "KubeadmControlPlane can't remediate this machine because the operation already failed "
            f"{spec.max_retry} times (MaxRetry)"
        )
        return _Allowed(None, kubeadm.CANNOT_BE_REMEDIATED_REASON, message, last.timestamp + min_healthy)
    return _Allowed(msgspec.structs.replace(record, retry_count=last.retry_count + 1))


def duration(length: timedelta) -> str:
    """A length of time as Go writes it: 1h0m0s."""
    seconds = int(length.total_seconds())
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    text = f"{seconds % 60}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text


def _deferred(plane: ControlPlane, machine: Machine, message: str) -> Remediation:
    return Remediation(plane, (_told(machine, kubeadm.REMEDIATION_DEFERRED_REASON, message),))


def _told(machine: Machine, reason: str, message: str) -> TellRemediation:
    return TellRemediation(machine, condition(MachineCondition.OWNER_REMEDIATED, False, reason, message), message)


def _blocked(why: str) -> Decision:
    return Decision(why, requeue_after=PREFLIGHT_RETRY, problem=True)


def _recovered(machine: Machine) -> bool:
    conditions = machine.status.conditions
    healthy = is_true(conditions, MachineCondition.HEALTH_CHECK_SUCCEEDED)
    return healthy and is_false(conditions, MachineCondition.OWNER_REMEDIATED)


def _record_is_stale(plane: ControlPlane) -> bool:
    """Whether the replacement is there. A crash may have come between making it and saying so."""
    annotation = plane.kcp.metadata.annotations.get(REMEDIATION_IN_PROGRESS)
    if annotation is None:
        return False
    record = read(annotation)
    made = (each.metadata.creation_timestamp for each in plane.machines)
    return record.timestamp is None or any(each is not None and each > record.timestamp for each in made)


def _without_record(plane: ControlPlane) -> ControlPlane:
    metadata = plane.kcp.metadata
    annotations = {name: value for name, value in metadata.annotations.items() if name != REMEDIATION_IN_PROGRESS}
    kcp = msgspec.structs.replace(plane.kcp, metadata=msgspec.structs.replace(metadata, annotations=annotations))
    return replace(plane, seen=replace(plane.seen, kcp=kcp))
