"""Whether `kubeadm init` has come to its end in a tenant: the ConfigMap kubeadm-config is there.

It is uploaded once, at some moment after the API has begun to answer. Until then the ConfigMaps of kube-system are
followed, so that nobody has to ask time and again; afterwards nothing is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from nagaya.api.kind import Kind, Resource
from nagaya.controlplane.kubeadm.workload.static_pod import NAMESPACE
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.remote import Remote
from nagaya.world import World

KUBEADM_CONFIG: Final = "kubeadm-config"


class ConfigMapName(Resource):
    """A ConfigMap without its content."""


CONFIG_MAP_NAMES: Final = Kind("", "v1", "ConfigMap", "configmaps", ConfigMapName)


class Initialization:
    """Waits for one tenant."""

    def __init__(self, remote: Remote, world: World, changed: Callable[[], None]) -> None:
        """`changed` is called when it has come to its end."""
        self._remote = remote
        self._world = world
        self._changed = changed
        self._cache: Cache | None = None
        self._closing: asyncio.Task[None] | None = None
        self._complete = False

    def complete(self) -> bool:
        """Whether it is known to have come to its end. From the first time on the tenant is followed until it has."""
        if not self._complete and self._cache is None:
            self._cache = Cache(self._remote.client, self._world)
            self._cache.start(CONFIG_MAP_NAMES, namespace=NAMESPACE)
            self._cache.subscribe(CONFIG_MAP_NAMES, self._seen)
        return self._complete

    async def close(self) -> None:
        """Follow nothing any more."""
        if self._closing is not None:
            await self._closing
        elif self._cache is not None:
            await self._cache.close()

    def _seen(self, change: Change[ConfigMapName]) -> None:
        if self._complete or change.new is None or change.new.metadata.name != KUBEADM_CONFIG:
            return
        self._complete = True
        assert self._cache is not None
        # Not from here: this is called by what is to be ended.
        self._closing = asyncio.get_running_loop().create_task(self._cache.close(), name="kubeadm-config was found")
        self._changed()
