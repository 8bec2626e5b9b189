"""One kind in the cache: its objects, what keeps them current, and who wants to hear of changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from nagaya.api.kind import Kind, Object
from nagaya.kube.cache.change import Change
from nagaya.kube.cache.reflector import Reflector
from nagaya.kube.cache.store import Store
from nagaya.kube.client import Client
from nagaya.world import World

T = TypeVar("T", bound=Object)
Handler = Callable[[Change[T]], None]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects of a kind are kept."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


class Feed(Generic[T]):
    """The store of a kind, its reflector, and its subscribers. A subscriber that fails harms nobody else."""

    def __init__(
        self, client: Client, kind: Kind[T], world: World, scope: Scope, transform: Callable[[T], T] | None
    ) -> None:
        self.kind = kind
        self.scope = scope
        self.store: Store[T] = Store(self._tell, whole=not (scope.labels or scope.fields))
        self.reflector = Reflector(
            client,
            kind,
            self.store,
            world,
            namespace=scope.namespace,
            labels=scope.labels,
            fields=scope.fields,
            transform=transform,
        )
        self._transform = transform
        self._subscribers: tuple[Handler[T], ...] = ()
        self._waiters: list[asyncio.Future[None]] = []
        self.task: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Begin to follow the server, unless that is done already."""
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self.reflector.run(), name=f"reflector of {self.kind}")

    def subscribe(self, handler: Handler[T]) -> Callable[[], None]:
        """Tell a handler of every object there is and of every change. Returns what ends that."""
        self._subscribers = (*self._subscribers, handler)
        for obj in self.store.list():
            self._call(handler, Change(None, obj))

        def unsubscribe() -> None:
            self._subscribers = tuple(each for each in self._subscribers if each is not handler)

        return unsubscribe

    def wrote(self, obj: T) -> None:
        """Take the answer to a write."""
        if self.scope.namespace in ("", obj.metadata.namespace):
            self.store.wrote(obj if self._transform is None else self._transform(obj))

    def deleted(self, obj: T) -> None:
        """Take the answer to a deletion."""
        if self.scope.namespace in ("", obj.metadata.namespace):
            self.store.deleted(obj)

    async def current(self) -> None:
        """Wait until the store has everything that the server had when this was called."""
        while not await self.reflector.current():
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def _tell(self, change: Change[T]) -> None:
        for handler in self._subscribers:
            self._call(handler, change)
        if self._waiters:
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def _call(self, handler: Handler[T], change: Change[T]) -> None:
        try:
            handler(change)
        except Exception:
            metadata = change.object.metadata
            log.exception("%s %s/%s: a subscriber failed", self.kind, metadata.namespace, metadata.name)
