"""Which Clusters a change of some other object concerns.

References lead from Clusters to objects of providers, which know nothing of that before they are adopted. So Clusters
are found by what they refer to: an object, or the CRD of a kind, that comes late is noticed when it comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.secrets import AUTHORITY
from nagaya.clusters.external import keep
from nagaya.clusters.news import changed_kind, is_news
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.contract_kinds import Definition
from nagaya.kube.key import Key
from nagaya.kube.mapping import label
from nagaya.kube.tenant_secrets import SUFFIX, TenantSecret

_BY_OBJECT: Final = "cluster refers to object"
_BY_KIND: Final = "cluster refers to kind"
_SHOWN: Final = frozenset(
    {
        MachineCondition.READY,
        MachineCondition.AVAILABLE,
        MachineCondition.UP_TO_DATE,
        MachineCondition.HEALTH_CHECK_SUCCEEDED,
        MachineCondition.OWNER_REMEDIATED,
    }
)
_labelled: Final = label(labels.CLUSTER_NAME)


def index(cache: Cache) -> None:
    """Have Clusters found by what they refer to. They are kept from here on."""
    keep(cache, [CLUSTERS])
    cache.add_index(CLUSTERS, _BY_OBJECT, _objects)
    cache.add_index(CLUSTERS, _BY_KIND, _kinds)


@dataclass(frozen=True, slots=True)
class ReferredTo:
    """The Clusters that refer to an object of a provider."""

    cache: Cache

    def __call__(self, change: Change[Any]) -> Iterable[Key]:
        obj = change.object
        group = obj.api_version.rpartition("/")[0]
        value = f"{obj.kind}.{group}/{obj.metadata.namespace}/{obj.metadata.name}"
        return [Key.of(each) for each in self.cache.by(CLUSTERS, _BY_OBJECT, value)]


@dataclass(frozen=True, slots=True)
class Defined:
    """The Clusters that refer to objects of a kind whose CRD changed in what decides how they are read."""

    cache: Cache

    def __call__(self, change: Change[Definition]) -> Iterable[Key]:
        kind = changed_kind(change)
        return [Key.of(each) for each in self.cache.by(CLUSTERS, _BY_KIND, kind)] if kind else ()


def of_machine(change: Change[Machine]) -> Iterable[Key]:
    """The Cluster of a machine, if anything changed that a Cluster tells of its machines."""
    return _labelled(change) if is_news(change, _told) else ()


def of_secret(change: Change[TenantSecret]) -> Iterable[Key]:
    """The Cluster of an authority or a kubeconfig."""
    return _labelled(change) if change.object.metadata.name.endswith((AUTHORITY, SUFFIX)) else ()


def _objects(cluster: Cluster) -> Iterable[str]:
    refs = (cluster.spec.infrastructure_ref, cluster.spec.control_plane_ref)
    namespace = cluster.metadata.namespace
    return [f"{ref.kind}.{ref.api_group}/{namespace}/{ref.name}" for ref in refs if ref is not None]


def _kinds(cluster: Cluster) -> Iterable[str]:
    refs = (cluster.spec.infrastructure_ref, cluster.spec.control_plane_ref)
    return [f"{ref.kind}.{ref.api_group}" for ref in refs if ref is not None]


def _told(machine: Machine) -> tuple[object, ...]:
    metadata, status = machine.metadata, machine.status
    return (
        metadata.deleting,
        metadata.labels,
        metadata.owner_references,
        machine.spec.version,
        status.node_ref,
        status.node_info and status.node_info.kubelet_version,
        [each for each in status.conditions if each.type in _SHOWN],
    )
