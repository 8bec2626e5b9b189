"""What runs the controllers of a process: one cache for all, started in the right order and stopped in reverse.

Controllers begin only when every kind they hear of is in the cache, because an object that is not there yet looks like
one that does not exist.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from nagaya.api.meta import ObjectMeta
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.controller import Controller
from nagaya.kube.metrics import Metrics
from nagaya.world import World

log = logging.getLogger(__name__)
STUCK: Final = 600.0
"""A reconcile that has been running for so many seconds, despite its timeout, holds up the whole event loop."""


class Manager:
    """The controllers of one process, and the cache that they share."""

    def __init__(
        self,
        client: Client,
        world: World,
        *,
        metrics: Metrics | None = None,
        cache: Cache | None = None,
        concerns: Callable[[ObjectMeta], bool] | None = None,
    ) -> None:
        """`concerns` says of which objects the controllers are in charge, by their metadata; of all without it. The
        rest is somebody else's: read, and not looked after."""
        self.client = client
        self.world = world
        self.metrics = Metrics() if metrics is None else metrics
        self.cache = Cache(client, world) if cache is None else cache
        self.controllers: list[Controller] = []
        self._concerns = concerns
        self._started = False
        self._standing_by = False
        self._stopping = False

    def add(self, controller: Controller) -> Controller:
        """Have a controller run from `start` on."""
        if self._started:
            raise RuntimeError(f"controller {controller.name} comes too late: the manager has been started")
        if any(each.name == controller.name for each in self.controllers):
            raise ValueError(f"there is a controller named {controller.name} already")
        self.controllers.append(controller)
        return controller

    def start_cache(self) -> None:
        """Begin to fill the cache: what a process can do that waits to become the leader."""
        for controller in self.controllers:
            for kind in controller.kinds:
                if not self.cache.has(kind):
                    self.cache.start(kind)
        self.cache.follow()

    def stand_by(self) -> None:
        """Be ready to take over: the cache is kept filled, and whoever asks is told that all is well."""
        self._standing_by = True
        self.start_cache()

    async def start(self) -> None:
        """Fill the cache, then let the controllers work. Returns when they do."""
        self.start_cache()
        await self.cache.synced()
        for controller in self.controllers:
            controller.start(self.cache, self.world, self.metrics, self._concerns)
        self._started = True
        log.info("%d controllers are running", len(self.controllers))

    async def stop(self) -> None:
        """Let what is under way end, and follow the server no longer."""
        self._stopping = True
        await asyncio.gather(*(controller.stop() for controller in self.controllers))
        await self.cache.close()

    async def idle(self, *others: Cache) -> None:
        """Wait until no key is queued or in work and the watches have told everything, those of `others` too, such as
        the caches of tenants. For tests.

        Keys that wait for a time of their own choice (`requeue_after`) or that have failed for long do not count.
        """
        while True:
            for controller in self.controllers:
                await controller.queue.idle()
            adds = self._adds()
            for cache in (self.cache, *others):
                await cache.current()
            if adds == self._adds() and not any(controller.queue.busy for controller in self.controllers):
                return

    def unwell(self) -> list[str]:
        """Why the process should be restarted, a sentence each; empty if it need not be."""
        return [
            f"controller {controller.name} has worked on one key for {controller.queue.longest_running:.0f} s"
            for controller in self.controllers
            if controller.running and controller.queue.longest_running > STUCK
        ]

    def unready(self) -> list[str]:
        """Why the controllers do not do their work at present, a sentence each; empty if they do."""
        if self._stopping:
            return ["the process is stopping"]
        problems = self.cache.unfollowed()
        return problems if self._started or self._standing_by or problems else ["the controllers have not been started"]

    def warnings(self) -> list[str]:
        """What an operator should look at although the controllers work, a sentence each."""
        return self.cache.unreadable()

    def _adds(self) -> int:
        return sum(controller.queue.adds for controller in self.controllers)
