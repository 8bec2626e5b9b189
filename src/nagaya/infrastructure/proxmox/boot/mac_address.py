"""Hardware addresses made from who a machine is.

A machine that is made again has the same one, so what a DHCP server has reserved for it stays right. With the prefix of
Proxmox VE 24 bits are left, too few to rely on chance: among a thousand machines two are alike in 3 cases of 100.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from typing import Final

PREFIX: Final = "BC:24:11"
"""What Proxmox VE begins its own with."""
_PREFIX: Final = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){2}")
_FEW: Final = 1000


def derived(identity: str, device: str, taken: Collection[str] = (), prefix: str = PREFIX) -> str:
    """The hardware address of a machine's device. It is none of those that others have (`taken`, in any case)."""
    if not _PREFIX.fullmatch(prefix) or int(prefix[:2], 16) & 1:
        raise ValueError(f"{prefix} is not the beginning of a device's hardware address: three bytes, the first even")
    others = {each.upper() for each in taken}
    for attempt in range(_FEW):
        digest = hashlib.sha256("\0".join((identity, device, str(attempt))).encode()).hexdigest()
        made = f"{prefix}:{digest[0:2]}:{digest[2:4]}:{digest[4:6]}".upper()
        if made not in others:
            return made
    raise ValueError(f"{_FEW} hardware addresses for {device} were tried and others have them all")
