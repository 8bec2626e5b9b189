"""The files of a NoCloud seed, by which cloud-init (and Flatcar's Ignition) knows a machine from its first start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import yaml

from nagaya.infrastructure.proxmox.boot.netplan import network_config
from nagaya.infrastructure.proxmox.boot.network import Network

LABEL: Final = "cidata"
PROVIDER: Final = "proxmox://"
NO_NETWORK: Final = b"version: 1\nconfig: []\n"
"""For guests that are told their network in another way."""


def node_ip(network: Network) -> str:
    """The addresses that the machine is known by, one of each family, joined by a comma. Empty if DHCP gives them.

    Kubelets are told it: one that has to guess may take an address that the machine only holds for others."""
    fixed = [each for nic in network.nics for each in nic.addresses]
    own = [each for each in fixed if each.default] or fixed[:1]
    found: dict[int, str] = {}
    for each in own:
        found.setdefault(each.address.version, str(each.address.ip))
    return ",".join(found[version] for version in sorted(found))


def meta_data(
    instance: str,
    hostname: str,
    kubernetes_version: str = "",
    provider_id: bool = False,
    node_ip: str | None = None,
) -> bytes:
    """The file meta-data. The instance is the UUID of the VM: with another one cloud-init does everything again. User
    data may refer to all of it, so what may be referred to is there even if it is empty."""
    if not instance or not hostname:
        raise ValueError("a machine without an instance id or a name cannot be told who it is")
    content = {"instance-id": instance, "local-hostname": hostname, "hostname": hostname}
    if provider_id:
        content["provider-id"] = f"{PROVIDER}{instance}"
    if kubernetes_version:
        content["kubernetes-version"] = kubernetes_version
    if node_ip is not None:
        content["node-ip"] = node_ip
    return yaml.safe_dump(content, sort_keys=False).encode()


def seed(user_data: bytes, meta: bytes, network: Network | None) -> Mapping[str, bytes]:
    """The files; without a network where that is told in another way. User data are handed on as they are."""
    return {
        "user-data": user_data,
        "meta-data": meta,
        "network-config": network_config(network) if network is not None else NO_NETWORK,
        "vendor-data": b"",
    }
