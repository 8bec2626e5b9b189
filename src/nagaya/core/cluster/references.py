"""What the references of a Cluster lead to: the objects of its infrastructure and control plane providers.

What the contract names is read once, here, so that nobody has to reckon with a broken object later: one that does not
look as the contract demands has a problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.cluster.status_version import StatusVersion
from nagaya.api.contract.provider import Broken, ControlPlane, InfrastructureCluster, Provider
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.external import Referenced, look_up, served
from nagaya.kube.runtime import Runtime

P = TypeVar("P", bound=Provider)
VERSIONS: Final = ("status", "versions")


def infrastructure(rt: Runtime, cluster: Cluster) -> Referenced[InfrastructureCluster] | None:
    """What the machines of the cluster stand on. None if the Cluster refers to nothing."""
    return _follow(rt, cluster, cluster.spec.infrastructure_ref, InfrastructureCluster, _read_infrastructure)


def control_plane(rt: Runtime, cluster: Cluster) -> Referenced[ControlPlane] | None:
    """What runs the API of the cluster. None if the Cluster refers to nothing."""
    return _follow(rt, cluster, cluster.spec.control_plane_ref, ControlPlane, _read_control_plane)


def served_kinds(rt: Runtime, cluster: Cluster) -> list[Kind[Untyped]]:
    """The kinds that the Cluster refers to, as far as they are installed."""
    references = (cluster.spec.infrastructure_ref, cluster.spec.control_plane_ref)
    kinds = (served(rt.kinds, each.api_group, each.kind) for each in references if each is not None)
    return [kind for kind in kinds if kind is not None]


def _follow(
    rt: Runtime,
    cluster: Cluster,
    reference: ContractReference | None,
    made: Callable[[Untyped, str], P],
    read: Callable[[P], None],
) -> Referenced[P] | None:
    if reference is None:
        return None
    found = look_up(rt, cluster.metadata.namespace, reference, made)
    if not found.installed and cluster.metadata.deleting:
        # With its CRD every object of a kind goes; nothing can be left that a deletion would have to wait for.
        return replace(found, problem="")
    if found.provider is not None:
        try:
            read(found.provider)
        except Broken as error:
            return replace(found, problem=str(error))
    return found


def _read_infrastructure(provider: InfrastructureCluster) -> None:
    _ = provider.provisioned, provider.control_plane_endpoint, provider.failure_domains


def _read_control_plane(provider: ControlPlane) -> None:
    _ = provider.initialized, provider.control_plane_endpoint, provider.desired_replicas, provider.replicas
    _ = provider.ready_replicas, provider.available_replicas, provider.up_to_date_replicas
    _ = provider.read(tuple[StatusVersion, ...], (), *VERSIONS)
