"""SimulatedCluster: what the machines of a simulated cluster share: the address of its API, and failure domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.cluster_status import FailureDomainStatus
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc
from nagaya.api.simulated.faults import ClusterFault
from nagaya.api.simulated.group import GROUP, PROVIDER_LABELS, VERSION

FINALIZER: Final = "infrastructure.cluster.x-k8s.io/simulatedcluster"


class SimulatedNodes(Model):
    """How the nodes of a simulated cluster behave."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    ready_seconds: Annotated[
        int | None, doc("Seconds from the registration of a Node until it is Ready. 1 if left out.", minimum=0)
    ] = None
    monitor_grace_seconds: Annotated[
        int | None,
        doc(
            "Seconds without a heartbeat after which a Node is Unknown. 50 if left out, as in Kubernetes.",
            minimum=1,
        ),
    ] = None
    static_pod_seconds: Annotated[
        int | None,
        doc(
            "Seconds from the registration of a control plane Node until the components on it are ready. 1 if left "
            "out.",
            minimum=0,
        ),
    ] = None
    heartbeat_seconds: Annotated[
        int | None,
        doc(
            "The shortest time between two heartbeats of a node, in seconds. If left out it is 10, and more with more "
            "than fifty nodes in the process.",
            minimum=1,
        ),
    ] = None


class SimulatedClusterSpec(Model):
    """What a simulated cluster is to be."""

    control_plane_endpoint: Annotated[
        Endpoint,
        doc(
            "Where the simulated API server is reached: an address of the machine that the controllers run on. If "
            "left out it is on loopback, at a port that is chosen once and kept."
        ),
    ] = Endpoint()
    failure_domains: Annotated[
        tuple[FailureDomainStatus, ...],
        doc(
            "Where machines may be placed. There are none if left out.",
            minItems=1,
            maxItems=100,
            list_type="map",
            list_map_keys=["name"],
        ),
    ] = ()
    provisioning_seconds: Annotated[
        int | None,
        doc("How long after its creation the cluster is ready for machines. At once if left out.", minimum=0),
    ] = None
    nodes: Annotated[SimulatedNodes, doc("How the nodes of the cluster behave.")] = SimulatedNodes()
    faults: Annotated[
        tuple[ClusterFault, ...],
        doc("What is to go wrong, for a trial. Nothing if left out.", minItems=1, maxItems=16, list_type="atomic"),
    ] = ()


class SimulatedInitialization(Model):
    """How far the object has come into being. What became true stays true."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    provisioned: Annotated[bool | None, doc("Whether it has been provided.")] = None


class SimulatedClusterStatus(Model):
    """What is known of a simulated cluster."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[Conditions, doc("What holds of the cluster: Ready, Deleting, Paused.")] = ()
    initialization: Annotated[
        SimulatedInitialization, doc("How far the cluster has come into being. What became true stays true.")
    ] = SimulatedInitialization()
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
    observed_generation: ObservedGeneration = None


class SimulatedCluster(Resource):
    """The infrastructure of a cluster that does not exist: its API is real and runs in Nagaya, its machines are data.

    For first tries, tests and trials of scale. Nothing runs in it.
    """

    spec: Annotated[SimulatedClusterSpec, doc("What the cluster is to be.")] = SimulatedClusterSpec()
    status: Annotated[SimulatedClusterStatus, doc("What is known of the cluster.")] = SimulatedClusterStatus()


SIMULATED_CLUSTERS: Final = Kind(GROUP, VERSION, "SimulatedCluster", "simulatedclusters", SimulatedCluster)
DEFINITION: Final = Definition(
    SIMULATED_CLUSTERS,
    columns=(
        Column(
            "Cluster",
            r".metadata.labels['cluster\.x-k8s\.io/cluster-name']",
            description="The Cluster that this belongs to.",
        ),
        condition("Ready", description="Whether machines can be made."),
        Column("Simulated API", ".spec.controlPlaneEndpoint.host", description="Where the simulated API server is."),
        Column("Port", ".spec.controlPlaneEndpoint.port", "integer", description="The port of that API server."),
        PAUSED_COLUMN,
        age("SimulatedCluster"),
    ),
    labels=PROVIDER_LABELS,
)
