"""What was asked of Proxmox VE and when, for those who count it: benchmarks, and the test that holds promises.

PVE tells nothing by itself, so some things have to be asked for again and again. How often, the documentation promises
(docs/proxmox.md, "How often Proxmox VE is asked"); `PROMISES` is the same for programs. The rest is asked when
something has happened: a step was done, a task has ended.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.transport import ROOT, Answer, Request, Transport
from nagaya.simulators.proxmox.surface import routes

PROMISES: Final[Mapping[str, float]] = {
    "GET /cluster/resources": 2.0,
    "GET /nodes/{node}/qemu": 30.0,
    "GET /nodes/{node}/tasks": 0.5,
    "GET /nodes/{node}/tasks/{upid}/status": 0.5,
    "GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces": 5.0,
    "GET /nodes/{node}/qemu/{vmid}/agent/file-read": 5.0,
    "GET /access/permissions": 3600.0,
}
"""Seconds that are at least between two of the same question, to the same host, on the same task or machine."""
BEFORE_DESTRUCTION: Final = "GET /cluster/resources?type=vm"
"""Asked once by whoever is about to destroy a VM; several may be at the same time."""
_ROUNDING: Final = 0.001


@dataclass(frozen=True, slots=True)
class Asked:
    """A request."""

    at: float
    route: str
    """With its method: `GET /nodes/{node}/qemu/{vmid}/config`."""
    question: str
    """All of it: path and query."""


@dataclass(slots=True)
class RequestLog:
    """All that was asked, oldest first."""

    now: Callable[[], float]
    asked: list[Asked] = field(default_factory=list)

    def note(self, request: Request) -> None:
        """One more."""
        path = unquote(request.path).removeprefix(ROOT)
        found = routes("9.2").find(request.method, path)
        route = f"{request.method} {found.route.path if found is not None else path}"
        self.asked.append(Asked(self.now(), route, f"{request.method} {path}?{request.query}"))

    def around(self, transport: Transport) -> Transport:
        """A transport whose requests are noted."""
        return _Noted(transport, self)

    def counts(self) -> Counter[str]:
        """How many there were, by route."""
        return Counter(each.route for each in self.asked)

    def closest(self) -> dict[str, float]:
        """By route, the shortest time in seconds between two of the same question. Routes where none was repeated are
        left out."""
        found: dict[str, float] = {}
        for route, pause in self._pauses():
            found[route] = min(pause, found.get(route, pause))
        return found

    def broken_promises(self, promises: Mapping[str, float] = PROMISES) -> list[str]:
        """What was asked for more often than is promised."""
        return [
            f"{route} was repeated after {pause:.3f} s; {promises[route]:g} s are promised"
            for route, pause in self.closest().items()
            if pause < promises.get(route, 0.0) - _ROUNDING
        ]

    def _pauses(self) -> Iterator[tuple[str, float]]:
        times: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        for each in self.asked:
            if each.route.startswith("GET ") and each.question != BEFORE_DESTRUCTION:
                times[each.route, each.question].append(each.at)
        for (route, _), moments in times.items():
            for before, after in pairwise(moments):
                yield route, after - before


class _Noted:
    """A way to hosts."""

    def __init__(self, inner: Transport, log: RequestLog) -> None:
        self._inner = inner
        self._log = log

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        self._log.note(request)
        return await self._inner.send(endpoint, trust, request)

    async def close(self) -> None:
        await self._inner.close()
