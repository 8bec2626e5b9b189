"""Keeps a store equal to what the server has: one list, then a watch for ever.

The watch is taken up again where it ended, as servers end it every few minutes. Only when the server no longer has the
history since then is everything listed again; the store finds out what was deleted meanwhile. What always holds: the
reflector never gives up, never presses a server that is in trouble, and one object that cannot be read hides no other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Final, Generic, TypeVar

from nagaya.api.kind import Kind, Object
from nagaya.kube.cache.sharing import share_strings
from nagaya.kube.cache.store import Store
from nagaya.kube.client import Client, Undecodable
from nagaya.kube.errors import ApiError, Expired, Forbidden, ServiceUnavailable, TooManyRequests, Unauthorized
from nagaya.kube.key import Key
from nagaya.kube.transport import NoAnswer
from nagaya.world import World

T = TypeVar("T", bound=Object)
log = logging.getLogger(__name__)

FIRST_PAUSE: Final = 0.8
LONGEST_PAUSE: Final = 30.0
LASTING: Final = 3
"""So many failures in a row are no hiccup: a server that does not answer once, or that goes for good, as tenants do,
is worth no warning."""
STEADY: Final = 5.0
"""A watch that lived this long, in seconds, is no sign of trouble when it ends."""

_WATCH_AGAIN: Final = (NoAnswer, TooManyRequests, ServiceUnavailable, Unauthorized, Forbidden)
"""After these the position is as good as before; after others the server may have meant it."""


class Reflector(Generic[T]):
    """Lists and watches one kind, or the part of it that selectors choose, into a store."""

    def __init__(
        self,
        client: Client,
        kind: Kind[T],
        store: Store[T],
        world: World,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        transform: Callable[[T], T] | None = None,
    ) -> None:
        self._client = client
        self._kind = kind
        self._store = store
        self._world = world
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._transform = transform
        self._failures = 0
        self.synced = asyncio.Event()
        """Set once the first list is in the store."""
        self.problem = ""
        """Why the server cannot be followed at present; empty when all is well."""
        self._warned = ""
        self.unreadable: dict[Key, str] = {}
        """Objects that the server has and that are not what their kind says, with what is wrong with them."""
        self.events = 0
        """How many events have come, bookmarks included."""

    async def run(self) -> None:
        """Until it is cancelled."""
        listed = False
        while True:
            seen = self.events
            begun = self._world.clock.monotonic()
            try:
                if not listed:
                    await self._list()
                    listed = True
                    begun = self._world.clock.monotonic()
                await self._watch()
            except Expired:
                log.debug("%s: the server has forgotten what happened since %s", self._kind, self._store.position)
                listed = False
            except Undecodable as error:
                listed = False
                self._trouble(str(error))
            except (ApiError, NoAnswer) as error:
                listed = listed and isinstance(error, _WATCH_AGAIN)
                self._trouble(str(error), passing=isinstance(error, NoAnswer) and self._failures < LASTING)
            except Exception as error:
                listed = False
                self._trouble(f"{type(error).__name__}: {error}", unexpected=True)
            steady = self.events > seen or self._world.clock.monotonic() - begun >= STEADY
            if steady:
                self._failures = 0
            if self.problem or not steady:
                await self._pause()

    async def current(self) -> bool:
        """Whether the store has everything that the server has at this moment. Asks the server for all of it."""
        unreadable: list[Key] = []
        found = await self._client.list(
            self._kind,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            on_problem=lambda problem: unreadable.append(problem.key),
        )
        return not self._store.missing(found.items, int(found.resource_version or 0), unreadable)

    async def _list(self) -> None:
        self._store.begin_list()
        problems: list[Undecodable] = []
        found = await self._client.list(
            self._kind, self._namespace, labels=self._labels, fields=self._fields, on_problem=problems.append
        )
        known, self.unreadable = self.unreadable, {}
        for problem in problems:
            self._cannot_read(problem, known)
        position = int(found.resource_version or 0)
        if position < self._store.position:
            log.warning(
                "%s: the server is at version %d and was at %d: its data were restored",
                self._kind,
                position,
                self._store.position,
            )
        self._store.replace([self._take(obj) for obj in found.items], position, self.unreadable)
        self._well()
        self.synced.set()

    async def _watch(self) -> None:
        store, take = self._store, self._take
        events = self._client.watch(
            self._kind,
            self._namespace,
            resource_version=str(store.position),
            labels=self._labels,
            fields=self._fields,
            on_problem=self._event_cannot_be_read,
        )
        steady = asyncio.get_running_loop().call_later(STEADY, self._well)
        try:
            async with aclosing(events):
                async for event in events:
                    if self.problem:
                        self._well()
                    self.events += 1
                    obj = event.object
                    if obj is None:
                        store.saw_position(int(event.resource_version))
                        continue
                    if self.unreadable:
                        self.unreadable.pop(Key.of(obj), None)
                    if event.type == "DELETED":
                        store.saw_deleted(obj)
                    else:
                        store.saw(take(obj))
                        if len(store) > self._client.most_objects:
                            why = f"the server tells of more than {self._client.most_objects} objects"
                            raise Undecodable(self._kind, Key("", "watch"), "", why)
        finally:
            steady.cancel()
        self._well()

    def _take(self, obj: T) -> T:
        share_strings(obj)
        return obj if self._transform is None else self._transform(obj)

    def _event_cannot_be_read(self, problem: Undecodable) -> None:
        self.events += 1
        self._store.saw_position(int(problem.resource_version or 0))
        if problem.deleted:
            self.unreadable.pop(problem.key, None)
            self._store.lose(problem.key)
        else:
            self._cannot_read(problem, self.unreadable)

    def _cannot_read(self, problem: Undecodable, known: Mapping[Key, str]) -> None:
        if known.get(problem.key) != problem.why:
            log.error("%s It is left out until it changes.", problem)
        self.unreadable[problem.key] = problem.why

    def _well(self) -> None:
        if self.problem:
            log.info("%s: followed again", self._kind)
            self.problem = self._warned = ""

    def _trouble(self, sentence: str, *, unexpected: bool = False, passing: bool = False) -> None:
        """`passing`: it may be over in a moment, so nobody has to be warned yet."""
        if passing:
            if sentence != self.problem:
                log.info("%s: cannot be followed: %s", self._kind, sentence)
        elif sentence != self._warned:
            log.warning("%s: cannot be followed: %s", self._kind, sentence, exc_info=unexpected)
            self._warned = sentence
        self.problem = sentence

    async def _pause(self) -> None:
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures, 10), LONGEST_PAUSE)
        self._failures += 1
        # Up to twice as long, so that those whose server went away do not all come back at once.
        await asyncio.sleep(pause * (1 + self._world.random.random()))
