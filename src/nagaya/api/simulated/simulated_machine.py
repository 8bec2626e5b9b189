"""SimulatedMachine: the host of a Machine, which is not there: it boots after a while, and its Node appears."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.cluster.formats import TAINT_KEY, TAINT_VALUE
from nagaya.api.cluster.machine_status import MachineAddress
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc
from nagaya.api.simulated.faults import MachineFault
from nagaya.api.simulated.group import GROUP, PROVIDER_LABELS, VERSION
from nagaya.api.simulated.simulated_cluster import SimulatedInitialization

FINALIZER: Final = "infrastructure.cluster.x-k8s.io/simulatedmachine"

NO_CAPACITY: Final[Mapping[str, int | str]] = {}
DEFAULT_CAPACITY: Final[Mapping[str, str]] = {
    "cpu": "4",
    "memory": "8Gi",
    "pods": "110",
    "ephemeral-storage": "50Gi",
}
ARCHITECTURE: Final = "amd64"
OPERATING_SYSTEM: Final = "linux"


class NodeTaint(Model):
    """A taint that the Node registers with."""

    key: Annotated[
        str, doc("The key of the taint, for example example.com/gpu.", minLength=1, maxLength=317, pattern=TAINT_KEY)
    ]
    value: Annotated[
        str, doc("The value of the taint. It has none if left out.", minLength=1, maxLength=63, pattern=TAINT_VALUE)
    ] = ""
    effect: Annotated[
        str,
        doc(
            "What happens to pods that do not tolerate the taint.",
            enum=["NoSchedule", "PreferNoSchedule", "NoExecute"],
        ),
    ]


class SimulatedMachineSpec(Model):
    """What a simulated machine is to be."""

    provider_id: Annotated[
        str, doc("How the infrastructure calls the machine. It is filled in.", minLength=1, maxLength=512)
    ] = msgspec.field(default="", name="providerID")
    startup_seconds: Annotated[
        int | None,
        doc("How long the machine takes to come up, in seconds. Between 1 and 2 seconds if left out.", minimum=0),
    ] = None
    deletion_seconds: Annotated[
        int | None, doc("How long the machine takes to go away, in seconds. 1 if left out.", minimum=0)
    ] = None
    capacity: Annotated[
        Mapping[str, int | str],
        doc(
            "What the Node offers to pods, as quantities by resource, for example cpu: 8. What is left out is: cpu 4, "
            "memory 8Gi, pods 110, ephemeral-storage 50Gi."
        ),
    ] = NO_CAPACITY
    node_labels: Annotated[Mapping[str, str], doc("Labels that the Node registers with.")] = NONE
    node_taints: Annotated[
        tuple[NodeTaint, ...],
        doc(
            "Taints that the Node registers with, beside those that Cluster API and kubeadm set.",
            maxItems=64,
            list_type="map",
            list_map_keys=["key", "effect"],
        ),
    ] = ()
    faults: Annotated[
        tuple[MachineFault, ...],
        doc("What is to go wrong, for a trial. Nothing if left out.", minItems=1, maxItems=16, list_type="atomic"),
    ] = ()


class SimulatedMachineStatus(Model):
    """What is known of a simulated machine."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[Conditions, doc("What holds of the machine: Ready, NodeJoined, Deleting, Paused.")] = ()
    initialization: Annotated[
        SimulatedInitialization, doc("How far the machine has come into being. What became true stays true.")
    ] = SimulatedInitialization()
    addresses: Annotated[
        tuple[MachineAddress, ...],
        doc("Addresses of the machine. Nothing answers there.", maxItems=256, list_type="atomic"),
    ] = ()
    failure_domain: Annotated[
        str, doc("The failure domain that the machine was placed in.", minLength=1, maxLength=256)
    ] = ""
    boot_completion_time: Annotated[
        datetime | None, doc("When the machine is up, or has come up. Not known before it begins to boot.")
    ] = None
    observed_generation: ObservedGeneration = None


class SimulatedMachine(Resource):
    """The host of a Machine, which does not exist. Its Node appears in the simulated cluster; nothing runs on it."""

    spec: Annotated[SimulatedMachineSpec, doc("What the machine is to be.")] = SimulatedMachineSpec()
    status: Annotated[SimulatedMachineStatus, doc("What is known of the machine.")] = SimulatedMachineStatus()


SIMULATED_MACHINES: Final = Kind(GROUP, VERSION, "SimulatedMachine", "simulatedmachines", SimulatedMachine)
DEFINITION: Final = Definition(
    SIMULATED_MACHINES,
    columns=(
        Column(
            "Cluster",
            r".metadata.labels['cluster\.x-k8s\.io/cluster-name']",
            description="The Cluster that the machine belongs to.",
        ),
        Column(
            "Machine",
            '.metadata.ownerReferences[?(@.kind=="Machine")].name',
            description="The Machine that this is the host of.",
        ),
        Column("Simulated ID", ".spec.providerID", description="How the simulated infrastructure calls it."),
        condition("Ready", description="Whether the machine is up."),
        condition("NodeJoined", "Node", description="Whether its Node has appeared."),
        Column(
            "Address",
            '.status.addresses[?(@.type=="InternalIP")].address',
            priority=10,
            description="The address that the machine pretends to have.",
        ),
        PAUSED_COLUMN,
        age("SimulatedMachine"),
    ),
    labels=PROVIDER_LABELS,
)


def offered(spec: SimulatedMachineSpec) -> dict[str, str]:
    """What a Node offers to pods, as quantities by resource."""
    return {**DEFAULT_CAPACITY, **{name: str(value) for name, value in spec.capacity.items()}}
