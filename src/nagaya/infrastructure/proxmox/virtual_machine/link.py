"""What machines need of a connection: the client, and what the connection says for machines that say nothing.

A port: who keeps the connections is no matter of machines.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_virtual_machine import NamespacedConnectionReference
from nagaya.api.proxmox.template_source import TemplateSelector
from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.errors import Forbidden


def _nobody(_: Forbidden | None = None) -> None:
    """Nobody wants to know."""


async def _nothing(_: Forbidden) -> str:
    """Nobody knows what helps."""
    return ""


@dataclass(frozen=True, slots=True)
class Link:
    """A connection that can be used."""

    proxmox: Proxmox
    datacenter: str
    """Its stable name, a part of the names of reservations."""
    reference: NamespacedConnectionReference
    """How a reservation remembers it."""
    pool: str = ""
    storage: str = ""
    iso_storage: str = ""
    bridge: str = ""
    template_selector: TemplateSelector | None = None
    uploads: bool = True
    """Whether the credentials may upload CD images."""
    refused: Callable[[Forbidden], None] = _nobody
    """To be called when Proxmox VE refused something for want of a right: it is then looked for."""
    remedy: Callable[[Forbidden], Awaitable[str]] = _nothing
    """What grants the right that was missing, as a sentence to be added; empty if nobody knows."""
    enters: bool = True
    """Whether the credentials may write files and run programs in guests."""
    credentials_in: str = ""
    """The namespace of the Secret with the credentials."""


class Links(Protocol):
    """Where connections are found. A sentence instead of one says why it cannot be used now, and what to do."""

    async def of_cluster(self, cluster: ProxmoxCluster) -> Link | str:
        """That of a cluster."""
        ...

    async def of_reference(self, reference: NamespacedConnectionReference, used_in: str) -> Link | str:
        """That of a reservation."""
        ...
