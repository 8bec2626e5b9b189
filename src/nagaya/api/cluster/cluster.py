"""Clusters: what belongs together, and where its API is reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.cluster_network import ClusterNetwork, Endpoint
from nagaya.api.cluster.cluster_status import ClusterStatus
from nagaya.api.cluster.gate import AvailabilityGates
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.cluster.topology import Topology
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc

FINALIZER: Final = "cluster.cluster.x-k8s.io"


class ClusterSpec(Model):
    """What a cluster is to be."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    paused: Annotated[bool | None, doc("Whether controllers leave the cluster and all that belongs to it alone.")] = (
        None
    )
    cluster_network: Annotated[ClusterNetwork, doc("The addresses within the cluster.")] = ClusterNetwork()
    control_plane_endpoint: Annotated[
        Endpoint,
        doc(
            "Where the API server is reached. Give it if you know it, for example the address of a load balancer; else "
            "the infrastructure or control plane provider fills it in."
        ),
    ] = Endpoint()
    control_plane_ref: Annotated[
        ContractReference | None,
        doc(
            "The object of a control plane provider, for example a KubeadmControlPlane. With a topology it is filled "
            "in. If left out, control plane machines are yours to make."
        ),
    ] = None
    infrastructure_ref: Annotated[
        ContractReference | None,
        doc(
            "The object of an infrastructure provider that stands for what the machines share, for example a "
            "ProxmoxCluster. With a topology it is filled in."
        ),
    ] = None
    topology: Annotated[
        Topology | None,
        doc("Makes the whole cluster from a ClusterClass. If left out, you make the objects of the cluster yourself."),
    ] = None
    availability_gates: AvailabilityGates = ()


class Cluster(Resource):
    """A Kubernetes cluster: its control plane, its infrastructure, its machines. Deleting it deletes all of them."""

    spec: Annotated[ClusterSpec, doc("What the cluster is to be.", required=True)] = ClusterSpec()
    status: Annotated[ClusterStatus, doc("What is known of the cluster.")] = ClusterStatus()


CLUSTERS: Final = Kind("cluster.x-k8s.io", "v1beta2", "Cluster", "clusters", Cluster)

DEFINITION: Final = Definition(
    CLUSTERS,
    short_names=("cl",),
    columns=(
        Column("ClusterClass", ".spec.topology.classRef.name", description="The class that the cluster is made from."),
        condition("Available", description="Whether the cluster works."),
        Column(
            "CP Desired",
            ".status.controlPlane.desiredReplicas",
            "integer",
            description="How many control plane machines there are to be.",
        ),
        Column(
            "CP Current",
            ".status.controlPlane.replicas",
            "integer",
            priority=10,
            description="How many control plane machines there are.",
        ),
        Column(
            "CP Ready",
            ".status.controlPlane.readyReplicas",
            "integer",
            priority=10,
            description="How many control plane machines are Ready.",
        ),
        Column(
            "CP Available",
            ".status.controlPlane.availableReplicas",
            "integer",
            description="How many control plane machines are Available.",
        ),
        Column(
            "CP Up-to-date",
            ".status.controlPlane.upToDateReplicas",
            "integer",
            description="How many control plane machines are UpToDate.",
        ),
        Column(
            "W Desired",
            ".status.workers.desiredReplicas",
            "integer",
            description="How many workers there are to be.",
        ),
        Column(
            "W Current",
            ".status.workers.replicas",
            "integer",
            priority=10,
            description="How many workers there are.",
        ),
        Column(
            "W Ready",
            ".status.workers.readyReplicas",
            "integer",
            priority=10,
            description="How many workers are Ready.",
        ),
        Column(
            "W Available",
            ".status.workers.availableReplicas",
            "integer",
            description="How many workers are Available.",
        ),
        Column(
            "W Up-to-date",
            ".status.workers.upToDateReplicas",
            "integer",
            description="How many workers are UpToDate.",
        ),
        PAUSED_COLUMN,
        Column("Phase", ".status.phase", description="The state of the cluster in one word."),
        age("cluster"),
        Column("Version", ".spec.topology.version", description="The Kubernetes version that the topology asks for."),
    ),
)
