"""The record of what a cluster got: one ClusterResourceSetBinding for each cluster, which several sets write to.

Pure functions: what it is to say, given what it says. What always holds: a set changes nothing but its own entry and
its own place among the owners.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS, ClusterResourceSet, ResourceRef
from nagaya.api.addons.cluster_resource_set_binding import (
    ClusterResourceSetBinding,
    ResourceBinding,
    ResourceSetBinding,
)
from nagaya.api.meta import OwnerReference
from nagaya.kube.key import Key

Owners = tuple[OwnerReference, ...]


def noted(binding: ClusterResourceSetBinding | None, name: str, reference: ResourceRef) -> ResourceBinding | None:
    """What is on record about a resource of a set."""
    entry = None if binding is None else _entry(binding, name)
    resources = () if entry is None else entry.resources
    return next((each for each in resources if _same(each, reference)), None)


def new_binding(cluster: Key, resource_set: ClusterResourceSet, brought: Iterable[ResourceBinding]) -> dict[str, Any]:
    """The first record of a cluster."""
    entry = ResourceSetBinding(cluster_resource_set_name=resource_set.metadata.name, resources=tuple(brought))
    return {
        "metadata": {
            "namespace": cluster.namespace,
            "name": cluster.name,
            "ownerReferences": msgspec.to_builtins((owner_of(resource_set),)),
        },
        "spec": {"clusterName": cluster.name, "bindings": msgspec.to_builtins((entry,))},
    }


def recorded(
    binding: ClusterResourceSetBinding, resource_set: ClusterResourceSet, brought: Iterable[ResourceBinding]
) -> dict[str, Any] | None:
    """The merge patch that adds to a record, None if it says all of it."""
    name = resource_set.metadata.name
    entry = _entry(binding, name)
    resources = () if entry is None else entry.resources
    for each in brought:
        resources = _with(resources, each)
    wanted = ResourceSetBinding(cluster_resource_set_name=name, resources=resources)
    others = binding.spec.bindings
    bindings = (*others, wanted) if entry is None else tuple(wanted if each is entry else each for each in others)
    return _change(binding, bindings, owners_with(binding.metadata.owner_references, resource_set))


def without(binding: ClusterResourceSetBinding, resource_set: ClusterResourceSet) -> dict[str, Any] | None:
    """The merge patch that removes a set from a record, None if it is not in there."""
    name = resource_set.metadata.name
    bindings = tuple(each for each in binding.spec.bindings if each.cluster_resource_set_name != name)
    owners = tuple(each for each in binding.metadata.owner_references if not _names(each, resource_set))
    return _change(binding, bindings, owners)


def only_of(binding: ClusterResourceSetBinding, resource_set: ClusterResourceSet) -> bool:
    """Whether a record has no entry but that of a set."""
    return all(each.cluster_resource_set_name == resource_set.metadata.name for each in binding.spec.bindings)


def owner_of(resource_set: ClusterResourceSet) -> OwnerReference:
    """The reference to a set that owns something."""
    return OwnerReference(
        api_version=CLUSTER_RESOURCE_SETS.api_version,
        kind=CLUSTER_RESOURCE_SETS.kind,
        name=resource_set.metadata.name,
        uid=resource_set.metadata.uid,
    )


def owners_with(present: Owners, resource_set: ClusterResourceSet) -> Owners:
    """The owners, with a set among them once."""
    wanted = owner_of(resource_set)
    for index, each in enumerate(present):
        if _names(each, resource_set):
            same = (each.api_version, each.uid) == (wanted.api_version, wanted.uid)
            return present if same else (*present[:index], wanted, *present[index + 1 :])
    return (*present, wanted)


def _change(
    binding: ClusterResourceSetBinding, bindings: tuple[ResourceSetBinding, ...], owners: Owners
) -> dict[str, Any] | None:
    change: dict[str, Any] = {}
    if owners != binding.metadata.owner_references:
        change["metadata"] = {"ownerReferences": msgspec.to_builtins(owners)}
    if bindings != binding.spec.bindings:
        change["spec"] = {"bindings": msgspec.to_builtins(bindings)}
    return change or None


def _entry(binding: ClusterResourceSetBinding, name: str) -> ResourceSetBinding | None:
    return next((each for each in binding.spec.bindings if each.cluster_resource_set_name == name), None)


def _with(resources: tuple[ResourceBinding, ...], wanted: ResourceBinding) -> tuple[ResourceBinding, ...]:
    if any(_same(each, wanted) for each in resources):
        return tuple(wanted if _same(each, wanted) else each for each in resources)
    return (*resources, wanted)


def _same(one: ResourceRef, other: ResourceRef) -> bool:
    return (one.kind, one.name) == (other.kind, other.name)


def _names(owner: OwnerReference, resource_set: ClusterResourceSet) -> bool:
    group = owner.api_version.rpartition("/")[0]
    kind = CLUSTER_RESOURCE_SETS
    return (group, owner.kind, owner.name) == (kind.group, kind.kind, resource_set.metadata.name)
