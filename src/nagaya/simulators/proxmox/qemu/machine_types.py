"""Types of virtual hardware: which parts of an option `machine` fit together, and which versions a host can run.

A version is that of QEMU, with PVE's own revision behind it: `pc-i440fx-10.0+pve1`. Windows takes another version for
another computer, so machines for it are tied to the one that was current when they were made.
"""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.identity import QEMU_VERSION
from nagaya.simulators.proxmox.tasks.runner import Log

_VERSIONED = re.compile(r"(?:pc(?:-i440fx|-q35)?|virt)-(\d+)\.(\d+)(?:\.\d+)?(?:\+pve(\d+))?(?:\.pxe)?")
_REVISIONS = {(4, 1): 2, (9, 2): 1, (10, 0): 1}
"""The newest of PVE's revisions of those versions of QEMU that have any."""
_FAMILIES = {"pc": "pc-i440fx", "q35": "pc-q35", "virt": "virt"}
_DEFAULTS = {"x86_64": "pc", "aarch64": "virt"}
_SHOWS_CLIPBOARD = re.compile(r"(?:std|cirrus|vmware|virtio|qxl)")


def is_windows(system: object) -> bool:
    """Whether an option `ostype` names one of the versions of Windows."""
    return str(system or "").startswith("w")


def running_type(kind: str | None = None) -> str:
    """What a machine of a type runs as, e.g. `pc-i440fx-10.0+pve1` if the type names no version."""
    if kind and _VERSIONED.fullmatch(kind):
        return kind if "+pve" in kind else f"{kind}+pve0"
    return f"{_FAMILIES.get(kind or 'pc', 'pc-i440fx')}-{_newest()}"


def check_machine(value: object) -> None:
    """Refuse an option `machine` whose parts do not fit together."""
    parts = options.parts("machine", str(value)) if value else {}
    width, iommu, kind = parts.get("aw-bits"), parts.get("viommu"), str(parts.get("type") or "")
    if iommu == "intel":
        if "q35" not in kind:
            raise Failure("to use Intel vIOMMU please set the machine type to q35\n")
        if width and float(str(width)) not in (39, 48):
            raise Failure("Intel vIOMMU supports only 39 or 48 bits as address width\n")
    if width and not iommu:
        raise Failure("cannot set aw-bits if no vIOMMU is configured\n")


def check_clipboard(vga: object) -> None:
    """Refuse an option `vga` whose display has no clipboard."""
    parts = options.parts("vga", str(vga)) if vga else {}
    kind = str(parts.get("type") or "")
    if parts.get("clipboard") == "vnc" and kind and not _SHOWS_CLIPBOARD.match(kind):
        raise Failure(f"vga type {kind} is not compatible with VNC clipboard\n")


def pinned(value: object, system: object, log: Log, arch: object = None) -> str:
    """The option `machine` that a new machine gets; empty if it needs none."""
    parts = options.parts("machine", str(value)) if value else {}
    kind = parts.get("type")
    if is_windows(system) and (not kind or kind in _FAMILIES):
        family = _FAMILIES[str(kind) if kind else _DEFAULTS[str(arch or "x86_64")]]
        parts["type"] = f"{family}-{_newest()}"
        log.say(f"pinning machine type to '{parts['type']}' for Windows guest OS")
    text = options.joined("machine", parts) if parts else ""
    check_machine(text)
    return text


def check_version(kind: str, node: str) -> None:
    """Refuse a type that is newer than what the host has."""
    if (found := _VERSIONED.fullmatch(kind)) is None:
        return
    version, revision = (int(found[1]), int(found[2])), int(found[3] or 0)
    shown = kind if found[3] is not None else f"{kind}+pve0"
    major, minor, *_ = QEMU_VERSION.split(".")
    if version > (int(major), int(minor)):
        raise Failure(
            f"Installed QEMU version '{QEMU_VERSION}' is too old to run machine type '{shown}',"
            f" please upgrade node '{node}'\n"
        )
    if revision > (known := _REVISIONS.get(version, 0)):
        raise Failure(
            f"Installed qemu-server (max feature level for {found[1]}.{found[2]} is pve{known}) is too old to run"
            f" machine type '{shown}', please upgrade node '{node}'\n"
        )


def _newest() -> str:
    major, minor, *_ = QEMU_VERSION.split(".")
    revision = _REVISIONS.get((int(major), int(minor)), 0)
    return f"{major}.{minor}" + (f"+pve{revision}" if revision else "")
