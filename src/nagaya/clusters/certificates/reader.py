"""Reads Secrets of clusters, each version of each of them once.

The cache knows which Secrets with the label of a cluster there are, and of what version, but keeps the content of none
with an authority. So a Secret is asked for when the cache shows another version than the one read last. One that the
cache does not show may still be there without the label, as users make them: it is asked for every time.
"""

from __future__ import annotations

from typing import Final

from nagaya.api.cluster.secrets import Purpose, secret_name
from nagaya.clusters.certificates.held import CLUSTER_SECRETS, ClusterSecret, Held, held
from nagaya.clusters.certificates.wanted import Material
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.tenant_secrets import TENANT_SECRETS

REMEMBERED: Final = 4096
"""Secrets whose content is kept: those of about 800 clusters, some 10 MB."""


class SecretReader:
    """What was read of Secrets. One for all controllers of a process."""

    def __init__(self, client: Client, cache: Cache, remembered: int = REMEMBERED) -> None:
        self._client = client
        self._cache = cache
        self._remembered = remembered
        self._known: dict[tuple[Key, Material], Held] = {}

    async def read(self, cluster: Key, purpose: Purpose, material: Material) -> Held | None:
        """A Secret of a cluster; None if there is none."""
        key = Key(cluster.namespace, secret_name(cluster.name, purpose))
        known = self._known.pop((key, material), None)
        if known is not None and self._is_current(key, known):
            self._known[key, material] = known  # again, as the one that was needed last
            return known
        try:
            secret = await self._client.get(CLUSTER_SECRETS, key.namespace, key.name)
        except NotFound:
            return None
        return self.learn(secret, purpose, material)

    def learn(self, secret: ClusterSecret, purpose: Purpose, material: Material) -> Held:
        """Take a Secret that was read or written just now."""
        found = held(secret, purpose, material)
        self._known[Key.of(secret), material] = found
        if len(self._known) > self._remembered:
            del self._known[next(iter(self._known))]
        return found

    def _is_current(self, key: Key, known: Held) -> bool:
        if not self._cache.has(TENANT_SECRETS):
            return False
        present = self._cache.get(TENANT_SECRETS, key)
        if present is None or present.metadata.uid != known.metadata.uid:
            return False
        return int(known.metadata.resource_version or 0) >= int(present.metadata.resource_version or 0)
