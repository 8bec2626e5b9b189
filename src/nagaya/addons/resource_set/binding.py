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
from nagaya.api.cluster.labels import WATCH_FILTER
from nagaya.clusters.owners import Owners, names, owner, with_owner
from nagaya.kube.key import Key


def noted(binding: ClusterResourceSetBinding | None, name: str, reference: ResourceRef) -> ResourceBinding | None:
    """What is on record about a resource of a set."""
    entry = None if binding is None else _entry(binding, name)
    resources = () if entry is None else entry.resources
    return next((each for each in resources if _same(each, reference)), None)


def new_binding(cluster: Key, resource_set: ClusterResourceSet, brought: Iterable[ResourceBinding]) -> dict[str, Any]:
    """The first record of a cluster."""
    entry = ResourceSetBinding(cluster_resource_set_name=resource_set.metadata.name, resources=tuple(brought))
    metadata: dict[str, Any] = {
        "namespace": cluster.namespace,
        "name": cluster.name,
        "ownerReferences": msgspec.to_builtins((owner(CLUSTER_RESOURCE_SETS, resource_set),)),
    }
    if value := resource_set.metadata.labels.get(WATCH_FILTER):
        # Who is in charge of the set is in charge of its records.
        metadata["labels"] = {WATCH_FILTER: value}
    return {
        "metadata": metadata,
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
    wanted_owner = owner(CLUSTER_RESOURCE_SETS, resource_set)
    return _change(binding, bindings, with_owner(binding.metadata.owner_references, wanted_owner))


def without(binding: ClusterResourceSetBinding, resource_set: ClusterResourceSet) -> dict[str, Any] | None:
    """The merge patch that removes a set from a record, None if it is not in there."""
    name = resource_set.metadata.name
    bindings = tuple(each for each in binding.spec.bindings if each.cluster_resource_set_name != name)
    present = binding.metadata.owner_references
    owners = tuple(each for each in present if not names(each, CLUSTER_RESOURCE_SETS, resource_set))
    return _change(binding, bindings, owners)


def only_of(binding: ClusterResourceSetBinding, resource_set: ClusterResourceSet) -> bool:
    """Whether a record has no entry but that of a set."""
    return all(each.cluster_resource_set_name == resource_set.metadata.name for each in binding.spec.bindings)


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
