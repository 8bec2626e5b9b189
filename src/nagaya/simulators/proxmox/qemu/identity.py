"""What tells one machine from another: identifiers that a clone must not share with its original."""

from __future__ import annotations

from nagaya.simulators.proxmox.qemu import options
from nagaya.world import World

QEMU_VERSION = "10.0.13"


def smbios(world: World, text: str = "") -> str:
    """An option `smbios1` with a new identifier."""
    found = options.parts("smbios1", text) if text else {}
    return options.joined("smbios1", {**found, "uuid": world.uid()})


def birth(world: World) -> str:
    """An option `meta`: when a machine was made, and by which version."""
    return f"creation-qemu={QEMU_VERSION},ctime={int(world.clock.now().timestamp())}"
