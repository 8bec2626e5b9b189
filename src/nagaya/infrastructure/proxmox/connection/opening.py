"""A connection for one command: read from the API as it is now, opened, and closed at the end of the command.

Controllers have a registry that follows all connections (`connections`); a command asks once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nagaya.infrastructure.proxmox.client import Facts, Proxmox
from nagaya.infrastructure.proxmox.connection.connections import Connected
from nagaya.infrastructure.proxmox.connection.findings import find
from nagaya.infrastructure.proxmox.connection.reference import Reference
from nagaya.infrastructure.proxmox.connection.source import facts_of, read_source
from nagaya.kube.client import Client
from nagaya.world import World

Opener = Callable[[Facts], Proxmox]
"""How a data center is reached: by HTTPS, or as a test says."""


async def opened(client: Client, world: World, reference: Reference, open: Opener | None = None) -> Connected:
    """The way that a reference means; nothing is asked of Proxmox VE yet. Raises NoConnection, ApiError, NoAnswer."""
    source = await read_source(client, reference)
    facts = await facts_of(client, reference, source)
    proxmox = Proxmox(facts, world) if open is None else open(facts)
    return Connected(reference, proxmox, source.pool, source.defaults, known_as=source.known_as)


async def examined(connected: Connected) -> Connected:
    """The same, with what Proxmox VE says of itself and of the credentials. Raises ProxmoxError."""
    return replace(connected, findings=await find(connected.proxmox))
