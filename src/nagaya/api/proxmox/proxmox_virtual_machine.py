"""ProxmoxVirtualMachine: the reservation of a VMID, so that the API server itself gives it out once.

It is named after the data center and the VMID, and made before anything is cloned: whoever makes it has the VMID, and
nobody else can, in whatever process. It knows the VM for as long as there is one, also when the ProxmoxMachine is gone
already because its host was off.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from nagaya.api.definition import Column, Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc, rule
from nagaya.api.proxmox.formats import FIRST_VMID, LAST_VMID
from nagaya.api.proxmox.group import GROUP, RESERVATION_LABELS, VERSION

FINALIZER: Final = "infrastructure.cluster.x-k8s.io/proxmoxvirtualmachine"
"""Keeps a reservation until its VM is known to be gone."""


class ProxmoxVirtualMachinePhase(StrEnum):
    """How far a VM is."""

    RESERVED = "Reserved"
    """The VMID is taken, and nothing was cloned yet."""
    CLONING = "Cloning"
    """The clone was ordered; whether it was begun is found out on the host."""
    PRESENT = "Present"
    """The VM is there."""
    ORPHANED = "Orphaned"
    """Its machine is gone and its host was off: it is destroyed when the host is back."""
    DESTROYING = "Destroying"
    """Its destruction was ordered."""
    ABANDONED = "Abandoned"
    """Its machine was deleted here, and somebody kept Nagaya from destroying the VM: `nagaya gc` destroys it."""


LEFT: Final = (ProxmoxVirtualMachinePhase.ORPHANED, ProxmoxVirtualMachinePhase.DESTROYING)
"""Phases of a VM whose machine is gone, on purpose."""
DELETED: Final = (*LEFT, ProxmoxVirtualMachinePhase.ABANDONED)
"""Phases of a VM whose machine was seen being deleted here: it was not moved to another management API."""


class MachineReference(Model):
    """The ProxmoxMachine that a VM is for."""

    namespace: Annotated[str, doc("Its namespace.", minLength=1, maxLength=63)]
    name: Annotated[str, doc("Its name.", minLength=1, maxLength=253)]
    uid: Annotated[str, doc("Its uid: another one of the same name is not meant.", minLength=1, maxLength=64)]


class NamespacedConnectionReference(Model):
    """The connection that a VM is reached by."""

    namespace: Annotated[str, doc("The namespace of the connection or the Secret.", minLength=1, maxLength=63)]
    name: Annotated[str, doc("The name of the connection or the Secret.", minLength=1, maxLength=253)]
    kind: Annotated[
        str | None,
        doc("What is referred to. A ProxmoxConnection if left out.", enum=["ProxmoxConnection", "Secret"]),
    ] = None


class ProxmoxVirtualMachineSpec(Model):
    """Who has the VMID."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "rules": [
            rule(
                "self.datacenter == oldSelf.datacenter && self.vmid == oldSelf.vmid && "
                "self.machineRef == oldSelf.machineRef && self.name == oldSelf.name",
                "a reservation never changes hands: delete it, and make another",
            )
        ]
    }

    datacenter: Annotated[str, doc("Which Proxmox VE it is, as its ProxmoxConnection says.", minLength=1, maxLength=63)]
    vmid: Annotated[int, doc("The VMID.", minimum=FIRST_VMID, maximum=LAST_VMID)]
    machine_ref: Annotated[MachineReference, doc("The ProxmoxMachine that the VM is for.")]
    connection_ref: Annotated[NamespacedConnectionReference, doc("The connection that the VM is reached by.")]
    name: Annotated[
        str, doc("How the VM is called. A VM that is called otherwise is not touched.", minLength=1, maxLength=253)
    ]
    pool: Annotated[str, doc("The pool that the VM is in. A VM elsewhere is not touched.", maxLength=1024)] = ""
    claim: Annotated[
        str,
        doc(
            "A secret. The VM's description has its fingerprint, and the ProxmoxMachine has it as an annotation: that "
            "proves at another management API that a machine which was moved there has the VM.",
            maxLength=64,
        ),
    ] = ""


class ProxmoxVirtualMachineStatus(Model):
    """How far the VM is."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    node: Annotated[str, doc("The host that it is on, or was on last.", maxLength=63)] = ""
    phase: Annotated[
        str,
        doc(
            "How far it is: Reserved, Cloning, Present, Orphaned if its machine is gone and its host was off, "
            "Destroying, Abandoned if its machine was deleted without its VM.",
            maxLength=32,
        ),
    ] = ""
    task: Annotated[str, doc("The task of Proxmox VE that runs for it.", maxLength=512)] = ""
    message: Annotated[str, doc("What is waited for, or what went wrong.", maxLength=10240)] = ""
    boot_data_on: Annotated[
        tuple[str, ...],
        doc(
            "Hosts that the CD image with its boot data may be on, from before it is put there until it is known to be "
            "removed: those that the VM has left, too.",
            maxItems=100,
            list_type="set",
        ),
    ] = ()


class ProxmoxVirtualMachine(Resource):
    """The reservation of a VMID: which machine has it, and where its VM is. Made by Nagaya."""

    spec: Annotated[ProxmoxVirtualMachineSpec, doc("Who has the VMID.")]
    status: Annotated[ProxmoxVirtualMachineStatus, doc("How far the VM is.")] = ProxmoxVirtualMachineStatus()


def reservation_name(datacenter: str, vmid: int) -> str:
    """The name of the reservation of a VMID."""
    return f"{datacenter}-{vmid}"


PROXMOX_VIRTUAL_MACHINES: Final = Kind(
    GROUP, VERSION, "ProxmoxVirtualMachine", "proxmoxvirtualmachines", ProxmoxVirtualMachine, namespaced=False
)
DEFINITION: Final = Definition(
    PROXMOX_VIRTUAL_MACHINES,
    short_names=("moxvm",),
    categories=("cluster-api", "proxmox"),
    columns=(
        Column("VMID", ".spec.vmid", "integer", description="The VMID."),
        Column("Phase", ".status.phase", description="How far the VM is."),
        Column("Node", ".status.node", description="The host that the VM is on."),
        Column("Namespace", ".spec.machineRef.namespace", description="The namespace of its ProxmoxMachine."),
        Column("Machine", ".spec.machineRef.name", description="The ProxmoxMachine that it is for."),
        Column("Datacenter", ".spec.datacenter", priority=10, description="Which Proxmox VE it is on."),
        age("ProxmoxVirtualMachine"),
    ),
    labels=RESERVATION_LABELS,
)
