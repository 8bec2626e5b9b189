"""Partitions and file systems that are made before kubeadm runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.model import Model, doc, rule

TABLE_TYPES: Final = ("mbr", "gpt")
PARTITION_TYPES: Final[Mapping[str, str]] = {
    "Linux": "83",
    "LinuxSwap": "82",
    "LinuxRAID": "fd",
    "LVM": "8e",
    "Fat32": "0c",
    "NTFS": "07",
    "LinuxExtended": "85",
}
"""The code that cloud-init knows each named type by."""

_PARTITION_TYPE_PATTERN: Final = (
    "^(" + "|".join(PARTITION_TYPES) + "|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$"
)


class PartitionSpec(Model):
    """One partition of a disk."""

    percentage: Annotated[
        int, doc("How much of the disk it takes. All together must not exceed 100.", minimum=1, maximum=100)
    ]
    partition_type: Annotated[
        str,
        doc(
            "What the partition is for: Linux, LinuxSwap, LinuxRAID, LVM, Fat32, NTFS, LinuxExtended, or the GUID of "
            "a GPT partition type. Linux if left out.",
            minLength=1,
            maxLength=36,
            rules=[
                rule(
                    f"self.matches('{_PARTITION_TYPE_PATTERN}')",
                    "must be the GUID of a GPT partition type or one of " + ", ".join(PARTITION_TYPES),
                )
            ],
        ),
    ] = ""


class Partition(Model):
    """How a disk is divided."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "rules": [
            rule(
                "[has(self.layout),has(self.diskLayout)].filter(x,x==true).size() == 1",
                "set either layout or diskLayout",
            )
        ]
    }

    device: Annotated[str, doc("The disk, such as /dev/sdb.", minLength=1, maxLength=256)]
    layout: Annotated[
        bool | None,
        doc("True makes one partition of the whole disk, false leaves the disk alone. Excludes diskLayout."),
    ] = None
    overwrite: Annotated[
        bool | None,
        doc("If true, the disk is divided even if there is something on it, which is lost. False if left out."),
    ] = None
    table_type: Annotated[
        str, doc("Format of the partition table: mbr or gpt. mbr if left out.", enum=list(TABLE_TYPES))
    ] = ""
    disk_layout: Annotated[
        tuple[PartitionSpec, ...],
        doc(
            "The partitions, in their order on the disk. Excludes layout.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = ()


class Filesystem(Model):
    """A file system to make."""

    device: Annotated[str, doc("The disk, such as /dev/sdb.", minLength=1, maxLength=256)]
    filesystem: Annotated[str, doc("Type of the file system, such as ext4.", minLength=1, maxLength=128)]
    label: Annotated[
        str, doc("Its label, by which mounts can name it. None means no label.", minLength=1, maxLength=512)
    ] = ""
    partition: Annotated[
        str,
        doc(
            "Where on the disk: the number of a partition, auto, any, auto|any, or none for the whole disk.",
            minLength=1,
            maxLength=128,
        ),
    ] = ""
    overwrite: Annotated[
        bool | None,
        doc("If true, a file system that is there already is replaced, and its content lost. False if left out."),
    ] = None
    replace_fs: Annotated[
        str,
        doc(
            "Replace a file system of this type only; meant for Azure. Needs a label or the partition 'any'.",
            minLength=1,
            maxLength=128,
        ),
    ] = msgspec.field(name="replaceFS", default="")
    extra_opts: Annotated[
        tuple[Annotated[str, doc("An option.", minLength=1, maxLength=256)], ...],
        doc("Further options of the command that makes the file system.", list_type="atomic", maxItems=100),
    ] = ()


class DiskSetup(Model):
    """What is done to the disks of a machine."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    partitions: Annotated[tuple[Partition, ...], doc("How disks are divided.", list_type="atomic", maxItems=100)] = ()
    filesystems: Annotated[tuple[Filesystem, ...], doc("File systems to make.", list_type="atomic", maxItems=100)] = ()
