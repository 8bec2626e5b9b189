"""A way of controllers to an API server, in all weathers, which ends with their process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol

from nagaya.apiserver.storage import Store
from nagaya.kube.streams.stream import Stream, StreamBroken
from nagaya.kube.transport import Answer, AnswerLost, Call, StreamAnswer, Transport, Unreachable
from support.crashes import Killed
from support.plane.weather import Fate, News, Way, Weather
from support.transports import refuses

PATIENCE: Final = 30.0
"""Seconds that a call waits which does not say for how long."""
LATE: Final = 3.0
"""Seconds by which an answer is late."""

Seen = Callable[[str], None]
"""Told of every call, when it has ended."""


class Dialing(Transport, Protocol):
    """A transport that has ways to pods too."""

    async def dial(self, namespace: str, name: str, port: int) -> Stream:
        """A stream to a port of a pod."""
        ...


class ApiWay:
    """Another transport, on which things go wrong."""

    def __init__(
        self,
        inner: Transport,
        way: Way,
        weather: Weather,
        death: asyncio.Event,
        seen: Seen,
        store: Callable[[], Store | None],
    ) -> None:
        self._inner = inner
        self._way = way
        self._weather = weather
        self._death = death
        self._seen = seen
        self._store = store

    async def send(self, call: Call) -> Answer:
        """Make a call, maybe."""
        self._alive(call)
        fate = self._weather.fate(self._way)
        self._seen(f"{self._way}: {call}" + (f" {fate}" if fate is not None else ""))
        if fate is Fate.REFUSED:
            raise Unreachable(call, "refused, as it is told in the story")
        if fate is Fate.ERROR:
            return _error(call)
        if fate is Fate.HANGS:
            await asyncio.sleep(call.timeout or PATIENCE)
            raise AnswerLost(call, "no answer, as it is told in the story")
        answer = await self._inner.send(call)
        if fate is Fate.LATE:
            await asyncio.sleep(min(LATE, (call.timeout or PATIENCE) / 2))
        if fate is Fate.HANGS_AFTER:
            await asyncio.sleep(call.timeout or PATIENCE)
        self._alive(call)
        if fate in (Fate.LOST, Fate.HANGS_AFTER):
            raise AnswerLost(call, "lost, as it is told in the story")
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        """Make a call whose answer comes by and by."""
        self._alive(call)
        fate = self._weather.fate(self._way)
        self._seen(f"{self._way}: {call} as a stream" + (f" {fate}" if fate is not None else ""))
        if fate is not None and fate is not Fate.LATE:
            raise Unreachable(call, "refused, as it is told in the story")
        async with self._inner.stream(call) as answer:
            yield answer if answer.status != 200 else _Foggy(self, call, answer)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._inner.close()

    async def await_news(self, call: Call) -> int:
        """Let happen to an event what does. Says how often it is told."""
        found = self._weather.news(self._way)
        if found is None:
            return 1
        news, seconds = found
        if news is News.LATE:
            await asyncio.sleep(seconds)
        elif news is News.TWICE:
            return 2
        else:
            store = self._store()
            if news is News.FORGOTTEN and store is not None and not store.closed:
                self._seen(f"{self._way}: the history is forgotten")
                store.compact(store.revision)
            raise AnswerLost(call, "broken, as it is told in the story")
        return 1

    def _alive(self, call: Call) -> None:
        if self._death.is_set():
            raise Killed(call)


class DialingWay(ApiWay):
    """The same, with ways to pods."""

    def __init__(
        self,
        inner: Dialing,
        way: Way,
        weather: Weather,
        death: asyncio.Event,
        seen: Seen,
        store: Callable[[], Store | None],
    ) -> None:
        super().__init__(inner, way, weather, death, seen, store)
        self._dialing = inner

    async def dial(self, namespace: str, name: str, port: int) -> Stream:
        """A stream to a port of a pod, maybe."""
        call = Call("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/portforward", timeout=PATIENCE)
        self._alive(call)
        fate = self._weather.fate(self._way)
        self._seen(f"{self._way}: {call} to port {port}" + (f" {fate}" if fate is not None else ""))
        if fate in (Fate.REFUSED, Fate.ERROR):
            raise Unreachable(call, "refused, as it is told in the story")
        stream = await self._dialing.dial(namespace, name, port)
        if fate is None or fate is Fate.LATE:
            return stream
        await stream.close()
        raise StreamBroken("broken, as it is told in the story")


class _Foggy:
    """An answer that comes by and by."""

    def __init__(self, way: ApiWay, call: Call, answer: StreamAnswer) -> None:
        self._way = way
        self._call = call
        self._answer = answer
        self.status = answer.status
        self.headers = answer.headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer:
            for _ in range(await self._way.await_news(self._call)):
                yield chunk

    async def body(self) -> bytes:
        """All of it."""
        return await self._answer.body()


def _error(call: Call) -> Answer:
    if call.method in ("PUT", "PATCH"):
        return refuses(409, "Conflict", "somebody else wrote first, as it is told in the story")
    return refuses(500, "InternalError", "an accident, as it is told in the story")
