"""Partitions and file systems as Ignition has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nagaya.api.bootstrap.disks import Filesystem, Partition
from nagaya.bootstrap.refusal import Refused

FORMATS: Final = ("ext4", "btrfs", "xfs", "swap", "vfat")
_SETUP: Final = "spec.diskSetup"


def disks(partitions: Sequence[Partition]) -> list[dict[str, Any]]:
    """How disks are divided."""
    return [_disk(each, f"{_SETUP}.partitions[{index}]") for index, each in enumerate(partitions)]


def filesystems(found: Sequence[Filesystem]) -> list[dict[str, Any]]:
    """The file systems to make."""
    return [_filesystem(each, f"{_SETUP}.filesystems[{index}]") for index, each in enumerate(found)]


def _disk(partition: Partition, field: str) -> dict[str, Any]:
    if partition.disk_layout:
        raise Refused(
            f"{field}.diskLayout",
            "Ignition divides disks by sizes and knows no shares",
            "Use layout, or storage.disks in spec.ignition.containerLinuxConfig.additionalConfig",
        )
    disk: dict[str, Any] = {"device": partition.device}
    if partition.overwrite:
        disk["wipeTable"] = True
    if partition.layout:
        disk["partitions"] = [{}]
    return disk


def _filesystem(filesystem: Filesystem, field: str) -> dict[str, Any]:
    if filesystem.filesystem not in FORMATS:
        raise Refused(
            f"{field}.filesystem", "Ignition cannot make such a file system", f"Use one of {', '.join(FORMATS)}"
        )
    mount: dict[str, Any] = {"device": filesystem.device, "format": filesystem.filesystem}
    if filesystem.overwrite:
        mount["wipeFilesystem"] = True
    if filesystem.label:
        mount["label"] = filesystem.label
    if filesystem.extra_opts:
        mount["options"] = list(filesystem.extra_opts)
    return {"name": filesystem.label, "mount": mount} if filesystem.label else {"mount": mount}
