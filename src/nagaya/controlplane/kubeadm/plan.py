"""What a KubeadmControlPlane does next, decided from what is seen and from nothing else.

The questions are always asked in the same order, and the first that has an answer decides: whether it is ours to
manage, whether it goes, what it needs before there can be machines, etcd members and machines on their way out,
unhealthy machines, machines that are not as declared, machines missing or too many, and last what runs in the tenant.
So one thing happens at a time, and healing goes before changing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nagaya.api.cluster.annotations import CERTIFICATES_EXPIRY
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.controlplane.names import FINALIZER
from nagaya.clusters import owners
from nagaya.controlplane.kubeadm.actions import (
    Action,
    Claim,
    MakeAuthorities,
    MakeKubeconfig,
    NoteExpiry,
    OwnTemplate,
    TellMachine,
    UpdateAddons,
)
from nagaya.controlplane.kubeadm.adoption import adoption, mixed
from nagaya.controlplane.kubeadm.certificates_port import CertificateState
from nagaya.controlplane.kubeadm.control_plane import ControlPlane, node_of
from nagaya.controlplane.kubeadm.decision import PASSED, PREFLIGHT_RETRY, Checks, Decision
from nagaya.controlplane.kubeadm.deletion import departure
from nagaya.controlplane.kubeadm.hooks import hook
from nagaya.controlplane.kubeadm.kubeadm_config import api_server_port
from nagaya.controlplane.kubeadm.machine_content import ETCD_GATES, GATES
from nagaya.controlplane.kubeadm.propagation import leftovers, propagation
from nagaya.controlplane.kubeadm.remediation import remediation
from nagaya.controlplane.kubeadm.rollout import rollout
from nagaya.controlplane.kubeadm.scaling import scaling
from nagaya.controlplane.kubeadm.seen import Seen
from nagaya.controlplane.kubeadm.stray_members import stray_member
from nagaya.kube.conditions import get

TOLD_ON_MACHINES = (MachineCondition.UP_TO_DATE.value, *GATES, *ETCD_GATES)
"""The types of conditions of machines that are the control plane's to tell."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, in order."""

    why: str
    actions: tuple[Action, ...] = ()
    requeue_after: float | None = None
    checks: Checks = PASSED
    """What keeps machines from being made or deleted."""
    deleting: tuple[str, str] = ("", "")
    """Reason and message of the condition Deleting."""
    again: bool = False
    """Whether there is more to plan as soon as this is done."""
    problem: bool = False
    """Whether somebody has to do something before it can go on."""
    propagated: bool = False
    """Whether all machines are in line with what is declared once this is done, as far as that goes in place."""


def plan(plane: ControlPlane) -> Plan:
    """What to do about a control plane that is not paused."""
    seen = plane.seen
    first = tuple(_claim(seen))
    if found := adoption(seen):
        return _plan(found, first, again=not found.problem)
    if found := mixed(seen):
        return _plan(found, first)
    told = tuple(_tell(plane))
    if seen.deleting:
        decision, reason, message = departure(plane)
        return _plan(decision, (*told, *leftovers(seen)), deleting=(reason, message))
    first = (*first, *_own_template(seen))
    if not seen.provisioned:
        return _plan(Decision("Cluster infrastructure is not ready yet"), first)
    if seen.authorities.state is CertificateState.TO_BE_MADE:
        made = MakeAuthorities(seen.authorities.message or "Certificate authorities are missing.")
        return _plan(Decision(made.why, (made,)), first, again=True)
    if not seen.has_endpoint:
        return _plan(Decision("Cluster does not yet have a ControlPlaneEndpoint defined"), first)
    if seen.kubeconfig.state is CertificateState.TO_BE_MADE:
        config = MakeKubeconfig(seen.kubeconfig.message or "The kubeconfig is missing.")
        return _plan(Decision(config.why, (config,)), first, again=True)
    if not seen.kubeconfig.available and not seen.initialized:
        # Nobody could ever tell that the first machine has started the cluster.
        decision = Decision(seen.kubeconfig.message, requeue_after=PREFLIGHT_RETRY, problem=True)
        return _plan(decision, first)
    first = (*first, *propagation(seen), *told, *leftovers(seen))
    if plane.problem:
        planned = _plan(Decision(plane.problem, requeue_after=PREFLIGHT_RETRY), first)
    else:
        planned = _everyday(plane, first)
    return replace(planned, propagated=True)


def _everyday(plane: ControlPlane, first: tuple[Action, ...]) -> Plan:
    if found := stray_member(plane) or hook(plane):
        return _plan(found, first)
    sick = remediation(plane)
    first = (*first, *sick.actions)
    if sick.decision is not None:
        return _plan(sick.decision, first)
    plane = sick.plane
    found = rollout(plane) or scaling(plane) or _addons(plane)
    return _plan(found, first, sooner=sick.retry_after)


def _plan(
    found: Decision,
    first: tuple[Action, ...],
    *,
    again: bool = False,
    deleting: tuple[str, str] = ("", ""),
    sooner: float | None = None,
) -> Plan:
    waits = [each for each in (found.requeue_after, sooner) if each is not None]
    return Plan(
        why=found.why,
        actions=(*first, *found.actions),
        requeue_after=min(waits, default=None),
        checks=found.checks,
        deleting=deleting,
        again=again,
        problem=found.problem,
    )


def _claim(seen: Seen) -> Iterator[Action]:
    if not seen.deleting and FINALIZER not in seen.kcp.metadata.finalizers:
        yield Claim("The control plane is held until its machines are gone.")


def _own_template(seen: Seen) -> Iterator[Action]:
    template = seen.template.object
    if template is None:
        return
    present = template.metadata.owner_references
    owned = owners.with_owner(present, owners.owner(CLUSTERS, seen.cluster))
    if owned is not present:
        yield OwnTemplate(owned, f"{seen.template.reference.kind} {template.metadata.name} goes with its Cluster.")


def _tell(plane: ControlPlane) -> Iterator[Action]:
    for before, after in zip(plane.seen.machines, plane.machines, strict=True):
        told = before.status.conditions, after.status.conditions
        if any(get(told[0], each) != get(told[1], each) for each in TOLD_ON_MACHINES):
            yield TellMachine(before, told[1], f"How the control plane on Machine {after.metadata.name} is.")


def _addons(plane: ControlPlane) -> Decision:
    """All machines are there and as declared: what runs beside them follows."""
    seen = plane.seen
    if not seen.initialized or seen.tenant is None:
        return Decision("All machines are made; the first has yet to start the cluster.")
    actions: list[Action] = [UpdateAddons("kube-proxy and CoreDNS follow the version.")]
    for machine in plane.machines:
        config, node = seen.configs.get(machine.metadata.name), node_of(machine)
        if config is None or machine.metadata.deleting or not node:
            continue
        if CERTIFICATES_EXPIRY not in config.metadata.annotations:
            why = f"It is not known when the certificates of Machine {machine.metadata.name} end."
            actions.append(NoteExpiry(config, node, api_server_port(config), why))
    return Decision("All machines are as declared.", tuple(actions))
