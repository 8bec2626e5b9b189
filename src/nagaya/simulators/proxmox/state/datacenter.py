"""The data center: everything that the emulator knows, in one value.

What PVE's cluster file system would keep is here once, not per host: a host without quorum reads it and cannot write.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nagaya.simulators.proxmox.state.access import Access
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.node import Node
from nagaya.simulators.proxmox.state.storage import Storage, Volume
from nagaya.simulators.proxmox.storages.sources import Sources


@dataclass(slots=True)
class Pool:
    """Machines and storages that share rights."""

    comment: str = ""
    vms: set[int] = field(default_factory=set)
    storages: set[str] = field(default_factory=set)


@dataclass(slots=True)
class HighAvailability:
    """What the HA manager looks after."""

    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Datacenter:
    """A cluster of hosts, or one host alone (`name` is None then)."""

    name: str | None
    nodes: dict[str, Node] = field(default_factory=dict)
    guests: dict[int, Guest] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)
    volumes: dict[tuple[str | None, str], Volume] = field(default_factory=dict)
    """(host, None when shared; volume id) -> volume."""
    pools: dict[str, Pool] = field(default_factory=dict)
    access: Access = field(default_factory=Access)
    options: dict[str, Any] = field(default_factory=dict)
    """datacenter.cfg."""
    ha: HighAvailability = field(default_factory=HighAvailability)
    mappings: dict[str, Any] = field(default_factory=dict)
    """Names for PCI devices of several hosts, by which machines are given one."""
    usb_mappings: dict[str, Any] = field(default_factory=dict)
    folder_mappings: dict[str, Any] = field(default_factory=dict)
    zones: dict[str, Any] = field(default_factory=dict)
    vnets: dict[str, Any] = field(default_factory=dict)
    sources: Sources = field(default_factory=Sources)
    """What its hosts can download."""
    authority: str | None = None
    """The certificate of the authority that signed those of the hosts, in PEM; None while there are none."""
    version: str = "9.2.11"
    expected_votes: int | None = None
    """Set lower than the number of hosts, a part of them is quorate alone (`pvecm expected`)."""

    @property
    def quorate(self) -> bool:
        """Whether the hosts that are on are a majority."""
        online = sum(node.online for node in self.nodes.values())
        return online > (self.expected_votes or len(self.nodes)) // 2
