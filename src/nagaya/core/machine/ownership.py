"""Who owns what: a Machine its two objects of providers, and a Cluster the Machines that nobody else manages.

MachineSets and control planes make the objects of providers before the Machine and own them at first, so that nothing
is left behind if the Machine never comes. Once it is there it takes them over.
"""

from __future__ import annotations

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.meta import ObjectMeta, OwnerReference
from nagaya.clusters.owners import Owners, controller, group, is_a, names, owner, with_owner

_MADE_BY_SOMEBODY = (labels.MACHINE_SET_NAME, labels.MACHINE_POOL_NAME, labels.CONTROL_PLANE_NAME)


def owners_of_machine(machine: Machine, cluster: Cluster) -> Owners:
    """The owners that a Machine is to have: the Cluster, if nobody else manages it.

    A Machine that says by a label who made it waits for that one, even if it has no owner at present: after a restore
    from a backup its maker comes to claim it.
    """
    owners = machine.metadata.owner_references
    if machine.metadata.controller is not None:
        return owners
    if any(is_a(each, CLUSTERS) for each in owners):
        return owners
    if any(label in machine.metadata.labels for label in _MADE_BY_SOMEBODY):
        return owners
    return (*owners, owner(CLUSTERS, cluster))


def owners_of_provider(machine: Machine, cluster: Cluster, owners: Owners) -> Owners:
    """The owners that an object of a provider is to have: the Machine, which controls it, and no maker of machines."""
    kept = tuple(each for each in owners if not is_maker(machine, cluster, each))
    return with_owner(kept, controller(MACHINES, machine))


def is_maker(machine: Machine, cluster: Cluster, present: OwnerReference) -> bool:
    """Whether an owner is what makes machines: a MachineSet, or the control plane of a control plane machine."""
    if is_a(present, MACHINE_SETS):
        return True
    reference = cluster.spec.control_plane_ref
    return (
        reference is not None
        and labels.CONTROL_PLANE in machine.metadata.labels
        and (present.kind, group(present)) == (reference.kind, reference.api_group)
    )


def foreign_controller(machine: Machine, metadata: ObjectMeta, cluster: Cluster) -> OwnerReference | None:
    """Who controls an object instead of the Machine, if somebody does."""
    present = metadata.controller
    if present is None or names(present, MACHINES, machine) or is_maker(machine, cluster, present):
        return None
    return present
