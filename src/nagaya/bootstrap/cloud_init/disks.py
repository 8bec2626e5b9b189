"""Partitions and file systems as `disk_setup` and `fs_setup`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nagaya.api.bootstrap.disks import PARTITION_TYPES, Filesystem, Partition, PartitionSpec


def disk_setup(partitions: Iterable[Partition]) -> dict[str, dict[str, Any]]:
    """How disks are divided, by device."""
    return {each.device: _disk(each) for each in partitions}


def fs_setup(filesystems: Iterable[Filesystem]) -> list[dict[str, Any]]:
    """The file systems to make."""
    return [_filesystem(each) for each in filesystems]


def _disk(partition: Partition) -> dict[str, Any]:
    found: dict[str, Any] = {"table_type": partition.table_type} if partition.table_type else {}
    found["layout"] = [_share(each) for each in partition.disk_layout] or bool(partition.layout)
    return found if partition.overwrite is None else {**found, "overwrite": partition.overwrite}


def _share(part: PartitionSpec) -> int | list[int | str]:
    if not part.partition_type:
        return part.percentage
    return [part.percentage, _number(PARTITION_TYPES.get(part.partition_type, part.partition_type))]


def _filesystem(filesystem: Filesystem) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "label": filesystem.label,
        "filesystem": filesystem.filesystem,
        "device": filesystem.device,
        "partition": _number(filesystem.partition),
        "overwrite": filesystem.overwrite,
        "replace_fs": filesystem.replace_fs,
        "extra_opts": list(filesystem.extra_opts),
    }
    return {name: value for name, value in fields.items() if value or value is False}


def _number(text: str) -> int | str:
    """cloud-init's schema wants numbers as such; with a zero in front it is a code whose digits all count."""
    return int(text) if text.isascii() and text.isdigit() and not text.startswith("0") else text
