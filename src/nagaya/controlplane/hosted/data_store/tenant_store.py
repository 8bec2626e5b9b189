"""What a tenant's programs need to know of their store, and what has to be kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from nagaya.controlplane.hosted.components.facts import EtcdStore, KineStore
from nagaya.pki.key_pair import KeyPair

AUTHORITY_FILE: Final = "datastore/ca.crt"
CERTIFICATE_FILE: Final = "datastore/client.crt"
KEY_FILE: Final = "datastore/client.key"

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
PASSWORD: Final = "password"  # noqa: S105 - the name of a key, not a password

REGISTRY: Final = "/registry"
"""What keys begin with in a store that a tenant has for itself: kube-apiserver's own default."""


@dataclass(frozen=True, slots=True)
class EtcdTenantStore:
    """A tenant's part of an etcd."""

    servers: tuple[str, ...]
    prefix: str
    authority: bytes
    client: KeyPair

    @property
    def kept(self) -> Mapping[str, bytes]:
        """What the owner keeps in a Secret, and hands in again."""
        return {CERTIFICATE: self.client.certificate, KEY: self.client.key}

    @property
    def files(self) -> Mapping[str, bytes]:
        """What has to be in the folder of certificates."""
        return {
            AUTHORITY_FILE: self.authority,
            CERTIFICATE_FILE: self.client.certificate,
            KEY_FILE: self.client.key,
        }

    def facts(self, folder: str, socket: str) -> EtcdStore:
        """The same for command lines, with the files below `folder`. etcd needs no socket."""
        return EtcdStore(
            servers=self.servers,
            prefix=self.prefix,
            ca_file=f"{folder}/{AUTHORITY_FILE}",
            certificate_file=f"{folder}/{CERTIFICATE_FILE}",
            key_file=f"{folder}/{KEY_FILE}",
        )


@dataclass(frozen=True, slots=True)
class KineTenantStore:
    """A tenant's own database, spoken to through a kine of its own."""

    endpoint: str = field(repr=False)
    """As kine wants it; a secret, if it has a password."""
    authority: bytes = b""
    kept: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """What the owner keeps in a Secret, and hands in again."""

    @property
    def prefix(self) -> str:
        """What all keys begin with."""
        return REGISTRY

    @property
    def files(self) -> Mapping[str, bytes]:
        """What has to be in the folder of certificates."""
        return {AUTHORITY_FILE: self.authority} if self.authority else {}

    def facts(self, folder: str, socket: str) -> KineStore:
        """The same for command lines, with the files below `folder`."""
        return KineStore(socket, self.endpoint, ca_file=f"{folder}/{AUTHORITY_FILE}" if self.authority else "")


TenantStore = EtcdTenantStore | KineTenantStore
