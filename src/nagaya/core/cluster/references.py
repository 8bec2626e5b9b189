"""What the references of a Cluster lead to: the objects of its infrastructure and control plane providers.

A reference may lead nowhere yet, or no longer; its kind may not be installed; what is there may not look as the
contract demands. All of that is a value here, because conditions have to tell it and deletion depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.cluster.status_version import StatusVersion
from nagaya.api.contract.provider import Broken, ControlPlane, InfrastructureCluster, Provider
from nagaya.api.contract.versions import NoContract
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.contract_kinds import NotInstalled
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

P = TypeVar("P", bound=Provider)
VERSIONS: Final = ("status", "versions")


@dataclass(frozen=True, slots=True)
class Reference(Generic[P]):
    """A reference, and what it leads to."""

    ref: ContractReference
    served: Kind[Untyped] | None = None
    """The kind as it is served now."""
    object: P | None = None
    problem: str = ""
    """Why the object cannot be read, or made sense of."""

    @property
    def kind(self) -> str:
        """The kind that the reference names, as messages do."""
        return self.ref.kind

    @property
    def missing(self) -> bool:
        """Whether it is certain that there is no such object."""
        return self.object is None and not self.problem

    @property
    def live(self) -> P | None:
        """The object, if it can be made sense of and is to stay."""
        if self.object is None or self.problem or self.object.metadata.deleting:
            return None
        return self.object


def infrastructure(rt: Runtime, cluster: Cluster) -> Reference[InfrastructureCluster] | None:
    """What the machines of the cluster stand on. None if the Cluster refers to nothing."""
    return _follow(rt, cluster, cluster.spec.infrastructure_ref, InfrastructureCluster, _check_infrastructure)


def control_plane(rt: Runtime, cluster: Cluster) -> Reference[ControlPlane] | None:
    """What runs the API of the cluster. None if the Cluster refers to nothing."""
    return _follow(rt, cluster, cluster.spec.control_plane_ref, ControlPlane, _check_control_plane)


def served_kinds(rt: Runtime, cluster: Cluster) -> list[Kind[Untyped]]:
    """The kinds that the Cluster refers to, as far as they are installed."""
    kinds = []
    for ref in (cluster.spec.infrastructure_ref, cluster.spec.control_plane_ref):
        if ref is None:
            continue
        try:
            kinds.append(rt.kinds.resolve(ref.api_group, ref.kind).kind)
        except (NotInstalled, NoContract):
            continue  # told by the reference itself
    return kinds


def _follow(
    rt: Runtime,
    cluster: Cluster,
    ref: ContractReference | None,
    accessors: Callable[[Untyped, str], P],
    check: Callable[[P], None],
) -> Reference[P] | None:
    if ref is None:
        return None
    try:
        served, contract = rt.kinds.resolve(ref.api_group, ref.kind)
    except NotInstalled as error:
        # With its CRD every object of a kind goes; nothing can be left that a deletion would have to wait for.
        return Reference(ref, problem="" if cluster.metadata.deleting else str(error))
    except NoContract as error:
        return Reference(ref, problem=str(error))
    if not rt.cache.is_synced(served):
        return Reference(ref, served, problem=f"{served} are not known yet: they are being listed.")
    found = rt.cache.get(served, Key(cluster.metadata.namespace, ref.name))
    if found is None:
        return Reference(ref, served)
    provider = accessors(found, contract)
    try:
        check(provider)
    except Broken as error:
        return Reference(ref, served, provider, problem=str(error))
    return Reference(ref, served, provider)


def _check_infrastructure(provider: InfrastructureCluster) -> None:
    """Read everything once, so that nobody has to reckon with Broken later."""
    _ = provider.provisioned, provider.control_plane_endpoint, provider.failure_domains


def _check_control_plane(provider: ControlPlane) -> None:
    _ = provider.initialized, provider.control_plane_endpoint, provider.desired_replicas, provider.replicas
    _ = provider.ready_replicas, provider.available_replicas, provider.up_to_date_replicas
    _ = provider.read(tuple[StatusVersion, ...], (), *VERSIONS)
