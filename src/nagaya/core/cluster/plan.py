"""What is to be done for a Cluster, from what is seen of it. No I/O, no clock, no randomness.

What became true once stays true: a Cluster that was provisioned and whose infrastructure is in trouble is a Cluster in
trouble, not one that is still to be made.
"""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.cluster_status import ClusterInitialization, FailureDomainStatus
from nagaya.api.kind import Kind
from nagaya.api.meta import OwnerReference
from nagaya.api.untyped import Untyped
from nagaya.clusters import owners
from nagaya.core.cluster.deletion import Deletion, deletion
from nagaya.core.cluster.seen import Seen


@dataclass(frozen=True, slots=True)
class Adoption:
    """A provider's object that is to belong to the Cluster."""

    kind: Kind[Untyped]
    object: Untyped
    owners: tuple[OwnerReference, ...]


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that users are told by an event."""

    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what is known from now on."""

    sentence: str
    initialization: ClusterInitialization
    failure_domains: tuple[FailureDomainStatus, ...]
    adopt: tuple[Adoption, ...] = ()
    endpoint: Endpoint | None = None
    """Where the API of the cluster is, if that has to be written down."""
    kubeconfig: bool = False
    """Whether a kubeconfig is to be made: only for clusters whose control plane nobody looks after."""
    deletion: Deletion | None = None
    happened: tuple[Happened, ...] = ()

    @property
    def connect(self) -> bool:
        """Whether the API of the cluster can be expected to come up."""
        return self.initialization.infrastructure_provisioned is True


def plan(seen: Seen) -> Plan:
    """Adopt what the Cluster refers to, take over what it tells, and take everything down if the Cluster is to go."""
    cluster = seen.cluster
    deleting = cluster.metadata.deleting
    if seen.waits_for_topology and not deleting:
        return Plan(
            "Waiting for the topology to be generated.", cluster.status.initialization, cluster.status.failure_domains
        )
    provisioned, initialized = _provisioned(seen), _initialized(seen)
    endpoint = _endpoint(seen, provisioned, initialized)
    steps = deletion(seen) if deleting else None
    return Plan(
        _sentence(seen, steps, provisioned),
        ClusterInitialization(
            infrastructure_provisioned=provisioned or cluster.status.initialization.infrastructure_provisioned,
            control_plane_initialized=initialized or cluster.status.initialization.control_plane_initialized,
        ),
        _failure_domains(seen, provisioned),
        adopt=_adoptions(seen),
        endpoint=endpoint,
        kubeconfig=(
            not deleting
            and seen.control_plane is None
            and not seen.has_kubeconfig
            and (endpoint or cluster.spec.control_plane_endpoint).valid
        ),
        deletion=steps,
        happened=_happened(seen, provisioned, initialized, steps),
    )


def owners_with(cluster: Cluster, present: tuple[OwnerReference, ...]) -> tuple[OwnerReference, ...]:
    """The owners of a provider's object, the Cluster among them.

    The Cluster is the controller only with a topology, where it manages the object. Else that place is left to tools
    of users.
    """
    made = owners.owner if cluster.spec.topology is None else owners.controller
    return owners.with_owner(present, made(CLUSTERS, cluster))


def _adoptions(seen: Seen) -> tuple[Adoption, ...]:
    """Objects that are being deleted, too: their providers clean up only what has an owner."""
    found: list[Adoption] = []
    for referenced in (seen.infrastructure, seen.control_plane):
        if referenced is None or referenced.provider is None or referenced.kind is None:
            continue
        metadata = referenced.provider.metadata
        owned = owners_with(seen.cluster, metadata.owner_references)
        labelled = metadata.labels.get(labels.CLUSTER_NAME) == seen.cluster.metadata.name
        if owned is not metadata.owner_references or not labelled:
            found.append(Adoption(referenced.kind, referenced.provider.object, owned))
    return tuple(found)


def _provisioned(seen: Seen) -> bool | None:
    """Whether the infrastructure is complete, now or before; None if nothing can be said now."""
    if seen.infrastructure is None:
        # Nothing to wait for.
        return None if seen.cluster.metadata.deleting else True
    provider = seen.infrastructure.live
    if provider is None:
        return None
    return provider.provisioned or seen.cluster.status.initialization.infrastructure_provisioned


def _initialized(seen: Seen) -> bool | None:
    provider = None if seen.control_plane is None else seen.control_plane.live
    if provider is None:
        return None
    return provider.initialized or seen.cluster.status.initialization.control_plane_initialized


def _endpoint(seen: Seen, provisioned: bool | None, initialized: bool | None) -> Endpoint | None:
    if seen.cluster.spec.control_plane_endpoint.valid:
        return None
    told = []
    if provisioned and seen.infrastructure is not None and seen.infrastructure.live is not None:
        told.append(seen.infrastructure.live.control_plane_endpoint)
    if initialized and seen.control_plane is not None and seen.control_plane.live is not None:
        told.append(seen.control_plane.live.control_plane_endpoint)
    return next((each for each in told if each.valid), None)


def _failure_domains(seen: Seen, provisioned: bool | None) -> tuple[FailureDomainStatus, ...]:
    provider = None if seen.infrastructure is None else seen.infrastructure.live
    if provider is None or not provisioned:
        return seen.cluster.status.failure_domains
    return provider.failure_domains


def _happened(
    seen: Seen, provisioned: bool | None, initialized: bool | None, steps: Deletion | None
) -> tuple[Happened, ...]:
    name, before = seen.cluster.metadata.name, seen.cluster.status.initialization
    news = []
    if provisioned and not before.infrastructure_provisioned and seen.infrastructure is not None:
        news.append(Happened("InfrastructureReady", f"Cluster {name} InfrastructureProvisioned is now True"))
    if initialized and not before.control_plane_initialized:
        news.append(Happened("ControlPlaneInitialized", f"Cluster {name} ControlPlaneInitialized is now True"))
    if steps is not None and steps.completed:
        news.append(Happened("Deleted", f"Cluster {name} has been deleted"))
    return tuple(news)


def _sentence(seen: Seen, steps: Deletion | None, provisioned: bool | None) -> str:
    """What the controller says of the Cluster in its log."""
    if steps is not None:
        return f"Deleting: {steps.message}"
    if seen.problems:
        return " ".join(seen.problems)
    for referenced, before in (
        (seen.infrastructure, seen.cluster.status.initialization.infrastructure_provisioned),
        (seen.control_plane, seen.cluster.status.initialization.control_plane_initialized),
    ):
        if referenced is not None and referenced.missing:
            gone = "has been deleted while the cluster still exists" if before else "does not exist yet"
            return f"{referenced.reference.kind} {referenced.reference.name} {gone}."
    if not provisioned:
        return "Waiting for the infrastructure provider."
    if seen.control_plane is not None and not _initialized(seen):
        return "Waiting for the control plane provider."
    return "Everything that the Cluster refers to is there."
