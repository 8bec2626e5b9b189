"""How many workers there were at any moment: no machine comes or goes unseen, because every change is told."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.api.cluster.machine import MACHINES
from support.lab import Lab


@dataclass(slots=True)
class Census:
    """Counts the workers of a namespace while it runs."""

    lab: Lab
    most: int = 0
    """The highest number since `reset`, those that were going included."""
    _there: dict[str, Any] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Census:
        listing = await self.lab.client.list(MACHINES, self.lab.namespace)
        self._there = {each.metadata.uid: each for each in listing.items}
        self._task = asyncio.create_task(self._follow(listing.resource_version), name="census")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def reset(self) -> None:
        """Begin anew with what is there."""
        self.most = self._count()

    async def _follow(self, position: str) -> None:
        while True:
            events = self.lab.client.watch(MACHINES, self.lab.namespace, resource_version=position)
            async with aclosing(events):
                async for event in events:
                    position = event.resource_version
                    machine = event.object
                    if machine is None:
                        continue
                    if event.type == "DELETED":
                        self._there.pop(machine.metadata.uid, None)
                    else:
                        self._there[machine.metadata.uid] = machine
                    self.most = max(self.most, self._count())

    def _count(self) -> int:
        return sum(CONTROL_PLANE not in each.metadata.labels for each in self._there.values())
