"""How many machines a cluster has, and how they fare: the numbers in the status of a Cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from nagaya.api.cluster.cluster_status import MachineCounts
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_pool import MachinePool
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.api.cluster.status_version import StatusVersion
from nagaya.api.contract.provider import ControlPlane
from nagaya.clusters.kubernetes_version import of_machines, together
from nagaya.core.cluster.descendants import owned_by
from nagaya.core.cluster.references import VERSIONS
from nagaya.core.cluster.seen import Seen
from nagaya.kube.conditions import is_true

Group = MachinePool | MachineDeployment | MachineSet


@dataclass(slots=True)
class _Sum:
    """Numbers added up; one that nobody tells stays untold."""

    desired: int | None = None
    present: int | None = None
    ready: int | None = None
    available: int | None = None
    up_to_date: int | None = None

    def add_group(self, group: Group) -> None:
        """What a pool, deployment or set tells of its machines."""
        self.desired = _plus(self.desired, group.spec.replicas)
        self.present = _plus(self.present, group.status.replicas)
        self.ready = _plus(self.ready, group.status.ready_replicas)
        self.available = _plus(self.available, group.status.available_replicas)
        self.up_to_date = _plus(self.up_to_date, group.status.up_to_date_replicas)

    def add_machine(self, machine: Machine) -> None:
        """A machine on its own: that somebody made it means that there is to be one."""
        conditions = machine.status.conditions
        self.desired = _plus(self.desired, 1)
        self.present = _plus(self.present, 1)
        if is_true(conditions, MachineCondition.READY):
            self.ready = _plus(self.ready, 1)
        if is_true(conditions, MachineCondition.AVAILABLE):
            self.available = _plus(self.available, 1)
        if is_true(conditions, MachineCondition.UP_TO_DATE):
            self.up_to_date = _plus(self.up_to_date, 1)

    def counts(self, before: MachineCounts, running: tuple[StatusVersion, ...]) -> MachineCounts:
        """The numbers as the status shows them."""
        return msgspec.structs.replace(
            before,
            desired_replicas=self.desired,
            replicas=self.present,
            ready_replicas=self.ready,
            available_replicas=self.available,
            up_to_date_replicas=self.up_to_date,
            versions=running,
        )


def control_plane_counts(seen: Seen) -> MachineCounts:
    """What the control plane object tells; without one, the control plane machines counted."""
    before = seen.cluster.status.control_plane
    if seen.control_plane is None and seen.cluster.spec.topology is None:
        return _machines(before, seen.descendants.control_plane_machines)
    provider = None if seen.control_plane is None else seen.control_plane.provider
    if provider is None:
        return _Sum().counts(before, ())
    if seen.control_plane is not None and seen.control_plane.problem:
        return before
    return _told(before, provider)


def worker_counts(seen: Seen) -> MachineCounts:
    """What pools, deployments and sets tell, and machines on their own."""
    cluster, descendants = seen.cluster, seen.descendants
    groups: list[Group] = [*descendants.pools, *descendants.deployments]
    groups += (each for each in descendants.sets if owned_by(cluster, each))
    machines = [each for each in descendants.judged_workers if owned_by(cluster, each)]
    total = _Sum()
    for group in groups:
        total.add_group(group)
    for machine in machines:
        total.add_machine(machine)
    running = [each for group in groups for each in group.status.versions]
    return total.counts(cluster.status.workers, together([*running, *of_machines(machines)]))


def _machines(before: MachineCounts, machines: Sequence[Machine]) -> MachineCounts:
    total = _Sum()
    for machine in machines:
        total.add_machine(machine)
    return total.counts(before, of_machines(machines))


def _told(before: MachineCounts, provider: ControlPlane) -> MachineCounts:
    """A number that the control plane does not tell, or no longer, stays as it was: not every provider counts."""
    desired = _first(provider.desired_replicas, before.desired_replicas)
    available = provider.optional(int, "status", "availableReplicas")
    if provider.contract == "v1beta1":
        missing = provider.optional(int, "status", "unavailableReplicas")
        available = None if missing is None or desired is None else max(desired - missing, 0)
    return msgspec.structs.replace(
        before,
        desired_replicas=desired,
        replicas=_first(provider.replicas, before.replicas),
        ready_replicas=_first(provider.ready_replicas, before.ready_replicas),
        available_replicas=_first(available, before.available_replicas),
        up_to_date_replicas=_first(provider.up_to_date_replicas, before.up_to_date_replicas),
        versions=provider.read(tuple[StatusVersion, ...], (), *VERSIONS),
    )


def _plus(total: int | None, more: int | None) -> int | None:
    return total if more is None else (total or 0) + more


def _first(*numbers: int | None) -> int | None:
    return next((each for each in numbers if each is not None), None)
