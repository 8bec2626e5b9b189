"""Which credentials a ProxmoxCluster means: those of a ProxmoxConnection, or, as with CAPMOX, of a Secret."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from nagaya.api.proxmox.conditions import ProxmoxClusterReason
from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS, ProxmoxConnection
from nagaya.api.proxmox.proxmox_virtual_machine import NamespacedConnectionReference
from nagaya.api.proxmox.references import SecretReference
from nagaya.infrastructure.proxmox.connection.command import connect_command
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key

CONNECTION: Final = "ProxmoxConnection"
SECRET: Final = "Secret"  # noqa: S105 - a kind, no secret


@dataclass(frozen=True, slots=True)
class Reference:
    """A ProxmoxConnection, or a Secret that is used as it is."""

    kind: str
    key: Key
    used_in: str = ""
    """The namespace of the object that refers to a Secret: the Secret must allow it. Empty for a connection, which only
    objects of its own namespace can name."""

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def written(self) -> NamespacedConnectionReference:
        """As reservations have it."""
        kind = None if self.kind == CONNECTION else self.kind
        return NamespacedConnectionReference(namespace=self.key.namespace, name=self.key.name, kind=kind)


class NoConnection(Exception):
    """There is no way to Proxmox VE. `reason` is one of a ProxmoxCluster; the text is a sentence with the remedy."""

    def __init__(self, reason: ProxmoxClusterReason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


def connection_reference(connection: ProxmoxConnection) -> Reference:
    """A connection, as it is referred to."""
    return Reference(CONNECTION, Key.of(connection))


def secret_reference(named: SecretReference, namespace: str) -> Reference:
    """A Secret that an object of a namespace names."""
    return Reference(SECRET, Key(named.namespace or namespace, named.name), namespace)


def read_reference(written: NamespacedConnectionReference, used_in: str) -> Reference:
    """From a reservation, whose machine is in a namespace."""
    key = Key(written.namespace, written.name)
    return Reference(SECRET, key, used_in) if written.kind == SECRET else Reference(CONNECTION, key)


def reference_of(cache: Cache, cluster: ProxmoxCluster) -> Reference:
    """What a ProxmoxCluster means. Raises NoConnection."""
    there = cache.list(PROXMOX_CONNECTIONS, cluster.metadata.namespace)
    return reference_among([each.metadata.name for each in there], cluster)


def reference_among(connections: Collection[str], cluster: ProxmoxCluster) -> Reference:
    """The same, given the names of the connections of its namespace."""
    namespace, spec = cluster.metadata.namespace, cluster.spec
    if spec.connection_ref is not None:
        key = Key(namespace, spec.connection_ref.name)
        if key.name not in connections:
            raise NoConnection(
                ProxmoxClusterReason.CONNECTION_NOT_FOUND,
                f"ProxmoxConnection {key} does not exist: make it with `{connect_command(namespace, key.name)}`, or "
                "correct spec.connectionRef.",
            )
        return Reference(CONNECTION, key)
    if spec.credentials_ref is not None and spec.credentials_ref.name:
        return secret_reference(spec.credentials_ref, namespace)
    if not connections:
        raise NoConnection(
            ProxmoxClusterReason.NO_CONNECTION,
            f"Namespace {namespace} has no ProxmoxConnection: make one with `{connect_command(namespace)}`, or give "
            "spec.credentialsRef.",
        )
    if len(connections) > 1:
        names = ", ".join(sorted(connections))
        raise NoConnection(
            ProxmoxClusterReason.SEVERAL_CONNECTIONS,
            f"Namespace {namespace} has several ProxmoxConnections ({names}): name one of them in spec.connectionRef.",
        )
    return Reference(CONNECTION, Key(namespace, next(iter(connections))))
