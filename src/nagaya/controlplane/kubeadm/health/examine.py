"""From what was seen to a control plane that plans can be made for.

Where the tenant cannot be asked, its last answers stand for a while and are then taken back: a control plane must not
look healthy on old news. What always holds: a condition that could not be found out is Unknown and says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.health.components import (
    NODE,
    component_conditions,
    nodes_without_machine,
    pod_types,
)
from nagaya.controlplane.kubeadm.health.members import MEMBER, Match, match, member_condition
from nagaya.controlplane.kubeadm.health.totals import total
from nagaya.controlplane.kubeadm.machine_content import etcd_managed
from nagaya.controlplane.kubeadm.seen import Seen
from nagaya.controlplane.kubeadm.tenant_seen import TenantSeen
from nagaya.controlplane.kubeadm.verdict import Verdict, verdict
from nagaya.kube.conditions import condition, get, is_true

REMOTE_GRACE: Final = timedelta(minutes=5)
"""How long the last answers of a tenant stand that does not answer any more."""
PROBES_BEFORE_SILENCE_COUNTS: Final = 5
_ETCD: Final = kubeadm.ETCD_CLUSTER_HEALTHY
_COMPONENTS: Final = kubeadm.CONTROL_PLANE_COMPONENTS_HEALTHY


def examine(seen: Seen) -> ControlPlane:
    """Find out how the control plane is."""
    verdicts = {each.metadata.name: _verdict(seen, each) for each in seen.machines}
    told: dict[str, list[Condition]] = {
        each.metadata.name: [up_to_date(each, verdicts[each.metadata.name])] for each in seen.machines
    }
    waiting = _waits_for_cluster(seen)
    if waiting:
        types = (_ETCD, _COMPONENTS) if etcd_managed(seen.kcp) else (_COMPONENTS,)
        conditions = tuple(condition(type, "Unknown", kubeadm.INSPECTION_FAILED_REASON, waiting) for type in types)
        return ControlPlane(seen, _with(seen, told), verdicts, conditions)
    if not (seen.initialized and is_true(seen.kcp.status.conditions, kubeadm.INITIALIZED)):
        message = "Waiting for Cluster control plane to be initialized"
        return _unknown(seen, verdicts, told, kubeadm.INSPECTION_FAILED_REASON, message, problem="", overwrite=True)
    probe = seen.connection
    down = kubeadm.CONNECTION_DOWN_REASON
    if probe.last_success is None and probe.failures < PROBES_BEFORE_SILENCE_COUNTS:
        message = "Remote connection not established yet"
        problem = "connection to the workload cluster not established yet"
        return _unknown(seen, verdicts, told, down, message, problem, overwrite=False)
    last = f"Last successful probe at {_date(probe.last_success)}" if probe.last_success is not None else ""
    if seen.now > _silent_from(seen):
        return _unknown(seen, verdicts, told, down, last, "connection to the workload cluster is down", overwrite=True)
    if seen.tenant is None:
        problem = "the workload cluster cannot be reached at present"
        return _unknown(seen, verdicts, told, down, last, problem, overwrite=False)
    return _known(seen, seen.tenant, verdicts, told)


def silence_counts_at(seen: Seen) -> datetime | None:
    """When the last answers of a silent tenant will be taken back; None if it answers, or they have been."""
    if not seen.initialized or seen.tenant is not None or seen.connection.last_success is None:
        return None
    moment = _silent_from(seen)
    return moment if moment >= seen.now else None


def up_to_date(machine: Machine, found: Verdict) -> Condition:
    """The condition UpToDate of a machine."""
    type = MachineCondition.UP_TO_DATE
    if not found.up_to_date:
        message = "\n".join(f"* {each}" for each in found.messages)
        return condition(type, False, MachineReason.NOT_UP_TO_DATE, message)
    info = machine.status.node_info
    kubelet, wanted = "" if info is None else info.kubelet_version, machine.spec.version
    if kubelet and kubelet != wanted:
        message = f"* Node.status.nodeInfo.kubeletVersion {kubelet}, {wanted} required"
        return condition(type, False, MachineReason.UPDATING, message)
    return condition(type, True, MachineReason.UP_TO_DATE)


def _known(
    seen: Seen, tenant: TenantSeen, verdicts: dict[str, Verdict], told: dict[str, list[Condition]]
) -> ControlPlane:
    managed = etcd_managed(seen.kcp)
    for each in seen.machines:
        conditions = told[each.metadata.name]
        conditions += component_conditions(seen, tenant, each)
        if managed and (found := member_condition(seen, tenant, each)) is not None:
            conditions.append(found)
    machines = _with(seen, told)
    totals: list[Condition] = []
    matched = Match(complete=True)
    if tenant.nodes_problem:
        message = f"Failed to get Nodes hosting control plane components: {tenant.nodes_problem}"
        totals.append(condition(_COMPONENTS, "Unknown", kubeadm.INSPECTION_FAILED_REASON, message))
    else:
        strangers = nodes_without_machine(seen, tenant)
        totals.append(total(_COMPONENTS, machines, (*pod_types(seen),), strangers, "control plane"))
    if managed and tenant.nodes_problem:
        matched = Match(complete=False)
        message = "Failed to get Nodes hosting the etcd cluster"
        totals.append(condition(_ETCD, "Unknown", kubeadm.INSPECTION_FAILED_REASON, message))
    elif managed:
        matched = match(seen, tenant)
        totals.append(total(_ETCD, machines, (MEMBER,), matched.strays, "etcd member"))
    return ControlPlane(seen, machines, verdicts, tuple(totals), matched.complete)


def _unknown(
    seen: Seen,
    verdicts: dict[str, Verdict],
    told: dict[str, list[Condition]],
    reason: str,
    message: str,
    problem: str,
    *,
    overwrite: bool,
) -> ControlPlane:
    """Nothing can be said of the tenant. What was said before stands unless it shall be overwritten."""
    present = seen.kcp.status.conditions
    totals: list[Condition] = []
    # Of an external etcd nothing is said here, so that those who run it can.
    if etcd_managed(seen.kcp) and (overwrite or get(present, _ETCD) is None):
        totals.append(condition(_ETCD, "Unknown", reason, message))
        _tell_all(told, (MEMBER,), reason, message)
    if overwrite or get(present, _COMPONENTS) is None:
        totals.append(condition(_COMPONENTS, "Unknown", reason, message))
        _tell_all(told, (NODE, *pod_types(seen)), reason, message)
    return ControlPlane(seen, _with(seen, told), verdicts, tuple(totals), problem=problem)


def _tell_all(told: dict[str, list[Condition]], types: Iterable[str], reason: str, message: str) -> None:
    conditions = [condition(type, "Unknown", reason, message) for type in types]
    for each in told.values():
        each += conditions


def _waits_for_cluster(seen: Seen) -> str:
    if seen.deleting:
        return ""
    if not seen.provisioned:
        return "Waiting for Cluster status.infrastructureReady to be true"
    return "" if seen.has_endpoint else "Waiting for Cluster spec.controlPlaneEndpoint to be set"


def _with(seen: Seen, told: dict[str, list[Condition]]) -> tuple[Machine, ...]:
    """The machines with what is told of them."""
    machines = []
    for machine in seen.machines:
        present = machine.status.conditions
        generation = machine.metadata.generation
        conditions = with_conditions(present, told[machine.metadata.name], now=seen.now, generation=generation)
        if conditions is not present:
            status = msgspec.structs.replace(machine.status, conditions=conditions)
            machine = msgspec.structs.replace(machine, status=status)
        machines.append(machine)
    return tuple(machines)


def _verdict(seen: Seen, machine: Machine) -> Verdict:
    name = machine.metadata.name
    host = seen.hosts.get(name)
    return verdict(seen.kcp, machine, seen.configs.get(name), None if host is None else host.object, seen.now)


def _silent_from(seen: Seen) -> datetime:
    """Counted from the last answer, or from when the tenant came to life if that was later."""
    since = [each for each in (seen.connection.last_success, _initialized_at(seen)) if each is not None]
    return max(since) + REMOTE_GRACE if since else seen.now


def _initialized_at(seen: Seen) -> datetime | None:
    found = get(seen.kcp.status.conditions, kubeadm.INITIALIZED)
    return None if found is None else found.last_transition_time


def _date(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
