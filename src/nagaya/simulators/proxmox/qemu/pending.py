"""What becomes of changes: at once on a stopped machine, and on a running one as far as QEMU can take them.

Changes that the drive with boot data does not know yet are remembered, so that a user sees that it needs to be made
anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.qemu.networks import is_network
from nagaya.simulators.proxmox.qemu.rights import CLOUDINIT_OPTIONS
from nagaya.simulators.proxmox.verification import split_list

FAST = frozenset(
    {
        "description", "hookscript", "lock", "migrate_downtime", "migrate_speed", "name", "onboot", "protection",
        "shares", "startup", "tags", "vmstatestorage", *CLOUDINIT_OPTIONS,
    }
)  # fmt: skip
"""Options that mean nothing to a running QEMU."""
_ALL_HOTPLUG = "network,disk,usb"
_COLD_DRIVE = frozenset(
    {"aio", "discard", "iothread", "queues", "product", "cache", "ssd", "vendor", "ro"},
)
"""Parts of a drive that QEMU cannot change while it runs."""
_AGENT_HOT = frozenset({"fstrim_cloned_disks"})


def is_fast(option: str) -> bool:
    """Whether a running machine need not hear of a change."""
    return option in FAST or options.family(option) == "ipconfig"


def hotplug(value: object) -> frozenset[str]:
    """What may be plugged in and out of a running machine."""
    text = "1" if value is None else str(value)
    if text == "0":
        return frozenset()
    return frozenset(split_list(_ALL_HOTPLUG if text == "1" else text))


def record(configuration: Configuration, option: str, old: object, new: object) -> None:
    """Note that the drive with boot data says something else than the options."""
    if not (option in CLOUDINIT_OPTIONS or option == "name" or options.family(option) in ("ipconfig", "net")):
        return
    known = configuration.cloudinit
    added = set(split_list(known.pop("added", "")))
    recorded = known.get(option)
    if new is not None:
        if recorded is not None:
            if str(new) == recorded:
                del known[option]
                added.discard(option)
        elif option not in added:
            if old is not None:
                known[option] = str(old)
            else:
                added.add(option)
    elif old is not None and recorded is None:
        if option in added:
            added.discard(option)
        else:
            known[option] = str(old)
    if added:
        known["added"] = ",".join(sorted(added))


def takes_deletion(option: str, section: Mapping[str, Any], features: frozenset[str]) -> bool:
    """Whether an option can go while the machine runs."""
    kind = options.family(option)
    if option == "hotplug":
        return not {"cpu", "memory"} & hotplug(section.get("hotplug"))
    if option == "tablet":
        return "usb" in features
    if kind == "usb":
        return _usb(section, features)
    if option == "vcpus":
        return "cpu" in features
    if option == "balloon":
        return str(section.get("balloon", "")) != "0"
    if is_network(option):
        return "network" in features
    if kind in ("scsi", "virtio"):
        return "disk" in features
    if option == "memory":
        return "memory" in features
    return option in ("cpuunits", "cpulimit") or is_fast(option)


def takes_change(option: str, section: Mapping[str, Any], new: Any, features: frozenset[str]) -> bool:
    """Whether an option that is no drive can change while the machine runs."""
    kind = options.family(option)
    if option == "hotplug":
        return not any(word in f"{new} {section.get('hotplug') or ''}" for word in ("memory", "cpu"))
    if option == "tablet":
        return "usb" in features
    if kind == "usb":
        return _usb(section, features)
    if option == "vcpus":
        return "cpu" in features
    if option == "balloon":
        return (str(section.get("balloon", 1)) != "0") == (str(new) != "0")
    if is_network(option):
        return _network(section.get(option), str(new), option, features)
    if option == "memory":
        return "memory" in features
    if option == "agent":
        return _agent(section.get("agent"), str(new))
    return option in ("cpuunits", "cpulimit")


def cold_drive_change(option: str, old: str, new: str) -> bool:
    """Whether a change to a disk that stays the same has to wait."""
    before, after = options.parts(option, old), options.parts(option, new)
    return any(before.get(part) != after.get(part) for part in _COLD_DRIVE)


def _usb(section: Mapping[str, Any], features: frozenset[str]) -> bool:
    system = str(section.get("ostype", ""))
    return "usb" in features and (system == "l26" or system in ("win8", "win10", "win11"))


def _network(old: object, new: str, option: str, features: frozenset[str]) -> bool:
    if old is not None:
        before, after = options.parts(option, str(old)), options.parts(option, new)
        same = all(before.get(part) == after.get(part) for part in ("model", "macaddr", "queues", "mtu"))
        if same and before.get("bridge") and after.get("bridge"):
            return True
    return "network" in features


def _agent(old: object, new: str) -> bool:
    if not old:
        return False
    before, after = _agent_parts(str(old)), _agent_parts(new)
    return all(before.get(part) == after.get(part) for part in {*before, *after} - _AGENT_HOT)


def _agent_parts(text: str) -> Mapping[str, Any]:
    """How an agent is to be used; of one that is not to be used nothing else matters."""
    parts = options.parts("agent", text)
    return parts if parts.get("enabled") else {}
