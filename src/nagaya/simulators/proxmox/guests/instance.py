"""What boot data tell a machine about itself, first of all as which instance they are meant: cloud-init does everything
anew for one that it does not know."""

from __future__ import annotations

import yaml

from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from nagaya.wire import bounded_yaml


def meta_data(data: BootData) -> dict[str, str]:
    """What a machine is told about itself, under the names that cloud-init has for it."""
    try:
        given = bounded_yaml.load(data.meta)
    except yaml.YAMLError:
        given = None
    plain = given if isinstance(given, dict) else {}
    found = {str(key): str(value) for key, value in plain.items() if isinstance(value, str | int | float)}
    if "uuid" in found:
        found.setdefault("instance-id", found["uuid"])
    if "hostname" in found:
        found.setdefault("local-hostname", found["hostname"])
    found.setdefault("instance-id", "nocloud")
    return found


def instance_of(data: BootData) -> str:
    """The instance that they are for."""
    return meta_data(data)["instance-id"]
