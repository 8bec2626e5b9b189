"""The way to a data center for a command: a ProxmoxConnection of the management API, or what was written down for it.

A connection is read as the controllers read it, so that a command does what they could do, with the same credentials.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS, ConnectionDefaults
from nagaya.infrastructure.proxmox.client import Facts, Trust
from nagaya.infrastructure.proxmox.client.facts import read
from nagaya.infrastructure.proxmox.connection.command import again, connect_command
from nagaya.infrastructure.proxmox.connection.reference import NoConnection, connection_reference
from nagaya.infrastructure.proxmox.connection.source import facts_of, source_by
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound

_IN_A_SECRET: Final = (
    ("the Secret's key `token`", "--token"),
    ("the Secret's key `user`", "--user"),
    ("the Secret has no key", "there is no"),
)
"""What is said of a Secret, and what it means for whoever wrote a command."""


class NoWay(Exception):
    """There is none. The message is a sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Way:
    """How to get there, and what is usual there."""

    facts: Facts
    pool: str = ""
    storage: str = ""
    bridge: str = ""
    again: str = ""
    """The command that made it; empty if none did."""


async def by_connection(client: Client, namespace: str, name: str = "") -> Way:
    """That of a ProxmoxConnection; without a name, of the only one of a namespace. Raises NoWay, ApiError, NoAnswer."""
    try:
        if name:
            connection = await client.get(PROXMOX_CONNECTIONS, namespace, name)
        else:
            found = [*(await client.list(PROXMOX_CONNECTIONS, namespace)).items]
            if len(found) != 1:
                names = ", ".join(sorted(each.metadata.name for each in found))
                raise NoWay(
                    f"Namespace {namespace} has several ProxmoxConnections ({names}): name one with --connection."
                    if found
                    else f"Namespace {namespace} has no ProxmoxConnection: make one with "
                    f"`{connect_command(namespace)}`, or give --url-api with --token and --secret-file."
                )
            connection = found[0]
    except NotFound:
        raise NoWay(
            f"ProxmoxConnection {namespace}/{name} does not exist: make it with `{connect_command(namespace, name)}`, "
            "or name another with --connection and --namespace."
            if name
            else "The management API does not know ProxmoxConnections: install the definitions with `nagaya crds "
            "| kubectl apply --server-side -f -`."
        ) from None
    try:
        facts = await facts_of(client, connection_reference(connection), source_by(connection))
    except NoConnection as error:
        raise NoWay(str(error)) from error
    defaults = connection.spec.defaults or ConnectionDefaults()
    return Way(facts, connection.spec.pool, defaults.storage, defaults.bridge, again(connection))


def directly(
    url: str,
    *,
    token: str = "",
    secret: str = "",
    user: str = "",
    password: str = "",
    trust: Trust | None = None,
) -> Way:
    """From what was written down. Raises NoWay."""
    given = {"token": token, "secret": secret} if token else {"user": user, "password": password}
    try:
        facts = read({name: text.encode() for name, text in given.items()}, endpoints=(url,), name="command")
    except ValueError as error:
        text = str(error)
        for said, meant in _IN_A_SECRET:
            text = text.replace(said, meant)
        raise NoWay(f"{text[:1].upper()}{text[1:]}.") from error
    return Way(replace(facts, trust=trust or Trust()))
