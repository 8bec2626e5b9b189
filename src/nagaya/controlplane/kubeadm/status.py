"""What a KubeadmControlPlane tells: how many machines there are, how they fare, and what it is about to do. One
function per condition; the texts are Cluster API's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from nagaya.api.cluster import labels as label
from nagaya.api.cluster import pause
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.controlplane.kubeadm_control_plane import (
    KubeadmControlPlane,
    KubeadmControlPlaneInitialization,
    KubeadmControlPlaneStatus,
    LastRemediation,
)
from nagaya.api.controlplane.names import REMEDIATION_FOR, REMEDIATION_IN_PROGRESS
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.kubernetes_version import of_machines
from nagaya.clusters.machine_health import to_be_remediated, unhealthy
from nagaya.clusters.names import machines_named
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.clusters.stale_machines import stale
from nagaya.clusters.up_to_date import judged, judgements
from nagaya.controlplane.kubeadm.available import WORTH_TELLING_AFTER, available
from nagaya.controlplane.kubeadm.certificates_port import CertificateState
from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.decision import Checks
from nagaya.controlplane.kubeadm.health.examine import silence_counts_at
from nagaya.controlplane.kubeadm.machine_content import etcd_managed
from nagaya.controlplane.kubeadm.plan import TOLD_ON_MACHINES, Plan
from nagaya.controlplane.kubeadm.remediation_record import RemediationRecord, UnreadableRecord, read
from nagaya.controlplane.kubeadm.seen import Seen
from nagaya.controlplane.kubeadm.verdict import next_verdict
from nagaya.kube.conditions import DefaultMerge, Source, aggregate, condition, get, is_false, is_true, reasons

FIELDS: Final = (
    "initialization.controlPlaneInitialized",
    "selector",
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "upToDateReplicas",
    "versions",
    "version",
    "observedGeneration",
    "lastRemediation",
)
"""The fields of the status that are this controller's."""
POLL: Final = 20.0
"""Seconds until a control plane is looked at again that has not started, or whose components do not work: much of that
changes without an event."""
CHECK_THE_LOGS: Final = "Please check controller logs for errors"
_A_MOMENT: Final = timedelta(milliseconds=1)


def owned_conditions(kcp: KubeadmControlPlane) -> tuple[str, ...]:
    """The types of conditions that are this controller's. Who runs an external etcd tells himself how it is."""
    return (
        pause.CONDITION,
        kubeadm.AVAILABLE,
        kubeadm.INITIALIZED,
        kubeadm.CERTIFICATES_AVAILABLE,
        *((kubeadm.ETCD_CLUSTER_HEALTHY,) if etcd_managed(kcp) else ()),
        kubeadm.CONTROL_PLANE_COMPONENTS_HEALTHY,
        kubeadm.MACHINES_READY,
        kubeadm.MACHINES_UP_TO_DATE,
        kubeadm.ROLLING_OUT,
        kubeadm.SCALING_UP,
        kubeadm.SCALING_DOWN,
        kubeadm.REMEDIATING,
        kubeadm.DELETING,
    )


def status(plane: ControlPlane, planned: Plan, *, complete: bool) -> KubeadmControlPlaneStatus:
    """The status of a control plane that is not paused. `complete`: whether all that was planned has been done."""
    seen, kcp = plane.seen, plane.kcp
    present, generation = kcp.status, kcp.metadata.generation
    started = initialized(seen)
    machines = plane.machines
    told = [
        NOT_PAUSED,
        _initialized(started),
        certificates_available(seen),
        *plane.told,
        rolling_out(machines),
        scaling_up(plane, planned.checks),
        scaling_down(plane, planned.checks),
        machines_ready(machines),
        machines_up_to_date(seen, machines),
        remediating(machines),
        deleting(kcp, planned),
    ]
    conditions = with_conditions(present.conditions, told, now=seen.now, generation=generation)
    last = available(plane, initialized=started, conditions=conditions)
    versions = of_machines(machines)
    return KubeadmControlPlaneStatus(
        conditions=with_conditions(conditions, [last], now=seen.now, generation=generation),
        initialization=KubeadmControlPlaneInitialization(control_plane_initialized=True if started else None),
        selector=f"{label.CLUSTER_NAME}={seen.cluster.metadata.name},{label.CONTROL_PLANE}",
        replicas=len(machines),
        ready_replicas=_count(machines, MachineCondition.READY),
        available_replicas=_count(machines, MachineCondition.AVAILABLE),
        up_to_date_replicas=_count(machines, MachineCondition.UP_TO_DATE),
        versions=versions,
        version=versions[0].version if versions else present.version,
        observed_generation=generation if complete else present.observed_generation,
        last_remediation=last_remediation(plane),
    )


def initialized(seen: Seen) -> bool:
    """Whether the tenant's API took its first request; true for ever after.

    A single machine that is about to go does not count, even if it has just managed to start the cluster: with it the
    cluster is gone, and its replacement has to start another one instead of joining.
    """
    if seen.initialized:
        return True
    if len(seen.machines) == 1 and (to_be_remediated(seen.machines[0]) or seen.machines[0].metadata.deleting):
        return False
    return seen.tenant is not None and seen.tenant.kubeadm_config


def certificates_available(seen: Seen) -> Condition | None:
    """Whether all authorities are there. Before the infrastructure is, nobody has looked."""
    type = kubeadm.CERTIFICATES_AVAILABLE
    if not seen.provisioned or seen.deleting:
        return None
    found = seen.authorities
    match found.state:
        case CertificateState.AVAILABLE:
            return condition(type, True, kubeadm.AVAILABLE_REASON)
        case CertificateState.MISSING:
            return condition(type, False, kubeadm.NOT_AVAILABLE_REASON, found.message)
        case CertificateState.BROKEN | CertificateState.TO_BE_MADE:
            return condition(type, "Unknown", kubeadm.INTERNAL_ERROR_REASON, found.message or CHECK_THE_LOGS)


def rolling_out(machines: Sequence[Machine]) -> Condition:
    """Whether machines are replaced, and for which reasons; another version is named first."""
    type = kubeadm.ROLLING_OUT
    outdated = [
        told
        for each in machines
        if (told := get(each.status.conditions, MachineCondition.UP_TO_DATE)) is not None and told.status == "False"
    ]
    if not outdated:
        return condition(type, False, kubeadm.NOT_ROLLING_OUT_REASON)
    lines = {line for each in outdated if each.message for line in each.message.split("\n")}
    ordered = sorted(lines, key=lambda line: (not line.startswith("* Version"), line))
    message = "\n".join([f"Rolling out {len(outdated)} not up-to-date replicas", *ordered])
    return condition(type, True, kubeadm.ROLLING_OUT_REASON, message)


def scaling_up(plane: ControlPlane, checks: Checks) -> Condition:
    """Whether machines are missing, and why they are not made."""
    type = kubeadm.SCALING_UP
    if plane.kcp.spec.replicas is None:
        return _waiting_for_replicas(type)
    template = plane.seen.template
    missing = f"{template.reference.kind} does not exist" if template.missing else template.problem
    present, desired = len(plane.machines), _desired(plane)
    if present >= desired:
        blocked = missing and not plane.seen.deleting
        message = f"Scaling up would be blocked because {missing}" if blocked else ""
        return condition(type, False, kubeadm.NOT_SCALING_UP_REASON, message)
    lines = _blocked_by(checks) + ([f"* {missing}"] if missing else [])
    message = _with_lines(f"Scaling up from {present} to {desired} replicas", lines)
    return condition(type, True, kubeadm.SCALING_UP_REASON, message)


def scaling_down(plane: ControlPlane, checks: Checks) -> Condition:
    """Whether there are machines too many, and why they are not deleted."""
    type = kubeadm.SCALING_DOWN
    if plane.kcp.spec.replicas is None:
        return _waiting_for_replicas(type)
    present, desired = len(plane.machines), _desired(plane)
    if present <= desired:
        return condition(type, False, kubeadm.NOT_SCALING_DOWN_REASON)
    lines = _blocked_by(checks)
    if late := stale(plane.machines, plane.seen.now).message:
        lines.append(f"* {late}")
    message = _with_lines(f"Scaling down from {present} to {desired} replicas", lines)
    return condition(type, True, kubeadm.SCALING_DOWN_REASON, message)


def machines_ready(machines: Sequence[Machine]) -> Condition:
    """Whether all machines are Ready."""
    reason = reasons(kubeadm.NOT_READY_REASON, kubeadm.READY_UNKNOWN_REASON, kubeadm.READY_REASON)
    return _of_all(machines, MachineCondition.READY, kubeadm.MACHINES_READY, DefaultMerge(reason=reason))


def machines_up_to_date(seen: Seen, machines: Sequence[Machine]) -> Condition:
    """Whether all machines are UpToDate. Those that had no time to say so yet do not count."""
    reason = reasons(kubeadm.NOT_UP_TO_DATE_REASON, kubeadm.UP_TO_DATE_UNKNOWN_REASON, kubeadm.UP_TO_DATE_REASON)
    counted = judged(machines, seen.now)
    return _of_all(counted, MachineCondition.UP_TO_DATE, kubeadm.MACHINES_UP_TO_DATE, DefaultMerge(reason=reason))


def remediating(machines: Sequence[Machine]) -> Condition:
    """Whether machines are replaced because a health check gave them up."""
    type = kubeadm.REMEDIATING
    sick = [Source.of(MACHINES, each) for each in machines if to_be_remediated(each)]
    if sick:
        found = aggregate(sick, MachineCondition.OWNER_REMEDIATED)
        return condition(type, True, kubeadm.REMEDIATING_REASON, found.message)
    names = [each.metadata.name for each in machines if unhealthy(each)]
    message = f"{machines_named(names)} not healthy (not to be remediated by KubeadmControlPlane)" if names else ""
    return condition(type, False, kubeadm.NOT_REMEDIATING_REASON, message)


def deleting(kcp: KubeadmControlPlane, planned: Plan) -> Condition:
    """Whether the control plane goes, and what it waits for."""
    if not kcp.metadata.deleting:
        return condition(kubeadm.DELETING, False, kubeadm.NOT_DELETING_REASON)
    reason, message = planned.deleting
    return condition(kubeadm.DELETING, True, reason or kubeadm.INTERNAL_ERROR_REASON, message or CHECK_THE_LOGS)


def last_remediation(plane: ControlPlane) -> LastRemediation | None:
    """The remediation that goes on, else the newest that machines remember. What cannot be read changes nothing."""
    try:
        if annotation := plane.kcp.metadata.annotations.get(REMEDIATION_IN_PROGRESS):
            return read(annotation).status
        told = [each.metadata.annotations.get(REMEDIATION_FOR) for each in plane.machines]
        records: list[RemediationRecord] = [read(each) for each in told if each is not None]
    except UnreadableRecord:
        return plane.kcp.status.last_remediation
    newest = max((each.status for each in records), key=lambda each: each.time, default=None)
    return newest or plane.kcp.status.last_remediation


def seconds_until_news(plane: ControlPlane, told: KubeadmControlPlaneStatus) -> float | None:
    """When the passing of time alone changes what is told or planned, in seconds from now. None if it does not."""
    seen = plane.seen
    moments = [*judgements(plane.machines)]
    if len(plane.machines) > _desired(plane):
        moments += stale(plane.machines, seen.now).changes
    moments += [due + _A_MOMENT for each in plane.machines if (due := next_verdict(seen.kcp, each, seen.now))]
    if (silent := silence_counts_at(seen)) is not None:
        moments.append(silent + _A_MOMENT)
    moments += [
        each.last_transition_time + WORTH_TELLING_AFTER + _A_MOMENT
        for machine in plane.machines
        for each in machine.status.conditions
        if each.type in TOLD_ON_MACHINES and each.status != "True"
    ]
    waits = [(each - seen.now).total_seconds() for each in moments if each > seen.now]
    if not seen.deleting and (
        not told.initialization.control_plane_initialized
        or is_false(told.conditions, kubeadm.CONTROL_PLANE_COMPONENTS_HEALTHY)
    ):
        waits.append(POLL)
    return min(waits, default=None)


def _initialized(started: bool) -> Condition:
    reason = kubeadm.INITIALIZED_REASON if started else kubeadm.NOT_INITIALIZED_REASON
    return condition(kubeadm.INITIALIZED, started, reason)


def _of_all(machines: Sequence[Machine], type: str, target: str, strategy: DefaultMerge) -> Condition:
    if not machines:
        return condition(target, True, kubeadm.NO_REPLICAS_REASON)
    return aggregate([Source.of(MACHINES, each) for each in machines], type, target=target, strategy=strategy)


def _waiting_for_replicas(type: str) -> Condition:
    return condition(type, "Unknown", kubeadm.WAITING_FOR_REPLICAS_SET_REASON, "Waiting for spec.replicas set")


def _desired(plane: ControlPlane) -> int:
    return 0 if plane.seen.deleting else plane.replicas


def _blocked_by(checks: Checks) -> list[str]:
    lines = []
    if checks.topology_version:
        lines.append(f"* waiting for a version upgrade to {checks.topology_version} to be propagated")
    if checks.deleting_machine:
        lines.append("* waiting for a control plane Machine to complete deletion")
    if checks.certificates_missing:
        lines.append("* cluster certificates are missing or unknown")
    if checks.components_not_healthy:
        lines.append("* waiting for control plane components to become healthy")
    if checks.etcd_not_healthy:
        lines.append("* waiting for etcd cluster to become healthy")
    return lines


def _with_lines(message: str, lines: Sequence[str]) -> str:
    return f"{message} is blocked because:\n" + "\n".join(lines) if lines else message


def _count(machines: Sequence[Machine], type: str) -> int:
    return sum(is_true(each.status.conditions, type) for each in machines)
