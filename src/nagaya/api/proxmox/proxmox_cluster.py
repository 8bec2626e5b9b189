"""ProxmoxCluster: what the machines of a cluster on Proxmox VE share: its endpoint, its addresses, its hosts."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from nagaya.api.cluster.cluster_status import FailureDomainStatus
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc
from nagaya.api.proxmox.deprecated import DeprecatedStatus, Initialization
from nagaya.api.proxmox.group import GROUP, PROVIDER_LABELS, VERSION
from nagaya.api.proxmox.proxmox_cluster_spec import CLUSTER_RULES, ProxmoxClusterSpec
from nagaya.api.proxmox.references import LocalReference

FINALIZER: Final = "proxmoxcluster.infrastructure.cluster.x-k8s.io"


class ZonePools(Model):
    """The pools of a zone."""

    zone: Annotated[str, doc("The zone.", minLength=1, maxLength=63, default="default", required=False)] = ""
    in_cluster_ip_pool_ref_v4: Annotated[LocalReference | None, doc("Its pool of IPv4 addresses.")] = msgspec.field(
        default=None, name="inClusterIPPoolRefV4"
    )
    in_cluster_ip_pool_ref_v6: Annotated[LocalReference | None, doc("Its pool of IPv6 addresses.")] = msgspec.field(
        default=None, name="inClusterIPPoolRefV6"
    )


class NodeLocation(Model):
    """Where a machine is."""

    machine: Annotated[LocalReference, doc("The ProxmoxMachine.")]
    node: Annotated[str, doc("The host that its VM is on.", minLength=1, maxLength=63)]
    zone: Annotated[str, doc("The zone that it is in.", minLength=1, maxLength=63)] = ""


class NodeLocations(Model):
    """Where the machines are."""

    control_plane: Annotated[
        tuple[NodeLocation, ...], doc("Machines of the control plane.", maxItems=1000, list_type="atomic")
    ] = ()
    workers: Annotated[tuple[NodeLocation, ...], doc("Workers.", maxItems=10000, list_type="atomic")] = ()


class ProxmoxClusterStatus(Model):
    """What is known of the infrastructure of a cluster."""

    conditions: Annotated[Conditions, doc("What holds of the cluster: Ready, ProxmoxAvailable, Deleting, Paused.")] = ()
    initialization: Annotated[
        Initialization,
        doc("How far the cluster has come into being. What became true stays true.", minProperties=1),
    ] = Initialization()
    in_cluster_ip_pool_ref: Annotated[
        tuple[LocalReference, ...], doc("The pools that were made for the cluster.", maxItems=64, list_type="atomic")
    ] = msgspec.field(default=(), name="inClusterIPPoolRef")
    in_cluster_zone_ref: Annotated[
        tuple[ZonePools, ...],
        doc("The pools of each zone.", maxItems=64, list_type="map", list_map_keys=["zone"]),
    ] = ()
    node_locations: Annotated[NodeLocations | None, doc("Where the machines are.")] = None
    failure_domains: Annotated[
        tuple[FailureDomainStatus, ...],
        doc(
            "The failure domains that machines may be placed in.",
            minItems=1,
            maxItems=100,
            list_type="map",
            list_map_keys=["name"],
        ),
    ] = ()
    datacenter: Annotated[
        str, doc("Which Proxmox VE the machines are on, as its ProxmoxConnection says.", maxLength=63)
    ] = ""
    deprecated: Annotated[DeprecatedStatus | None, doc("Fields of earlier versions.")] = None
    observed_generation: ObservedGeneration = None


class ProxmoxCluster(Resource):
    """What the machines of a cluster on Proxmox VE share: the endpoint of its API, its addresses, its hosts."""

    spec: Annotated[ProxmoxClusterSpec, doc("What the cluster is to be.", rules=list(CLUSTER_RULES))]
    status: Annotated[ProxmoxClusterStatus, doc("What is known of the cluster.")] = ProxmoxClusterStatus()


PROXMOX_CLUSTERS: Final = Kind(GROUP, VERSION, "ProxmoxCluster", "proxmoxclusters", ProxmoxCluster)
DEFINITION: Final = Definition(
    PROXMOX_CLUSTERS,
    columns=(
        Column(
            "Cluster",
            r".metadata.labels['cluster\.x-k8s\.io/cluster-name']",
            description="The Cluster that this belongs to.",
        ),
        condition("Ready", description="Whether machines can be made."),
        Column("Endpoint", ".spec.controlPlaneEndpoint.host", description="Where the API server is reached."),
        condition("ProxmoxAvailable", "Proxmox", priority=10, description="Whether Proxmox VE answers as it should."),
        PAUSED_COLUMN,
        age("ProxmoxCluster"),
    ),
    labels=PROVIDER_LABELS,
)
