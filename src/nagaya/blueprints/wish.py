"""What somebody wants to say of a new cluster; the rest follows from it."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from nagaya.blueprints import ranges

SIMULATED: Final = "simulated"
PROXMOX: Final = "proxmox"
INFRASTRUCTURES: Final = (PROXMOX, SIMULATED)
HOSTED: Final = "hosted"
KUBEADM: Final = "kubeadm"
CONTROL_PLANES: Final = (HOSTED, KUBEADM)
IN_CLUSTER: Final = "InClusterIPPool"
LONGEST_NAME: Final = 45
"""Names of machines begin with that of their cluster, and have to be names of hosts: 63 letters."""
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of addresses."""

    name: str
    kind: str = IN_CLUSTER


@dataclass(frozen=True, slots=True)
class Ranges:
    """Addresses for the machines of one cluster."""

    addresses: tuple[str, ...]
    gateway: str
    prefix: int = 24


@dataclass(frozen=True, slots=True)
class Size:
    """How large a machine is."""

    cores: int = 2
    memory_mib: int = 4096
    disk_gb: int = 20


@dataclass(frozen=True, slots=True)
class ProxmoxWish:
    """What machines on Proxmox VE need to be told."""

    connection: str
    addresses: Ranges | Pool | None = None
    """From where; from the network's DHCP server without."""
    dns: tuple[str, ...] = ()
    endpoint: str | Pool = ""
    """The address of the API, or the pool that it comes from; a hosted control plane brings its own."""
    bridge: str = "vmbr0"
    template_tags: tuple[str, ...] = ()
    """Tags of the template beside that of the Kubernetes version."""
    image: str = ""
    """The tag of a plain cloud image to make machines of, in which Kubernetes is installed when they first boot."""
    size: Size = Size()


@dataclass(frozen=True, slots=True)
class Wish:
    """A cluster."""

    name: str
    namespace: str
    version: str
    infrastructure: str
    control_plane: str
    control_planes: int = 1
    workers: int = 1
    proxmox: ProxmoxWish | None = None
    data_store: str = ""
    """Where a hosted control plane keeps its data; the DataStore `default` without."""


def problems(wish: Wish) -> list[str]:
    """What is wrong with a wish, a sentence each, by the options of `nagaya create cluster`."""
    found = []
    if not _NAME.fullmatch(wish.name) or len(wish.name) > LONGEST_NAME:
        found.append(
            f"NAME: {wish.name!r} is no name of a cluster. Take up to {LONGEST_NAME} small letters, digits and "
            "hyphens, a letter first."
        )
    if wish.control_plane == KUBEADM and wish.control_planes % 2 == 0:
        found.append(
            f"--control-planes: {wish.control_planes} machines have no majority that one more would not have too: take "
            "1, 3 or 5."
        )
    if wish.proxmox is not None:
        found += _of_proxmox(wish, wish.proxmox)
    return found


def _of_proxmox(wish: Wish, proxmox: ProxmoxWish) -> list[str]:
    found = []
    if isinstance(proxmox.endpoint, str) and proxmox.endpoint:
        found += _address("--endpoint", proxmox.endpoint)
    if isinstance(proxmox.addresses, Ranges):
        endpoint = proxmox.endpoint if isinstance(proxmox.endpoint, str) else ""
        found += ranges.problems(proxmox.addresses.addresses, proxmox.addresses.prefix, endpoint)
        found += _address("--gateway", proxmox.addresses.gateway)
    for each in proxmox.dns:
        found += _address("--dns", each)
    if proxmox.addresses is not None and not proxmox.dns:
        found.append("--dns: machines with addresses from a pool need a name server, such as --dns 10.0.0.1.")
    if proxmox.image and proxmox.template_tags:
        found.append("--image: a plain image has no template with Kubernetes in it: leave out --template-tag.")
    if wish.control_plane == KUBEADM and not proxmox.endpoint:
        found.append(
            "--endpoint: the API needs an address that no machine has: give --endpoint ADDRESS, or --endpoint-pool."
        )
    return found


def _address(option: str, text: str) -> list[str]:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return [f"{option}: {text!r} is no IP address. Write one such as 10.0.0.10."]
    return []
