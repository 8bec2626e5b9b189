"""Machines: one host each that becomes a node of a cluster, and goes again."""

from __future__ import annotations

from typing import Annotated, Final

from nagaya.api.cluster.machine_spec import MachineSpec
from nagaya.api.cluster.machine_status import MachineStatus
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import doc

FINALIZER: Final = "machine.cluster.x-k8s.io"


class Machine(Resource):
    """A host that becomes a node of a cluster. They are replaced, not changed: let a MachineDeployment make them."""

    spec: Annotated[MachineSpec, doc("What the machine is to be.")]
    status: Annotated[MachineStatus, doc("What is known of the machine.")] = MachineStatus()


MACHINES: Final = Kind("cluster.x-k8s.io", "v1beta2", "Machine", "machines", Machine)

DEFINITION: Final = Definition(
    MACHINES,
    short_names=("ma",),
    columns=(
        Column("Cluster", ".spec.clusterName", description="The Cluster that the machine belongs to."),
        Column("Node Name", ".status.nodeRef.name", description="The Node that runs on the machine."),
        Column("Provider ID", ".spec.providerID", priority=10, description="How the infrastructure calls it."),
        Column("Failure domain", ".status.failureDomain", description="Where the machine was placed."),
        condition("Ready", description="Whether machine and node work."),
        condition("Available", description="Whether the machine has been ready for minReadySeconds."),
        condition("UpToDate", "Up-to-date", description="Whether the machine is what its owner wants now."),
        Column(
            "Internal-IP",
            '.status.addresses[?(@.type=="InternalIP")].address',
            priority=10,
            description="Addresses within the network of the machines.",
        ),
        Column(
            "External-IP",
            '.status.addresses[?(@.type=="ExternalIP")].address',
            priority=10,
            description="Addresses that can be reached from outside.",
        ),
        Column("OS-Image", ".status.nodeInfo.osImage", priority=10, description="The operating system of the node."),
        PAUSED_COLUMN,
        Column("Phase", ".status.phase", description="The state of the machine in one word."),
        age("machine"),
        Column("Version", ".spec.version", description="The Kubernetes version that the machine is to run."),
    ),
)
