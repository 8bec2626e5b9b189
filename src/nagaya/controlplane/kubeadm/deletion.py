"""The way out: workers first, then all machines of the control plane at once.

Nobody cares for etcd any more: with the last machine the cluster is gone, so hooks are taken away first.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.controlplane.names import FINALIZER, PRE_TERMINATE_HOOK_CLEANUP
from nagaya.clusters.names import listed
from nagaya.clusters.stale_machines import stale
from nagaya.controlplane.kubeadm.actions import Action, DeleteMachine, Release, RemoveHook
from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.decision import DELETION_RETRY, Decision

NAMES_SHOWN: Final = 5


class Departure(NamedTuple):
    """What to do, and what the condition Deleting says."""

    decision: Decision
    reason: str
    message: str


def departure(plane: ControlPlane) -> Departure:
    """What to do about a control plane that is being deleted."""
    seen = plane.seen
    if not plane.machines:
        message = "Deletion completed"
        held = FINALIZER in plane.kcp.metadata.finalizers
        actions: tuple[Action, ...] = (Release("All machines are gone."),) if held else ()
        return Departure(Decision(message, actions), kubeadm.DELETION_COMPLETED_REASON, message)
    if seen.workers or seen.pools or seen.foreign:
        lines = [f"* {kind}: {listed(sorted(names), NAMES_SHOWN)}" for kind, names in _remaining(plane) if names]
        message = "\n".join(["KubeadmControlPlane deletion blocked because following objects still exist:", *lines])
        decision = Decision("Waiting for worker nodes to be deleted first", requeue_after=DELETION_RETRY)
        return Departure(decision, kubeadm.WAITING_FOR_WORKERS_DELETION_REASON, message)
    todo: list[Action] = []
    for machine in plane.machines:
        name = machine.metadata.name
        if PRE_TERMINATE_HOOK_CLEANUP in machine.metadata.annotations:
            todo.append(RemoveHook(machine, f"Machine {name} goes with the whole control plane."))
        if not machine.metadata.deleting:
            why = f"Deleting Machine {name} (KubeadmControlPlane deleted)"
            todo.append(DeleteMachine(machine, why, failure="FailedDelete"))
    count = len(plane.machines)
    message = f"Deleting {count} Machine{'' if count == 1 else 's'}"
    if late := stale(plane.machines, seen.now).message:
        message = f"{message} and {late}"
    decision = Decision("Waiting for control plane Machines to not exist anymore", tuple(todo), DELETION_RETRY)
    return Departure(decision, kubeadm.WAITING_FOR_MACHINE_DELETION_REASON, message)


def _remaining(plane: ControlPlane) -> tuple[tuple[str, tuple[str, ...]], ...]:
    seen = plane.seen
    return (("MachinePools", seen.pools), ("Machines", (*seen.workers, *seen.foreign)))
