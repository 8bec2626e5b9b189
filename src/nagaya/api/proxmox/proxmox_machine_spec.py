"""What a machine on Proxmox VE is to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from nagaya.api.model import Model, doc, rule
from nagaya.api.proxmox.disks import Disks
from nagaya.api.proxmox.formats import FIRST_VMID, LAST_VMID, PROVIDER_ID, HostName, Tag
from nagaya.api.proxmox.hardware import Balloon, Cpu, Firmware, PciDevice
from nagaya.api.proxmox.life import BootDelivery, DeletionPolicy, Timeouts
from nagaya.api.proxmox.network import NetworkSpec
from nagaya.api.proxmox.placement import HighAvailability, Placement
from nagaya.api.proxmox.template_source import CLONE_RULES, CloneSpec


class VmIdRange(Model):
    """The VMIDs that may be used."""

    start: Annotated[int, doc("The first VMID.", format="int64", minimum=FIRST_VMID, maximum=LAST_VMID)]
    end: Annotated[int, doc("The last VMID.", format="int64", minimum=FIRST_VMID, maximum=LAST_VMID)]


class Checks(Model):
    """What is not waited for."""

    skip_cloud_init_status: Annotated[
        bool | None, doc("Whether the machine is ready before cloud-init says that it is done; Talos has none.")
    ] = None
    skip_qemu_guest_agent: Annotated[
        bool | None, doc("Whether the machine is ready before the guest agent answers; some systems have none.")
    ] = None


class MetadataSettings(Model):
    """What the guest is told of itself."""

    provider_id_injection: Annotated[
        bool, doc("Whether the metadata of cloud-init has the provider ID, as provider-id.")
    ] = msgspec.field(name="providerIDInjection")


class ProxmoxMachineSpec(CloneSpec):
    """What a machine is to be."""

    __schema__: ClassVar[Mapping[str, object]] = {"rules": list(CLONE_RULES)}

    provider_id: Annotated[
        str,
        doc(
            "How Proxmox VE calls the machine: proxmox:// and the UUID of the VM. It is filled in.",
            pattern=PROVIDER_ID,
            maxLength=46,
        ),
    ] = msgspec.field(default="", name="providerID")
    virtual_machine_id: Annotated[int | None, doc("The VMID of the machine. It is filled in.", format="int64")] = (
        msgspec.field(default=None, name="virtualMachineID")
    )
    num_sockets: Annotated[
        int | None, doc("How many sockets for processors. As in the template if left out.", minimum=1)
    ] = None
    num_cores: Annotated[
        int | None, doc("How many cores in each socket. As in the template if left out.", minimum=1)
    ] = None
    memory_mib: Annotated[int | None, doc("How much memory, in MiB. As in the template if left out.", multipleOf=8)] = (
        msgspec.field(default=None, name="memoryMiB")
    )
    disks: Annotated[Disks | None, doc("What is done to the disks before the first start.")] = None
    network: Annotated[NetworkSpec | None, doc("The network of the VM.", required=True)] = None
    vm_id_range: Annotated[
        VmIdRange | None,
        doc(
            "The VMIDs that the machine may get. Any free one if left out.",
            rules=[rule("self.end >= self.start", "end should be greater than or equal to start")],
        ),
    ] = msgspec.field(default=None, name="vmIDRange")
    checks: Annotated[Checks | None, doc("What is not waited for.")] = None
    metadata_settings: Annotated[MetadataSettings | None, doc("What the guest is told of itself.")] = None
    allowed_nodes: Annotated[
        tuple[HostName, ...],
        doc("The hosts that may have the machine. Those of the cluster if left out.", maxItems=128, list_type="set"),
    ] = ()
    tags: Annotated[
        tuple[Tag, ...], doc("Tags of the VM. They cannot change.", minItems=1, maxItems=64, list_type="set")
    ] = ()
    failure_domain: Annotated[
        str,
        doc(
            "The failure domain of the cluster that the machine is to be in. That of its Machine goes before it.",
            minLength=1,
            maxLength=256,
        ),
    ] = ""
    cpu: Annotated[Cpu | None, doc("More about the processors.")] = None
    balloon: Annotated[Balloon | None, doc("Memory that the host may take back.")] = None
    firmware: Annotated[Firmware | None, doc("What starts the guest.")] = None
    pci_devices: Annotated[
        tuple[PciDevice, ...],
        doc("Devices of the host that the VM has for itself.", minItems=1, maxItems=16, list_type="atomic"),
    ] = ()
    ha: Annotated[HighAvailability | None, doc("What the HA manager of Proxmox VE does for the VM.")] = None
    placement: Annotated[Placement | None, doc("Rules for the choice of a host.")] = None
    boot_delivery: Annotated[BootDelivery | None, doc("How the boot data gets into the VM.")] = None
    deletion_policy: DeletionPolicy = None
    timeouts: Annotated[Timeouts | None, doc("After how long a step counts as failed.")] = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that may have the machine, none if it does not say."""
        return (self.target,) if self.target else self.allowed_nodes
