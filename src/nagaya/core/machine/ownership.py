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

Owners = tuple[OwnerReference, ...]

_MADE_BY_SOMEBODY = (labels.MACHINE_SET_NAME, labels.MACHINE_POOL_NAME, labels.CONTROL_PLANE_NAME)


def owners_of_machine(machine: Machine, cluster: Cluster) -> Owners:
    """The owners that a Machine is to have: the Cluster, if nobody else manages it.

    A Machine that says by a label who made it waits for that one, even if it has no owner at present: after a restore
    from a backup its maker comes to claim it.
    """
    owners = machine.metadata.owner_references
    if machine.metadata.controller is not None:
        return owners
    if any(_group(each) == CLUSTERS.group and each.kind == CLUSTERS.kind for each in owners):
        return owners
    if any(label in machine.metadata.labels for label in _MADE_BY_SOMEBODY):
        return owners
    return (
        *owners,
        OwnerReference(
            api_version=CLUSTERS.api_version,
            kind=CLUSTERS.kind,
            name=cluster.metadata.name,
            uid=cluster.metadata.uid,
        ),
    )


def owners_of_provider(machine: Machine, cluster: Cluster, owners: Owners) -> Owners:
    """The owners that an object of a provider is to have: the Machine, which controls it, and no maker of machines."""
    kept = [each for each in owners if not is_maker(machine, cluster, each)]
    position = next((index for index, each in enumerate(kept) if _names(each, machine)), None)
    wanted = controlled_by(machine)
    if position is None:
        return (*kept, wanted)
    if not _says(kept[position], wanted):
        kept[position] = wanted
    return tuple(kept)


def controlled_by(machine: Machine) -> OwnerReference:
    """The reference to a Machine that controls an object."""
    return OwnerReference(
        api_version=MACHINES.api_version,
        kind=MACHINES.kind,
        name=machine.metadata.name,
        uid=machine.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def is_maker(machine: Machine, cluster: Cluster, owner: OwnerReference) -> bool:
    """Whether an owner is what makes machines: a MachineSet, or the control plane of a control plane machine."""
    if owner.kind == MACHINE_SETS.kind and _group(owner) == MACHINE_SETS.group:
        return True
    reference = cluster.spec.control_plane_ref
    return (
        reference is not None
        and labels.CONTROL_PLANE in machine.metadata.labels
        and owner.kind == reference.kind
        and _group(owner) == reference.api_group
    )


def foreign_controller(machine: Machine, metadata: ObjectMeta, cluster: Cluster) -> OwnerReference | None:
    """Who controls an object instead of the Machine, if somebody does."""
    owner = metadata.controller
    if owner is None or _names(owner, machine) or is_maker(machine, cluster, owner):
        return None
    return owner


def _says(one: OwnerReference, other: OwnerReference) -> bool:
    return (
        one.api_version == other.api_version and one.uid == other.uid and bool(one.controller) == bool(other.controller)
    )


def _names(owner: OwnerReference, machine: Machine) -> bool:
    return owner.kind == MACHINES.kind and _group(owner) == MACHINES.group and owner.name == machine.metadata.name


def _group(owner: OwnerReference) -> str:
    return owner.api_version.rpartition("/")[0]
