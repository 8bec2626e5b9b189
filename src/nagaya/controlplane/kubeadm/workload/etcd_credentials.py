"""How to speak TLS with the etcd of a tenant: as a client whose certificate the tenant's etcd authority has issued.

The authority's key is in the management API, so a certificate is made when one is needed, kept in memory alone, and
made anew long before it ends or when the authority is another.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from nagaya.api.cluster.secrets import Purpose, secret_name
from nagaya.clusters.certificates.held import Held
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.clusters.certificates.kubeconfig import trusted
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.certificates.wanted import Material
from nagaya.kube.etcd.client import client_tls
from nagaya.kube.key import Key
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.keys import KeyAlgorithm
from nagaya.world import Clock

RENEWED_AFTER: Final = timedelta(days=1)
_CLIENT: Final = CertificateSpec("cluster-api.x-k8s.io", validity=timedelta(days=10))
"""Valid for longer than it is used, so that clocks of machines may differ."""


class NoEtcdCredentials(Exception):
    """There is nothing to show to etcd. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class _Made:
    authority: bytes
    context: ssl.SSLContext
    until: datetime


class EtcdCredentials:
    """The certificate for one tenant's etcd."""

    def __init__(self, cluster: Key, reader: SecretReader, keys: Keys, clock: Clock) -> None:
        self._cluster = cluster
        self._reader = reader
        self._keys = keys
        self._clock = clock
        self._made: _Made | None = None
        self._making = asyncio.Lock()

    async def context(self) -> ssl.SSLContext:
        """How to connect to any member. Raises NoEtcdCredentials, and what the management API refuses."""
        async with self._making:
            held = await self._reader.read(self._cluster, Purpose.ETCD_AUTHORITY, Material.AUTHORITY)
            name = f"{self._cluster.namespace}/{secret_name(self._cluster.name, Purpose.ETCD_AUTHORITY)}"
            if held is None:
                raise NoEtcdCredentials(f"Secret {name} does not exist")
            if held.problem:
                raise NoEtcdCredentials(held.problem)
            if not held.signs:
                raise NoEtcdCredentials(f"Secret {name} has no key to issue a client certificate with")
            now = self._clock.now()
            if self._made is None or self._made.authority != held.pair.certificate or now >= self._made.until:
                self._made = await self._make(held, now)
            return self._made.context

    async def _make(self, held: Held, now: datetime) -> _Made:
        key = await self._keys.key(KeyAlgorithm.ECDSA_P256)
        try:
            pair = KeyPair.of(held.signer.issue(_CLIENT, key.public_key(), self._clock), key)
            context = client_tls(trusted(held), pair.certificate, pair.key, check_name=False)
        except ValueError as error:
            raise NoEtcdCredentials(f"no client certificate can be issued: {error}") from error
        return _Made(held.pair.certificate, context, now + RENEWED_AFTER)
