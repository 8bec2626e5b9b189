"""The objects of all kinds that this process is interested in, in memory.

Everything that controllers read comes from here: no read waits for a server. Objects are shared, so nobody changes
them. What always holds: a controller sees its own writes at once, because their answers are put in (`wrote`, `deleted`)
without waiting for the watch; and no object is ever seen in an older state than before.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar, cast

from nagaya.api.kind import Kind, Object
from nagaya.kube.cache.change import Change
from nagaya.kube.cache.feed import Scope
from nagaya.kube.cache.feeds import Feeds
from nagaya.kube.cache.index import OWNER
from nagaya.kube.client import Client
from nagaya.kube.key import Key
from nagaya.world import World

T = TypeVar("T", bound=Object)


class NotCached(LookupError):
    """A kind that nobody has started: an empty answer would be taken for "there is none"."""


class Cache:
    """One server as one process sees it."""

    def __init__(self, client: Client, world: World, *, namespaces: Collection[str] = ()) -> None:
        """With `namespaces`, of kinds that have any only what is in these is kept: for this process the rest does not
        exist."""
        self._client = client
        self._world = world
        self._namespaces = tuple(namespaces)
        self._feeds: dict[Kind[Any], Feeds[Any]] = {}
        self._closed = False

    @property
    def kinds(self) -> builtins.list[Kind[Any]]:
        """The kinds that are kept."""
        return [*self._feeds]

    def start(
        self,
        kind: Kind[T],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        transform: Callable[[T], T] | None = None,
    ) -> None:
        """Keep a kind, or the part of it that a namespace and selectors choose. Again with the same choice: no effect.

        `transform` may trim objects before they are kept; it must leave their metadata alone. May be called before the
        event loop runs: then following begins with the first `synced`.
        """
        scope = Scope(namespace, labels, fields)
        feed = self._feeds.get(kind)
        if feed is None:
            several = self._namespaces if kind.namespaced and not namespace else ()
            feed = self._feeds[kind] = Feeds(self._client, kind, self._world, scope, several, transform)
        elif feed.scope != scope:
            raise ValueError(f"{kind} is cached for {feed.scope} already and cannot be for {scope} as well")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        self._run(feed)

    def follow(self) -> None:
        """Begin with what was started before the event loop ran. What is followed already goes on."""
        for feed in self._feeds.values():
            self._run(feed)

    def has(self, kind: Kind[Any]) -> bool:
        """Whether a kind is kept."""
        return kind in self._feeds

    def is_synced(self, kind: Kind[Any]) -> bool:
        """Whether all objects of a kind are here. Before that, an object that is not here may well exist."""
        feed = self._feeds.get(kind)
        return feed is not None and feed.synced

    async def synced(self, *kinds: Kind[Any]) -> None:
        """Wait until all objects of the kinds, or of all kinds that are kept, are here."""
        feeds = [self._feed(kind) for kind in kinds] if kinds else [*self._feeds.values()]
        for feed in feeds:
            self._run(feed)
        for feed in feeds:
            for each in feed.all:
                await each.reflector.synced.wait()

    def get(self, kind: Kind[T], key: Key) -> T | None:
        """An object, None if there is none."""
        return self._feed(kind).get(key)

    def list(self, kind: Kind[T], namespace: str = "") -> builtins.list[T]:
        """All objects of a kind, or those of a namespace, by namespace and name."""
        return self._feed(kind).list(namespace)

    def owned(self, kind: Kind[T], uid: str) -> builtins.list[T]:
        """The objects of a kind that have an owner, by namespace and name."""
        return self._feed(kind).by(OWNER, uid)

    def by(self, kind: Kind[T], index: str, value: str) -> builtins.list[T]:
        """The objects of a kind that an index has under a value, by namespace and name."""
        return self._feed(kind).by(index, value)

    def add_index(self, kind: Kind[T], name: str, values: Callable[[T], Iterable[str]]) -> None:
        """Find objects of a kind by what a function says of them. An index that is there already stays as it is."""
        self._feed(kind).add_index(name, values)

    def subscribe(self, kind: Kind[T], handler: Callable[[Change[T]], None]) -> Callable[[], None]:
        """Call a function for every object there is, as Change(None, object), and then for every change.

        It must not wait. Returns a function that ends it.
        """
        return self._feed(kind).subscribe(handler)

    def wrote(self, kind: Kind[T], obj: T) -> None:
        """The answer to a write: seen at once, told to subscribers, and not told again when the watch brings it."""
        feed = self._feeds.get(kind)
        if feed is not None:
            feed.wrote(obj)

    def deleted(self, kind: Kind[T], obj: T) -> None:
        """A deletion was answered with "gone": the object does not come back by events that are still under way."""
        feed = self._feeds.get(kind)
        if feed is not None:
            feed.deleted(obj)

    def unfollowed(self) -> builtins.list[str]:
        """Which kinds are not followed at present, and why, a sentence each: what is held of them may be old."""
        found: builtins.list[str] = []
        for kind, feeds in self._feeds.items():
            for feed in feeds.all:
                if feed.reflector.problem:
                    found.append(f"{kind} cannot be followed: {feed.reflector.problem}")
                elif not feed.reflector.synced.is_set():
                    found.append(f"{kind} has not been listed yet")
        return found

    def unreadable(self) -> builtins.list[str]:
        """Which objects cannot be read, and why, a sentence each: they are left out, and all others are there."""
        return [
            f"{kind} {key} cannot be read: {why}"
            for kind, feeds in self._feeds.items()
            for feed in feeds.all
            for key, why in feed.reflector.unreadable.items()
        ]

    async def current(self) -> None:
        """Wait until all watches have told what the server has now. Lists everything: for tests."""
        for feeds in [*self._feeds.values()]:
            self._run(feeds)
            for feed in feeds.all:
                await feed.reflector.synced.wait()
                await feed.current()

    async def close(self) -> None:
        """Follow nothing any more. What is kept stays readable."""
        self._closed = True
        tasks = [feed.task for feeds in self._feeds.values() for feed in feeds.all if feed.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _run(self, feeds: Feeds[Any]) -> None:
        if not self._closed:
            for feed in feeds.all:
                feed.run()

    def _feed(self, kind: Kind[T]) -> Feeds[T]:
        feed = self._feeds.get(kind)
        if feed is None:
            raise NotCached(f"{kind} is not in the cache: call start for it first")
        return cast("Feeds[T]", feed)
