"""Devices of a host that a machine uses: some tie it to the host, those with a mapping can be found on others too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.configuration import Configuration

_OLD_USB_PORTS = 5
_DEVICES = ("usb", "hostpci", "serial", "parallel", "virtiofs")


@dataclass(frozen=True, slots=True)
class Mapped:
    """A device that is known by the name of its mapping."""

    name: str
    nodes: frozenset[str]
    """Hosts that have one."""
    live: bool = False
    """Whether a running machine can take it along."""

    def shown(self) -> dict[str, Any]:
        """As the preconditions of a migration tell it."""
        return {"name": self.name, "live-migration": 1} if self.live else {"name": self.name}


def mapped_resources(configuration: Configuration, mappings: Mapping[str, Any]) -> dict[str, Mapped]:
    """The mapped devices of a machine, by option. Of mappings the data center keeps those of PCI devices."""
    found: dict[str, Mapped] = {}
    for option, value in configuration.options.items():
        kind = options.family(option)
        if kind not in ("usb", "hostpci", "virtiofs") or kind == option:
            continue
        parts = options.parts(option, str(value))
        name = parts.get("dirid") if kind == "virtiofs" else parts.get("mapping")
        if not name:
            continue
        known = mappings.get(str(name), {}) if kind == "hostpci" else {}
        places = [options.listed(str(place)) for place in known.get("map", [])]
        live = str(known.get("live-migration-capable", 0)) in ("1", "True")
        found[option] = Mapped(str(name), frozenset(place.get("node", "") for place in places), live)
    return found


def local_resources(configuration: Configuration, mappings: Mapping[str, Any], *, running: bool) -> list[str]:
    """What speaks against a migration, devices with a mapping included where a running machine would lose them."""
    section, mapped = configuration.options, mapped_resources(configuration, mappings)
    shares = any(options.family(name) == "virtiofs" for name in section)
    found = [name for name, there in (("amd-sev", section.get("amd-sev")), ("virtiofs", shares)) if running and there]
    found += ["ivshmem"] if section.get("ivshmem") else []
    for name in sorted(section):
        kind = options.family(name)
        if kind not in _DEVICES or name == kind or (kind == "serial" and section[name] == "socket"):
            continue
        if kind == "usb" and str(options.parts(name, str(section[name])).get("host", "")).lower() == "spice":
            continue
        if kind == "hostpci" and name in mapped and (mapped[name].live or not running):
            continue
        found.append(name)
    return found


def check_devices(configuration: Configuration, mappings: Mapping[str, Any], node: str) -> None:
    """Refuse to start a machine whose devices the host does not have. Those named by their address it has."""
    section, mapped = configuration.options, mapped_resources(configuration, mappings)
    modern = section.get("ostype") in ("l26", "win8", "win10", "win11")
    for name in sorted(name for name in section if options.family(name) == "usb" != name):
        if int(name.removeprefix("usb")) >= _OLD_USB_PORTS and not modern:
            raise Failure(f"using {name} is only possible with machine type >= 7.1 and ostype l26 or windows > 7\n")
    for kind, told in (("hostpci", "PCI"), ("usb", "USB")):
        for name in sorted(name for name in section if options.family(name) == kind != name):
            given = options.parts(name, str(section[name]))
            if kind == "hostpci" and (given.get("host") is None) == (given.get("mapping") is None):
                both = given.get("host") is not None
                refused = "Cannot set both 'host' and 'mapping'." if both else "Either 'host' or 'mapping' must be set."
                raise Failure(f"{refused}\n")
            if name in mapped and node not in mapped[name].nodes:
                raise Failure(f"{told} device mapping not found for '{mapped[name].name}'\n")
