"""A rollout, played until nothing moves any more: everybody looks, acts, and then the world takes one step.

A machine that was made comes up within a step, one that was deleted is gone within one. So the order of what happens is
the order that the planners' own rules make, not that of chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from nagaya.api.cluster.cluster_status import ClusterInitialization
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.insight.foresight import control_plane, workers
from nagaya.insight.foresight.fleet import STEP, Fleet
from nagaya.insight.foresight.move import Move

MOST_LOOKS: Final = 3000
QUIET: Final = 4
"""So many looks in a row at which nothing happens are the end: a control plane needs some to take in what it sees."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """What happened."""

    moves: tuple[Move, ...]
    most: int
    """How many machines there were at the same time at most."""
    blocked: tuple[tuple[str, str], ...] = ()
    """Who would still wait at the end, and for what."""
    settled: bool = True
    """Whether it came to rest."""
    least: tuple[tuple[str, int, int], ...] = ()
    """How many machines of each owner worked at the least, of how many that are wanted."""


def play(fleet: Fleet) -> Rollout:
    """Play it to its end. The fleet is changed."""
    most, quiet = len(fleet.machines), 0
    least: dict[str, tuple[int, int]] = {}
    control_plane.begin(fleet)
    workers.count(fleet)
    for _ in range(MOST_LOOKS):
        before = _shown(fleet)
        control_plane.look_at_control_plane(fleet)
        workers.look_at_deployments(fleet)
        workers.look_at_sets(fleet)
        most = max(most, len(fleet.machines))
        _note(fleet, least)
        _pass(fleet)
        workers.count(fleet)
        quiet = quiet + 1 if _shown(fleet) == before else 0
        if quiet >= QUIET:
            return _rollout(fleet, most, least, settled=True)
    return _rollout(fleet, most, least, settled=False)


def _rollout(fleet: Fleet, most: int, least: dict[str, tuple[int, int]], *, settled: bool) -> Rollout:
    blocked = tuple((who, why) for who, reasons in sorted(fleet.blocked.items()) for why in reasons)
    told = tuple((owner, *numbers) for owner, numbers in sorted(least.items()))
    return Rollout(tuple(fleet.moves), most, blocked, settled, told)


def _pass(fleet: Fleet) -> None:
    """The world takes a step."""
    fleet.now += STEP
    for name, machine in list(fleet.machines.items()):
        if machine.metadata.deleting:
            if control_plane.waits_for_hook(machine):
                control_plane.tell_hook(fleet, machine)
            else:
                fleet.forget(name)
        elif fleet.expected(machine):
            fleet.comes_up(machine)
    if fleet.kubeadm is not None and fleet.kubeadm.status.initialization.control_plane_initialized:
        _initialized(fleet)


def _initialized(fleet: Fleet) -> None:
    status = fleet.cluster.status
    if not status.initialization.control_plane_initialized:
        done = ClusterInitialization(infrastructure_provisioned=True, control_plane_initialized=True)
        fleet.cluster = msgspec.structs.replace(
            fleet.cluster, status=msgspec.structs.replace(status, initialization=done)
        )


def _note(fleet: Fleet, least: dict[str, tuple[int, int]]) -> None:
    """How many machines of each owner work now; those that never had any are just coming."""
    working: dict[str, tuple[int, int]] = {}
    for name, deployment in fleet.deployments.items():
        sets = [each for each in fleet.sets.values() if _controls(deployment.metadata.uid, each)]
        there = sum(_works(machine) for each in sets for machine in fleet.of_set(each))
        working[f"MachineDeployment {name}"] = (there, deployment.spec.replicas or 0)
    if fleet.kubeadm is not None:
        there = sum(_works(each) for each in fleet.of_plane())
        working[f"KubeadmControlPlane {fleet.kubeadm.metadata.name}"] = (there, fleet.kubeadm.spec.replicas or 1)
    for who, (there, wanted) in working.items():
        known = least.get(who)
        if there < known[0] if known is not None else there > 0:
            least[who] = (there, wanted)


def _controls(uid: str, machine_set: MachineSet) -> bool:
    owner = machine_set.metadata.controller
    return owner is not None and owner.uid == uid


def _works(machine: Machine) -> bool:
    return machine.status.node_ref is not None and not machine.metadata.deleting


def _shown(fleet: Fleet) -> object:
    """What must not change for a while at the end."""
    return (
        len(fleet.moves),
        {name: each.spec.replicas for name, each in fleet.sets.items()},
        {name: (each.metadata.deleting, each.status.node_ref is None) for name, each in fleet.machines.items()},
    )
