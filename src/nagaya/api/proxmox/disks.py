"""The disks of a VM."""

from __future__ import annotations

from typing import Annotated

from nagaya.api.model import Model, doc, rule
from nagaya.api.proxmox.formats import DISK_SLOT, STORAGE

_FIXED = rule("self == oldSelf", "Value is immutable")


class BootVolume(Model):
    """The disk that the guest starts from, and how large it becomes."""

    disk: Annotated[str, doc("Where the template has it: scsi0, virtio0, sata0, ide0, ...", minLength=1, maxLength=16)]
    size_gb: Annotated[
        int,
        doc("Its size in GiB. Not less than in the template: Proxmox VE does not make disks smaller.", minimum=5),
    ]


class AdditionalVolume(Model):
    """A further disk, made empty for the machine. It is destroyed with the VM."""

    disk: Annotated[
        str,
        doc(
            "Where it is plugged in, for example scsi1: a place that the template leaves free.",
            minLength=4,
            maxLength=8,
            pattern=DISK_SLOT,
        ),
    ]
    size_gb: Annotated[int, doc("Its size in GiB.", minimum=1, maximum=131072)]
    storage: Annotated[
        str,
        doc(
            "The storage that it is on. That of the boot disk if left out.",
            minLength=2,
            maxLength=100,
            pattern=STORAGE,
        ),
    ] = ""
    format: Annotated[
        str | None,
        doc("Its format, on storages that have files. The storage chooses if left out.", enum=["raw", "qcow2", "vmdk"]),
    ] = None
    ssd: Annotated[bool | None, doc("Whether the guest takes it for one without moving parts.")] = None
    discard: Annotated[bool | None, doc("Whether space that the guest frees is given back to the storage.")] = None
    iothread: Annotated[
        bool | None, doc("Whether it has a thread of its own. With scsi this needs the controller virtio-scsi-single.")
    ] = None
    backup: Annotated[bool | None, doc("Whether backups of the VM contain it. They do if left out.")] = None


class Disks(Model):
    """What is done to the disks before the first start."""

    boot_volume: Annotated[
        BootVolume | None,
        doc("The disk to start from. It is as large as in the template if left out.", rules=[_FIXED]),
    ] = None
    additional_volumes: Annotated[
        tuple[AdditionalVolume, ...],
        doc(
            "Further disks, made empty.",
            minItems=1,
            maxItems=30,
            list_type="map",
            list_map_keys=["disk"],
            rules=[_FIXED],
        ),
    ] = ()
