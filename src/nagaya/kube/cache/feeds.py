"""One kind in the cache, whether all of it or only what is in a few namespaces.

Each namespace is listed and watched by itself, since that is all that whoever may read only some of them is allowed to
do, and each has a position of its own in the server's history. Together they look like one.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from nagaya.api.kind import Kind, Object
from nagaya.kube.cache.feed import Feed, Handler, Scope
from nagaya.kube.client import Client
from nagaya.kube.key import Key
from nagaya.world import World

T = TypeVar("T", bound=Object)


class Feeds(Generic[T]):
    """The feeds of a kind: one for everything, or one for each namespace."""

    def __init__(
        self,
        client: Client,
        kind: Kind[T],
        world: World,
        scope: Scope,
        namespaces: Iterable[str],
        transform: Callable[[T], T] | None,
    ) -> None:
        self.scope = scope
        self.all = [
            Feed(client, kind, world, Scope(each, scope.labels, scope.fields), transform)
            for each in sorted(namespaces) or [scope.namespace]
        ]
        self._only = self.all[0] if len(self.all) == 1 else None
        self._by_namespace: Mapping[str, Feed[T]] = {each.scope.namespace: each for each in self.all}

    @property
    def synced(self) -> bool:
        """Whether all objects are here."""
        return all(each.reflector.synced.is_set() for each in self.all)

    def get(self, key: Key) -> T | None:
        """The object of a key."""
        feed = self._of(key.namespace)
        return None if feed is None else feed.store.get(key)

    def list(self, namespace: str) -> builtins.list[T]:
        """The objects of a namespace, or all, by namespace and name."""
        if self._only is not None:
            return self._only.store.list(namespace)
        return [obj for feed in self.all for obj in feed.store.list(namespace)]

    def by(self, index: str, value: str) -> builtins.list[T]:
        """The objects that have a value in an index, by namespace and name."""
        if self._only is not None:
            return self._only.store.by(index, value)
        return [obj for feed in self.all for obj in feed.store.by(index, value)]

    def add_index(self, name: str, values: Callable[[T], Iterable[str]]) -> None:
        """Find objects by what a function says of them."""
        for feed in self.all:
            feed.store.add_index(name, values)

    def subscribe(self, handler: Handler[T]) -> Callable[[], None]:
        """Tell a handler of every object there is and of every change. Returns what ends that."""
        ends = [feed.subscribe(handler) for feed in self.all]

        def unsubscribe() -> None:
            for end in ends:
                end()

        return unsubscribe

    def wrote(self, obj: T) -> None:
        """Take the answer to a write."""
        feed = self._of(obj.metadata.namespace)
        if feed is not None:
            feed.wrote(obj)

    def deleted(self, obj: T) -> None:
        """Take the answer to a deletion."""
        feed = self._of(obj.metadata.namespace)
        if feed is not None:
            feed.deleted(obj)

    def _of(self, namespace: str) -> Feed[T] | None:
        return self._only if self._only is not None else self._by_namespace.get(namespace)
