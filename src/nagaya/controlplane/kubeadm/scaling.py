"""One machine more, or one less.

The first machine starts the cluster and waits for nothing but its certificates. Every other one joins, and every
deletion goes ahead, only when the control plane is stable.
"""

from __future__ import annotations

from collections.abc import Sequence

from nagaya.api.cluster.annotations import DELETE_MACHINE
from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane.names import REMEDIATION_IN_PROGRESS
from nagaya.controlplane.kubeadm.actions import Action, CreateMachine, DeleteMachine, RememberRemediation
from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.decision import PREFLIGHT_RETRY, Checks, Decision
from nagaya.controlplane.kubeadm.failure_domains import fewest, one_of_most
from nagaya.controlplane.kubeadm.leadership import handover
from nagaya.controlplane.kubeadm.preflight import preflight


def scaling(plane: ControlPlane) -> Decision | None:
    """What the number of machines asks for. None if it is as declared."""
    present, wanted = len(plane.machines), plane.replicas
    if present < wanted:
        return scale_up(plane)
    return scale_down(plane, select(plane)) if present > wanted else None


def scale_up(plane: ControlPlane) -> Decision:
    """Make a machine, or say why not."""
    present = len(plane.machines)
    if refusal := preflight(plane, up=True):
        return refusal
    if not plane.seen.authorities.available:
        # Only the first machine gets here: the others were checked above.
        why = f"Certificates are missing or unknown, can't start the cluster: {plane.seen.authorities.message}"
        return Decision(why, requeue_after=PREFLIGHT_RETRY, checks=Checks(certificates_missing=True), problem=True)
    template = plane.seen.template
    if template.object is None or template.made is None:
        what = template.problem or f"{template.reference.kind} {template.reference.name} does not exist."
        return Decision(f"A machine is missing and cannot be made: {what}", problem=True)
    staying = [each for each in plane.up_to_date if not each.metadata.deleting]
    domain = fewest(plane.failure_domains, plane.machines, staying)
    join = bool(plane.machines)
    why = f"A machine is made to {'join' if join else 'start'} the cluster: {present} of {plane.replicas} are there."
    actions: tuple[Action, ...] = (CreateMachine(domain, join, why),)
    if REMEDIATION_IN_PROGRESS in plane.kcp.metadata.annotations:
        actions += (RememberRemediation(None, "The replacement of an unhealthy machine has been made."),)
    return Decision(why, actions)


def scale_down(plane: ControlPlane, machine: Machine | None) -> Decision:
    """Delete a machine, or say why not."""
    if refusal := preflight(plane, up=False, going=machine):
        return refusal
    if machine is None:
        return _problem("failed to pick control plane Machine to delete")
    name = machine.metadata.name
    moves: tuple[Action, ...] = ()
    if plane.etcd_managed:
        if plane.nodes_problem:
            return _problem(f"unable to forward etcd leadership: {plane.nodes_problem}")
        change = handover(plane, machine)
        if change.problem:
            return _problem(change.problem)
        moves = change.move
    why = f"Machine {name} deleting (scale down)"
    return Decision(why, (*moves, DeleteMachine(machine, why)))


def select(plane: ControlPlane, outdated: Sequence[Machine] = ()) -> Machine | None:
    """The machine that goes next.

    First those that somebody named, outdated ones before others; then outdated ones whose components do not work, then
    any that are outdated, then all. Among them it is one where the most machines fail together.
    """
    named = [each for each in outdated if DELETE_MACHINE in each.metadata.annotations]
    named = named or [each for each in plane.machines if DELETE_MACHINE in each.metadata.annotations]
    broken = [each for each in outdated if plane.components_fail(each)]
    eligible = named or broken or outdated or plane.machines
    return one_of_most(plane.failure_domains, plane.machines, eligible)


def _problem(why: str) -> Decision:
    return Decision(why, requeue_after=PREFLIGHT_RETRY, problem=True)
