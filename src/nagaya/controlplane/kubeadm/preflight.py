"""Whether the control plane is stable enough for one more change.

This is what makes changes go one at a time: after each, everything has to be healthy before the next. After the
deletion of an unhealthy machine less is asked for, since its replacement is what may heal the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nagaya.api.cluster.annotations import UPGRADE_STEP
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.controlplane.names import REMEDIATION_IN_PROGRESS
from nagaya.controlplane.kubeadm.actions import Warn
from nagaya.controlplane.kubeadm.control_plane import COMPONENT_CONDITIONS, ControlPlane, node_of
from nagaya.controlplane.kubeadm.decision import DELETION_RETRY, PASSED, PREFLIGHT_RETRY, Checks, Decision
from nagaya.controlplane.kubeadm.quorum import components_survive, etcd_survives
from nagaya.kube.conditions import get


def awaited_version(cluster: Cluster, version: str) -> str:
    """The version that a topology has yet to hand on to a control plane. Empty if there is none."""
    topology = cluster.spec.topology
    if topology is None:
        return ""
    step = cluster.metadata.annotations.get(UPGRADE_STEP, "")
    if version in (topology.version, step):
        return ""
    return step or topology.version


def preflight(plane: ControlPlane, *, up: bool, going: Machine | None = None) -> Decision | None:
    """Why a machine cannot be made, or the one that is to go cannot be deleted. None if nothing stands against it."""
    if not plane.machines:
        return None
    checks = run_checks(plane, up=up, going=going)
    if checks.passed:
        return None
    if checks.topology_version:
        why = f"Waiting for a version upgrade to {checks.topology_version} to be propagated"
        return Decision(why, requeue_after=PREFLIGHT_RETRY, checks=checks)
    if checks.certificates_missing:
        why = "Certificates are missing or unknown, can't join a new machine"
        return Decision(why, requeue_after=PREFLIGHT_RETRY, checks=checks, problem=True)
    if checks.deleting_machine:
        names = ", ".join(each.metadata.name for each in plane.deleting)
        return Decision(f"Waiting for machines to be deleted: {names}", requeue_after=DELETION_RETRY, checks=checks)
    why = f"Waiting for control plane to pass preflight checks to continue reconciliation: {_together(checks.failures)}"
    return Decision(why, (Warn("ControlPlaneUnhealthy", why),), PREFLIGHT_RETRY, checks)


def run_checks(plane: ControlPlane, *, up: bool, going: Machine | None = None) -> Checks:
    """Look for whatever stands against a change."""
    if version := awaited_version(plane.seen.cluster, plane.kcp.spec.version):
        return Checks(topology_version=version)
    if up and not plane.seen.authorities.available:
        return Checks(certificates_missing=True)
    if plane.deleting:
        return Checks(deleting_machine=True)
    checks = _all_healthy(plane, going)
    if not checks.passed and up and REMEDIATION_IN_PROGRESS in plane.kcp.metadata.annotations:
        return _healthy_enough(plane)
    return checks


def _all_healthy(plane: ControlPlane, going: Machine | None) -> Checks:
    """Whether everything works on all machines but the one that is to go."""
    checks = PASSED
    failures: list[str] = []
    for machine in plane.machines:
        name = machine.metadata.name
        if going is not None and name == going.metadata.name:
            continue
        if not node_of(machine):
            # Its conditions say less than this.
            failures.append(f"Machine {name} does not have a corresponding Node yet (Machine.status.nodeRef not set)")
            checks = replace(
                checks,
                components_not_healthy=True,
                etcd_not_healthy=checks.etcd_not_healthy or plane.etcd_managed,
            )
            continue
        for type, failure in _failures(plane, machine):
            failures.append(failure)
            if type == kubeadm.MACHINE_ETCD_MEMBER_HEALTHY:
                checks = replace(checks, etcd_not_healthy=True)
            else:
                checks = replace(checks, components_not_healthy=True)
    return replace(checks, failures=tuple(failures))


def _failures(plane: ControlPlane, machine: Machine) -> Iterator[tuple[str, str]]:
    name = machine.metadata.name
    for type in (*COMPONENT_CONDITIONS, *plane.etcd_conditions):
        found = get(machine.status.conditions, type)
        if found is None:
            yield type, f"Machine {name} does not have {type} condition"
        elif found.status != "True":
            yield type, f"Machine {name} reports {type} condition is {found.status.lower()} ({found.message})"


def _healthy_enough(plane: ControlPlane) -> Checks:
    """Whether a replacement can join: one machine works, and etcd stands one more member that does not."""
    checks = PASSED
    failures: list[str] = []
    if not components_survive(plane, with_one_more=True):
        checks = replace(checks, components_not_healthy=True)
        failures.append(
            "cannot add a new control plane Machine when there are no control plane Machines with all Kubernetes "
            "control plane components in healthy state. Please check Kubernetes control plane component status"
        )
    if plane.etcd_managed and not plane.members:
        failures.append("cannot check etcd cluster health before scale up, etcd member list is empty")
    elif plane.etcd_managed and not etcd_survives(plane, with_one_more=True):
        checks = replace(checks, etcd_not_healthy=True)
        failures.append("adding a new control plane Machine can lead to etcd quorum loss. Please check the etcd status")
    return replace(checks, failures=tuple(failures))


def _together(failures: tuple[str, ...]) -> str:
    return failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
