"""Boot data for Ignition: what the provider adds to the configuration that the bootstrap provider has made.

As CAPMOX: the host name, /etc/proxmox-env, name resolution and the network. The configuration keeps its version;
from version 3 on it has no section for the network, so there the units are files.
"""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote

from nagaya.foreign_answers import read_json
from nagaya.infrastructure.proxmox.boot.network import Network
from nagaya.infrastructure.proxmox.boot.networkd import units
from nagaya.infrastructure.proxmox.boot.nocloud import PROVIDER

_MODE: Final = 0o644
_RESOLVED: Final = "systemd-resolved.service"
_UNITS: Final = "/etc/systemd/network/"


class UnusableIgnition(ValueError):
    """Bootstrap data that are not an Ignition configuration; the message says why."""


def enriched(bootstrap: bytes, hostname: str, instance: str, network: Network) -> bytes:
    """The configuration for a machine."""
    config = _parsed(bootstrap)
    old = config["ignition"]["version"].startswith("2.")
    files = {"/etc/hostname": hostname, "/etc/proxmox-env": _environment(hostname, instance, network)}
    networkd = units(network)
    if old:
        of_network = _list(config, "networkd", "units")
        of_network += [{"name": name, "contents": contents} for name, contents in networkd.items()]
    else:
        files |= {f"{_UNITS}{name}": contents for name, contents in networkd.items()}
    _list(config, "storage", "files").extend(_file(path, contents, old) for path, contents in files.items())
    services = _list(config, "systemd", "units")
    if not any(each.get("name") == _RESOLVED for each in services):
        services.append({"name": _RESOLVED, "enable" if old else "enabled": True})
    return json.dumps(config, separators=(",", ":")).encode()


def _parsed(bootstrap: bytes) -> dict[str, Any]:
    try:
        config = read_json(bootstrap)
    except ValueError as error:
        raise UnusableIgnition(f"the bootstrap data are not an Ignition configuration: {error}") from error
    section = config.get("ignition") if isinstance(config, dict) else None
    version = section.get("version") if isinstance(section, dict) else None
    if not isinstance(version, str) or version.split(".")[0] not in ("2", "3"):
        raise UnusableIgnition(f"the bootstrap data are for Ignition version {version!r}; known are 2.x and 3.x")
    return dict(config)


def _list(config: dict[str, Any], section: str, name: str) -> list[Any]:
    within = config.get(section)
    if within is None:
        within = config[section] = {}
    if not isinstance(within, dict) or not isinstance(within.get(name, []), list | None):
        raise UnusableIgnition(f"the bootstrap data have something else than a list in {section}.{name}")
    if within.get(name) is None:
        within[name] = []
    listed: list[Any] = within[name]
    return listed


def _file(path: str, contents: str, old: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"path": path, "overwrite": True, "mode": _MODE}
    if old:
        made["filesystem"] = "root"
    return {**made, "contents": {"source": f"data:,{quote(contents, safe='')}"}}


def _environment(hostname: str, instance: str, network: Network) -> str:
    lines = [
        f"COREOS_CUSTOM_HOSTNAME={hostname}",
        f"COREOS_CUSTOM_INSTANCE_ID={instance}",
        f"COREOS_CUSTOM_PROVIDER_ID={PROVIDER}{instance}",
    ]
    lines += [
        f"COREOS_CUSTOM_PRIVATE_IPV{each.address.version}={each.address}"
        for nic in network.nics
        for each in nic.addresses
        if each.default
    ]
    return "\n".join(lines)
