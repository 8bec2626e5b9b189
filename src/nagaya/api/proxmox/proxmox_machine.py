"""ProxmoxMachine: the VM of a Machine."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from nagaya.api.cluster.machine_status import MachineAddress
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc
from nagaya.api.proxmox.deprecated import DeprecatedStatus, Initialization
from nagaya.api.proxmox.group import GROUP, PROVIDER_LABELS, VERSION
from nagaya.api.proxmox.network import NetworkStatus
from nagaya.api.proxmox.proxmox_machine_spec import ProxmoxMachineSpec
from nagaya.api.proxmox.template_source import CLONE_RULES, SOURCE_RULES

FINALIZER: Final = "proxmoxmachine.infrastructure.cluster.x-k8s.io"

VM_NOT_FOUND: Final = "notfound"
VM_PENDING: Final = "pending"
VM_READY: Final = "ready"

TASK_BEGUN: Final = "TaskBegun"
"""The reason of Events that tell of a task of Proxmox VE: what it is for, then its name in parentheses."""

DEFAULT_ADDRESSES: Final = "default"
"""In place of a device: the addresses that the cluster's pools gave, whichever devices have them."""


class DeviceAddresses(Model):
    """The addresses of a network device."""

    net: Annotated[
        str,
        doc(
            "Which device it is, or default: the addresses that the cluster's pools gave.",
            minLength=1,
            maxLength=16,
            pattern=r"^(net[0-9]+|default)$",
        ),
    ]
    ipv4: Annotated[tuple[str, ...], doc("Its IPv4 addresses.", maxItems=256, list_type="set")] = ()
    ipv6: Annotated[tuple[str, ...], doc("Its IPv6 addresses.", maxItems=256, list_type="set")] = ()


class ProxmoxMachineStatus(Model):
    """What is known of a machine."""

    conditions: Annotated[
        Conditions,
        doc("What holds of the machine: Ready, VirtualMachineProvisioned, VirtualMachineHealthy, Deleting, Paused."),
    ] = ()
    initialization: Annotated[
        Initialization,
        doc("How far the machine has come into being. What became true stays true.", minProperties=1),
    ] = Initialization()
    addresses: Annotated[
        tuple[MachineAddress, ...], doc("The name and the addresses of the machine.", maxItems=256, list_type="atomic")
    ] = ()
    vm_status: Annotated[str, doc("How the VM is: notfound, pending while a task runs, ready.", maxLength=32)] = ""
    bootstrap_data_provided: Annotated[bool | None, doc("Whether the VM has its boot data.")] = None
    ip_addresses: Annotated[
        tuple[DeviceAddresses, ...],
        doc("The addresses of each network device.", maxItems=64, list_type="map", list_map_keys=["net"]),
    ] = ()
    network: Annotated[
        tuple[NetworkStatus, ...], doc("The network devices as the VM has them.", maxItems=64, list_type="atomic")
    ] = ()
    proxmox_node: Annotated[str, doc("The host that the VM is on.", maxLength=63)] = ""
    task_ref: Annotated[str, doc("The task of Proxmox VE that runs for the VM.", maxLength=512)] = ""
    retry_after: Annotated[datetime | None, doc("When what failed is tried again.")] = None
    failure_domain: Annotated[str, doc("The failure domain that the machine is in.", minLength=1, maxLength=256)] = ""
    deprecated: Annotated[DeprecatedStatus | None, doc("Fields of earlier versions.")] = None
    observed_generation: ObservedGeneration = None


class ProxmoxMachine(Resource):
    """The VM of a Machine, cloned from a template of Proxmox VE."""

    spec: Annotated[ProxmoxMachineSpec, doc("What the machine is to be.", rules=[*CLONE_RULES, *SOURCE_RULES])]
    status: Annotated[ProxmoxMachineStatus, doc("What is known of the machine.")] = ProxmoxMachineStatus()


PROXMOX_MACHINES: Final = Kind(GROUP, VERSION, "ProxmoxMachine", "proxmoxmachines", ProxmoxMachine)
DEFINITION: Final = Definition(
    PROXMOX_MACHINES,
    short_names=("moxm",),
    categories=("cluster-api", "proxmox"),
    columns=(
        Column(
            "Cluster",
            r".metadata.labels.cluster\.x-k8s\.io/cluster-name",
            description="The Cluster that the machine belongs to.",
        ),
        condition("Ready", description="Whether the machine runs as it should."),
        Column("Node", ".status.proxmoxNode", description="The host that the VM is on."),
        Column("Provider_ID", ".spec.providerID", description="How Proxmox VE calls the machine."),
        Column(
            "Machine",
            '.metadata.ownerReferences[?(@.kind=="Machine")].name',
            description="The Machine that this is the VM of.",
        ),
        Column(
            "Reason", '.status.conditions[?(@.type=="Ready")].reason', description="How far it is, or what is wrong."
        ),
        Column("VMID", ".spec.virtualMachineID", "integer", priority=10, description="The VMID of the machine."),
        condition("VirtualMachineHealthy", "Healthy", priority=10, description="Whether the VM runs as it should."),
        PAUSED_COLUMN,
        age("ProxmoxMachine"),
    ),
    labels=PROVIDER_LABELS,
)
