"""The command that makes a connection, or mends it, as messages name it: it can be typed as it stands."""

from __future__ import annotations

from nagaya.api.proxmox.proxmox_connection import ProxmoxConnection


def connect_command(namespace: str, name: str = "", url: str = "URL") -> str:
    """For a connection that does not exist yet: where it is to be, and what it is to be called if that is settled."""
    return f"nagaya proxmox connect {url} -n {namespace}{f' --name {name}' if name else ''}"


def again(connection: ProxmoxConnection) -> str:
    """For one that is there: what was asked for before need not be said again."""
    metadata, endpoints = connection.metadata, connection.spec.endpoints
    return connect_command(metadata.namespace, metadata.name, endpoints[0] if endpoints else "URL")
