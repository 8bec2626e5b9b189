"""Drives: disks, CD-ROMs and the small drive with boot data, each an option: `scsi0: store:100/vm-100-disk-0.raw`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache

from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.storages.volume_name import split_id
from nagaya.simulators.proxmox.surface import Schema
from nagaya.simulators.proxmox.verification import FormatError, parse_size, render

Value = str | int | bool | None
CLOUDINIT_SIZE = 4 << 20
TPM_SIZE = 4 << 20
EFI_SIZE = 528 << 10
"""Bytes of the variables of a 4m firmware; PVE copies its template, whatever size was asked for."""
OLD_EFI_SIZE = 128 << 10
BUSES = ("ide", "scsi", "virtio", "sata", "efidisk", "tpmstate")
"""In the order in which PVE goes through them."""
NEW_DISK = re.compile(r"(?:([^/:\s]+):)?(\d+(?:\.\d+)?)")
"""`store:32` asks for a new disk of 32 GiB."""

_COUNT = {"ide": 4, "scsi": 31, "virtio": 16, "sata": 6, "efidisk": 1, "tpmstate": 1}
_CLOUDINIT = re.compile(r"[:/](?:vm-\d+-)?cloudinit(?:\.(?:qcow2|qcow|qed|raw|vmdk|cloop))?$")
_REQUIREMENTS = (
    ("mbps_max", "mbps"), ("mbps_rd_max", "mbps_rd"), ("mbps_wr_max", "mbps_wr"),
    ("bps_max_length", "mbps_max"), ("bps_rd_max_length", "mbps_rd_max"), ("bps_wr_max_length", "mbps_wr_max"),
    ("iops_max_length", "iops_max"), ("iops_rd_max_length", "iops_rd_max"), ("iops_wr_max_length", "iops_wr_max"),
)  # fmt: skip
_CONFLICTS = (("mbps_rd", "mbps"), ("mbps_wr", "mbps"), ("iops_rd", "iops"), ("iops_wr", "iops"))


@lru_cache(maxsize=1024)
def is_drive(option: str) -> bool:
    """Whether an option is a drive; `unused0` is none."""
    found = options.NUMBERED.fullmatch(option)
    return found is not None and int(found[2]) < _COUNT.get(found[1], 0) and found[2] == str(int(found[2]))


@dataclass(slots=True)
class Drive:
    """A drive, taken apart."""

    key: str
    values: dict[str, Value] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The volume, or `none`, `cdrom`, a path, or a wish such as `store:32`."""
        return str(self.values.get("file") or "")

    @file.setter
    def file(self, volume: str) -> None:
        self.values["file"] = volume

    @property
    def size(self) -> int | None:
        """Bytes, as the configuration says."""
        size = self.values.get("size")
        return size if isinstance(size, int) else None

    @property
    def cdrom(self) -> bool:
        """Whether it is a CD-ROM or the drive with boot data."""
        return self.values.get("media") == "cdrom"

    @property
    def cloudinit(self) -> bool:
        """Whether it is, or is to be, the drive with boot data."""
        return _CLOUDINIT.search(self.file) is not None

    @property
    def plain_cdrom(self) -> bool:
        """Whether it is a CD-ROM and not the drive with boot data."""
        return self.cdrom and not self.cloudinit

    @property
    def bus(self) -> str:
        """ide, scsi, ..."""
        return options.family(self.key)

    @property
    def order(self) -> tuple[int, int]:
        """Its place among all drives."""
        number = self.key.removeprefix(self.bus)
        return BUSES.index(self.bus) if self.bus in BUSES else len(BUSES), int(number or 0)

    @property
    def storage(self) -> str | None:
        """The storage of its volume."""
        found = split_id(self.file)
        return found[0] if found else None

    @property
    def wish(self) -> tuple[str | None, str] | None:
        """Storage and GiB of a disk that is to be made."""
        found = NEW_DISK.fullmatch(self.file)
        return (found[1], found[2]) if found else None

    def text(self) -> str:
        """The option. PVE writes it without looking at what kind of drive it is, also what it would not read again."""
        return render(self.values, _any())


@cache
def _any() -> Schema:
    """What drives of all kinds can have."""
    kinds = [options.schemas()[f"{bus}0"].format for bus in BUSES]
    parts = {name: part for kind in kinds if isinstance(kind, Schema) for name, part in kind.properties.items()}
    return Schema(type="object", properties=parts)


def parse_drive(key: str, text: str) -> Drive | None:
    """A drive out of an option; None if PVE would not take it."""
    values = _values(key, text)
    return None if values is None else Drive(key, dict(values))


@lru_cache(maxsize=8192)
def _values(key: str, text: str) -> tuple[tuple[str, Value], ...] | None:
    """What is in a drive. Hosts read the same few texts again and again, for every report and every list."""
    try:
        found = options.parts(key, text)
    except (FormatError, KeyError):
        return None
    values: dict[str, Value] = dict(found)
    for option in ("bps", "bps_rd", "bps_wr"):
        if values.pop(option, None) is not None:
            if f"m{option}" in values:
                return None
            # PVE divides not the number, but whether there is one.
            values[f"m{option}"] = "0.000"
    if any(values.get(option) and not values.get(needed) for option, needed in _REQUIREMENTS):
        return None
    if any(values.get(one) and values.get(other) for one, other in _CONFLICTS):
        return None
    drive = Drive(key, values)
    if drive.cdrom and (
        drive.bus == "virtio"
        or any(values.get(name) for name in ("snapshot", "trans", "format", "heads", "secs", "cyls"))
    ):
        return None
    if (size := values.get("size")) is not None:
        values["size"] = parse_size(str(size))
        if values["size"] is None:
            return None
    return tuple(values.items())


def gibibytes(text: str) -> int:
    """Bytes of a number of GiB; PVE rounds up to KiB."""
    return -(-int(float(text) * (1 << 30)) // 1024) * 1024
