"""What a VM is made of, beside disks and network. What is left out is as in the template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from nagaya.api.model import Model, doc, rule
from nagaya.api.proxmox.formats import STORAGE


class Cpu(Model):
    """The processors of a VM."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    type: Annotated[
        str,
        doc(
            "What the guest takes them for: host, x86-64-v2-AES, ... VMs with host can only move between hosts with "
            "the same processors.",
            minLength=1,
            maxLength=64,
            pattern=r"^[a-zA-Z0-9\-_.]+$",
        ),
    ] = ""
    limit_percent: Annotated[
        int | None,
        doc(
            "How much of the host they may use, in percent of one core: 150 is one and a half.",
            minimum=1,
            maximum=12800,
        ),
    ] = None
    units: Annotated[
        int | None,
        doc(
            "The weight of the VM when processors are scarce. Others have 100 unless they say otherwise.",
            minimum=1,
            maximum=262144,
        ),
    ] = None
    numa: Annotated[bool | None, doc("Whether the guest sees which memory is near which processors.")] = None


class Balloon(Model):
    """Memory that the host may take back while the guest does not need it."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "rules": [
            rule(
                "!has(self.enabled) || self.enabled || !has(self.minimumMiB) && !has(self.shares)",
                "minimumMiB and shares have no meaning without ballooning: leave them out or set enabled to true",
            )
        ]
    }

    enabled: Annotated[
        bool | None, doc("Whether there is ballooning. Kubernetes counts on its memory, so false is the safe choice.")
    ] = None
    minimum_mib: Annotated[
        int | None,
        doc("What the guest keeps at least, in MiB. Not more than memoryMiB.", minimum=16),
    ] = msgspec.field(default=None, name="minimumMiB")
    shares: Annotated[int | None, doc("The weight of the VM when memory is scarce.", minimum=0, maximum=50000)] = None


class EfiDisk(Model):
    """Where the settings of the firmware are kept."""

    storage: Annotated[str, doc("The storage that it is on.", minLength=2, maxLength=100, pattern=STORAGE)]
    type: Annotated[str | None, doc("Its size: 4m is what new systems have.", enum=["2m", "4m"])] = None
    pre_enrolled_keys: Annotated[
        bool | None, doc("Whether it comes with the usual keys, with Secure Boot turned on.")
    ] = None


class Firmware(Model):
    """What starts the guest."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "minProperties": 1,
        "rules": [
            rule(
                "!has(self.efiDisk) || has(self.bios) && self.bios == 'ovmf'",
                "efiDisk is for UEFI: set bios to ovmf, or leave efiDisk out",
            )
        ],
    }

    bios: Annotated[str | None, doc("The firmware: seabios, or ovmf for UEFI.", enum=["seabios", "ovmf"])] = None
    machine: Annotated[
        str,
        doc(
            "The board that is emulated, for example q35, which devices of PCI Express need.",
            minLength=1,
            maxLength=64,
            pattern=r"^[a-zA-Z0-9\-_.+]+$",
        ),
    ] = ""
    efi_disk: Annotated[EfiDisk | None, doc("Where the settings of UEFI are kept.")] = None


class PciDevice(Model):
    """A device of the host that the VM has for itself."""

    mapping: Annotated[
        str,
        doc(
            "The resource mapping of the data center that says which device it is on which host. Only hosts in it can "
            "have the VM.",
            minLength=2,
            maxLength=128,
            pattern=r"^[a-zA-Z][a-zA-Z0-9\-_]*[a-zA-Z0-9]$",
        ),
    ]
    pcie: Annotated[bool | None, doc("Whether it is one of PCI Express, for which the machine must be q35.")] = None
    primary_gpu: Annotated[bool | None, doc("Whether it is the screen of the VM.")] = None
    rom_bar: Annotated[bool | None, doc("Whether the guest sees its ROM. It does if left out.")] = None
    mdev: Annotated[
        str, doc("The kind of mediated device to make of it, for example nvidia-63.", minLength=1, maxLength=128)
    ] = ""
