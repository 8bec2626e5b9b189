"""A way to the server on which everything goes wrong that can, by chance from one seed.

Requests are refused (409, 429, 500), do not arrive, or arrive while their answers do not. Watches tell late, each kind
by a lateness of its own, so that what happened first may be heard of last; they break; and the server forgets its
history meanwhile, so that nothing but another list helps (410). Within one watch the order holds, as it does in
reality.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nagaya.apiserver.server import ApiServer
from nagaya.kube.transport import Answer, AnswerLost, Call, StreamAnswer, Transport, Unreachable
from support.transports import refuses

REFUSED = 0.06
LOST = 0.06
BROKEN = 0.1
"""Of events: after how many a watch breaks."""
FORGETS = 0.5
"""Of broken watches: how many find that the history is gone."""
LATEST = 2.0
"""Seconds by which an event may come late."""


class Weather:
    """What goes wrong on all ways to a server, until it is told to be calm."""

    def __init__(self, server: ApiServer, seed: int) -> None:
        self.server = server
        self.random = random.Random(seed)
        self.calm = False
        self.faults: dict[str, int] = {}
        """What went wrong, and how often."""

    def count(self, fault: str) -> None:
        """A fault happened."""
        self.faults[fault] = self.faults.get(fault, 0) + 1


class Unruly:
    """Another way to the server, in some weather."""

    def __init__(self, inner: Transport, weather: Weather) -> None:
        self._inner = inner
        self._weather = weather

    async def send(self, call: Call) -> Answer:
        """Make a call, maybe."""
        weather, chance = self._weather, self._weather.random
        if weather.calm:
            return await self._inner.send(call)
        await asyncio.sleep(chance.choice((0.0, 0.0, 0.05)))
        if chance.random() < REFUSED:
            return self._refusal(call)
        lost = chance.random()
        if lost < LOST / 2:
            weather.count("request lost")
            raise Unreachable(call, "refused by chance")
        answer = await self._inner.send(call)
        if lost < LOST:
            weather.count("answer lost")
            raise AnswerLost(call, "lost by chance")
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        """Make a call whose answer comes late, or only in part."""
        async with self._inner.stream(call) as answer:
            yield answer if answer.status != 200 else _Late(self, call, answer)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._inner.close()

    async def delay(self, call: Call) -> None:
        """Let some time pass before an event is told, or break the watch."""
        weather = self._weather
        if weather.calm:
            return
        chance = weather.random.random()
        if chance < BROKEN:
            weather.count("watch broken")
            if chance < BROKEN * FORGETS:
                weather.count("history forgotten")
                weather.server.store.compact(weather.server.store.revision)
            raise AnswerLost(call, "broken by chance")
        if weather.random.random() < 0.5:
            await asyncio.sleep(weather.random.uniform(0.0, LATEST))

    def _refusal(self, call: Call) -> Answer:
        weather = self._weather
        kind = weather.random.choice(["500", "429"] if call.method in ("GET", "DELETE") else ["500", "429", "409"])
        weather.count(kind)
        if kind == "409":
            return refuses(409, "Conflict", "somebody else wrote first, by chance")
        if kind == "429":
            return refuses(429, "TooManyRequests", "too many, by chance", weather.random.choice(("", "1")))
        return refuses(500, "InternalError", "an accident, by chance")


class _Late:
    """An answer that comes by and by."""

    def __init__(self, unruly: Unruly, call: Call, answer: StreamAnswer) -> None:
        self._unruly = unruly
        self._call = call
        self._answer = answer
        self.status = answer.status
        self.headers = answer.headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer:
            await self._unruly.delay(self._call)
            yield chunk

    async def body(self) -> bytes:
        """All of it."""
        return await self._answer.body()
