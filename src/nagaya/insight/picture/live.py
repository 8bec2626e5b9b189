"""A picture that is kept current by watches: nothing is polled, and whoever waits is woken by a change.

Everything of the Cluster's namespace is followed, since an object may be labelled, owned or named only after it was
made. Kinds that no Cluster owns are followed from the moment that something names one of their objects.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.insight.picture.belonging import Gathered, pictured
from nagaya.insight.picture.event import EVENTS
from nagaya.insight.picture.kinds import Found, Kinds
from nagaya.insight.picture.member import member
from nagaya.insight.picture.picture import Picture
from nagaya.insight.picture.read import SECRET_NAMES
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.client import Client
from nagaya.kube.key import Key
from nagaya.world import World

CALM: Final = 0.1
"""Seconds that changes are gathered before a picture is made of them: they come in bursts."""


class Live:
    """The pictures of one Cluster, one after the other."""

    def __init__(self, client: Client, world: World, kinds: Kinds, key: Key, *, events: bool = False) -> None:
        self._kinds = kinds
        self._key = key
        self._cache = Cache(client, world)
        self._followed: dict[Kind[Untyped], Found] = {}
        self._events = events
        self._changed = asyncio.Event()

    async def start(self) -> None:
        """Begin to follow, and return when everything is there."""
        for found in self._kinds.owned():
            self._follow(found)
        self._cache.start(SECRET_NAMES, namespace=self._key.namespace, labels=CLUSTER_NAME)
        self._cache.subscribe(SECRET_NAMES, self._woken)
        if self._events:
            self._cache.start(EVENTS, namespace=self._key.namespace)
            self._cache.subscribe(EVENTS, self._woken)
        await self._readable()

    async def close(self) -> None:
        """Follow no longer."""
        await self._cache.close()

    async def picture(self) -> Picture | None:
        """The Cluster as it is now; None if it is gone."""
        while True:
            clusters = self._kinds.get("cluster.x-k8s.io", "Cluster")
            found = None if clusters is None else self._cache.get(clusters.kind, self._key)
            if clusters is None or found is None:
                return None
            picture = pictured(member(found, clusters.contract), self._gathered())
            named = [self._kinds.get(each.reference.group, each.reference.kind) for each in picture.missing]
            unknown = [each for each in named if each is not None and each.kind not in self._followed]
            if not unknown:
                return picture
            for each in unknown:
                self._follow(each)
            await self._readable()

    async def changed(self) -> None:
        """Wait until something has changed since the last time, and the burst is over."""
        await self._changed.wait()
        await asyncio.sleep(CALM)
        self._changed.clear()

    def troubles(self) -> list[str]:
        """What cannot be followed at present, and why."""
        return self._cache.unfollowed()

    def _follow(self, found: Found) -> None:
        if found.kind in self._followed:
            return
        self._followed[found.kind] = found
        self._cache.start(found.kind, namespace=self._key.namespace if found.kind.namespaced else "")
        self._cache.subscribe(found.kind, self._woken)

    async def _readable(self) -> None:
        """Wait until each kind is there or is known not to come: what may not be read must not hide the rest."""
        waiting = asyncio.ensure_future(self._cache.synced())
        try:
            while not waiting.done():
                await asyncio.wait([waiting], timeout=CALM)
                # Nothing wakes whoever waits for a kind that is refused; it is said within a moment.
                troubles = self._cache.unfollowed()
                if troubles and all("cannot be followed" in each for each in troubles):
                    return
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    def _woken(self, change: Change[Any]) -> None:
        self._changed.set()

    def _gathered(self) -> Gathered:
        objects = tuple(
            (each, found.contract)
            for kind, found in self._followed.items()
            if self._cache.is_synced(kind)
            for each in self._cache.list(kind)
        )
        secrets = tuple(each.metadata for each in self._cache.list(SECRET_NAMES))
        events = tuple(self._cache.list(EVENTS)) if self._events else ()
        hidden = frozenset((kind.group, kind.kind) for kind in self._followed if not self._cache.is_synced(kind))
        return Gathered(objects, secrets, events, tuple(self.troubles()), hidden)
