"""How tenants' data is encrypted: Secrets of users, each followed for as long as a control plane names it.

Users' Secrets are in no cache: a process has no business with most of them. The few that are named are watched one by
one, so that a key that is added is taken at once and no Secret is asked for again and again.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass

from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.clusters.certificates.held import CLUSTER_SECRETS, ClusterSecret
from nagaya.controlplane.hosted.components import encryption_config
from nagaya.controlplane.hosted.components.configuration import ENCRYPTION
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.world import World


@dataclass(frozen=True, slots=True)
class _Followed:
    secret: Key
    cache: Cache


class EncryptionSecrets:
    """The Secrets that control planes of this process name."""

    def __init__(self, client: Client, world: World, changed: Callable[[Key], None]) -> None:
        """`changed` is called with the key of a control plane whose Secret came, went or is another."""
        self._client = client
        self._world = world
        self._changed = changed
        self._followed: dict[str, _Followed] = {}

    async def read(self, plane: HostedControlPlane) -> tuple[bytes, str]:
        """The EncryptionConfiguration, and what is wrong with it. Both are empty if there shall be none."""
        wanted = plane.spec.api_server.encryption
        if wanted is None:
            await self.forget(plane.metadata.uid)
            return b"", ""
        key = Key(plane.metadata.namespace, wanted.config_secret_ref.name)
        where = f"Secret {key}, which spec.apiServer.encryption names,"
        secret = await self._secret(plane, key)
        if secret is None:
            return b"", f"{where} does not exist. Create it."
        try:
            content = base64.b64decode(secret.data.get(ENCRYPTION, ""), validate=True)
        except binascii.Error:
            content = b""
        if not content:
            return b"", f"{where} has no {ENCRYPTION}. Put it there."
        try:
            return encryption_config.reencoded(content), ""
        except ValueError as error:
            return b"", f"{where} has a {ENCRYPTION} that cannot be used: {error}. Correct it."

    async def forget(self, uid: str) -> None:
        """A control plane is gone, or names none any more."""
        followed = self._followed.pop(uid, None)
        if followed is not None:
            await followed.cache.close()

    async def close(self) -> None:
        """Follow nothing any more."""
        for uid in [*self._followed]:
            await self.forget(uid)

    async def _secret(self, plane: HostedControlPlane, key: Key) -> ClusterSecret | None:
        uid = plane.metadata.uid
        followed = self._followed.get(uid)
        if followed is None or followed.secret != key:
            await self.forget(uid)
            followed = self._followed[uid] = self._follow(Key.of(plane), key)
        if followed.cache.is_synced(CLUSTER_SECRETS):
            return followed.cache.get(CLUSTER_SECRETS, key)
        try:
            return await self._client.get(CLUSTER_SECRETS, *key)
        except NotFound:
            return None

    def _follow(self, plane: Key, secret: Key) -> _Followed:
        cache = Cache(self._client, self._world)
        cache.start(CLUSTER_SECRETS, namespace=secret.namespace, fields=f"metadata.name={secret.name}")
        cache.subscribe(CLUSTER_SECRETS, lambda _: self._changed(plane))
        return _Followed(secret, cache)
