"""A way of controllers to the hosts of a data center, in all weathers, which ends with their process."""

from __future__ import annotations

import asyncio
from typing import Final

from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.transport import Answer, NotSent, ReplyLost, Request, Transport
from support.plane.api_way import Seen
from support.plane.weather import Fate, Way, Weather
from support.proxmox_town_ways import Ledger, call_of

LATE: Final = 3.0


class HostWay:
    """Another transport, on which things go wrong."""

    def __init__(self, inner: Transport, weather: Weather, death: asyncio.Event, ledger: Ledger, seen: Seen) -> None:
        self._inner = inner
        self._weather = weather
        self._death = death
        self._ledger = ledger
        self._seen = seen

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        """Send a request, maybe."""
        self._alive()
        fate = self._weather.fate(Way.HOSTS)
        told = f"{Way.HOSTS}: {request.method} {request.path} at {endpoint.host}"
        self._seen(told + (f" {fate}" if fate is not None else ""))
        if fate is Fate.REFUSED:
            raise NotSent(f"{endpoint} cannot be reached, as it is told in the story")
        if fate is Fate.ERROR:
            return Answer(500, "an accident, as it is told in the story")
        if fate is Fate.HANGS:
            await asyncio.sleep(request.timeout)
            raise ReplyLost(f"{endpoint} did not answer, as it is told in the story", timed_out=True)
        self._ledger.calls.append(call_of(request))
        answer = await self._inner.send(endpoint, trust, request)
        if fate is Fate.LATE:
            await asyncio.sleep(min(LATE, request.timeout / 2))
        if fate is Fate.HANGS_AFTER:
            await asyncio.sleep(request.timeout)
            raise ReplyLost(f"{endpoint} did not answer, as it is told in the story", timed_out=True)
        self._alive()
        if fate is Fate.LOST:
            raise ReplyLost(f"{endpoint} closed the connection, as it is told in the story")
        return answer

    async def close(self) -> None:
        """Let go of every connection."""
        await self._inner.close()

    def _alive(self) -> None:
        if self._death.is_set():
            raise ReplyLost("the process was killed")
