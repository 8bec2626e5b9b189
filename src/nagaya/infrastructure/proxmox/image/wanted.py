"""What a run is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.api.proxmox.formats import FIRST_VMID, LAST_VMID
from nagaya.infrastructure.proxmox.image.image import Image

DEFAULT_RANGE: Final = range(9000, 10000)
"""Where people keep templates, away from the numbers that Proxmox VE gives out first."""
DEFAULT_BRIDGE: Final = "vmbr0"
DEFAULT_CPU: Final = "x86-64-v2-AES"
"""What PVE's own wizard takes: machines can move between hosts of the last fifteen years."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """What machines from the template have if they say nothing themselves."""

    cpu: str = DEFAULT_CPU
    cores: int = 2
    memory: int = 2048
    """MiB."""
    bridge: str = DEFAULT_BRIDGE


@dataclass(frozen=True, slots=True)
class Wanted:
    """An image, and where it is to be. What is empty is chosen."""

    image: Image
    storage: str = ""
    import_storage: str = ""
    hosts: tuple[str, ...] = ()
    pool: str = ""
    vmids: range = DEFAULT_RANGE
    hardware: Hardware = Hardware()
    enable_import: bool = False
    """Whether a storage may be made to take images if none does."""
    keep_file: bool = False
    """Whether the file stays that was downloaded."""
    verify: bool = True
    """Whether hosts look at the certificate of the image's server."""


def vmid_range(text: str) -> range:
    """From `9000-9099`, or one number. Raises ValueError with a sentence."""
    first, hyphen, last = text.strip().partition("-")
    try:
        found = range(int(first), int(last if hyphen else first) + 1)
    except ValueError:
        raise ValueError(f"{text!r} is no range of VMIDs: write it as 9000-9099") from None
    if not found or found[0] < FIRST_VMID or found[-1] > LAST_VMID:
        raise ValueError(f"{text!r} is no range of VMIDs: they go from {FIRST_VMID} to {LAST_VMID}")
    return found
