"""The ways of the town's controllers: to the clusters on its machines, and to its hosts, both ending with the process.

A cluster is reached at the address that its kubeconfig names, as long as machines there answer for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import unquote

from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.transport import ROOT, Answer, ReplyLost, Request, Transport
from nagaya.infrastructure.simulated.tenancy import Tenancy
from nagaya.infrastructure.simulated.transports import TenantTransport
from nagaya.kube.connection import Connection
from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.proxmox.surface import routes
from nagaya.simulators.tenant.tenant import Tenant


@dataclass(slots=True)
class _Standing:
    """What is at an address at the moment: enough of a tenancy to reach its tenant."""

    clusters: Clusters
    url: str

    @property
    def key(self) -> str:
        return self.url

    @property
    def tenant(self) -> Tenant | None:
        found = self.clusters.at(self.url)
        return None if found is None else found.tenant


def to_clusters(clusters: Clusters) -> Callable[[Connection], TenantTransport]:
    """What makes ways to the APIs and the pods of clusters."""

    def connect(connection: Connection) -> TenantTransport:
        return TenantTransport(cast(Tenancy, _Standing(clusters, connection.server)), connection)

    return connect


def route_of(method: str, path: str) -> str:
    """The method and the route that are meant by them: `POST /nodes/{node}/qemu/{vmid}/clone`."""
    found = routes("9.2").find(method, path)
    return f"{method} {found.route.path if found is not None else path}"


def call_of(request: Request) -> str:
    """The method and the route that a request means."""
    return route_of(request.method, unquote(request.path).removeprefix(ROOT))


def changes(call: str) -> bool:
    """Whether such a call may change something."""
    return not call.startswith("GET ")


@dataclass(slots=True)
class Ledger:
    """All that was asked of the hosts, by every process there was, and how it ends."""

    calls: list[str] = field(default_factory=list)
    fatal: str = ""
    """The call at which the process dies next."""
    takes_effect: bool = True
    skip: int = 0
    """So many of these calls it survives."""

    def die_at(self, call: str, *, takes_effect: bool, skip: int = 0) -> None:
        """Let the process die at a call: before it is sent, or before its answer comes."""
        self.fatal, self.takes_effect, self.skip = call, takes_effect, skip

    def is_fatal(self, call: str) -> bool:
        """Whether this is the one."""
        if call != self.fatal:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.fatal = ""
        return True

    def distinct(self, since: int = 0) -> list[str]:
        """Each call once, in the order in which they were first made."""
        return list(dict.fromkeys(self.calls[since:]))

    def writes(self, since: int = 0) -> list[str]:
        """Those that may have changed something."""
        return [each for each in self.calls[since:] if changes(each)]


class MortalWay:
    """A way to hosts that ends with its process."""

    def __init__(self, inner: Transport, ledger: Ledger, death: asyncio.Event) -> None:
        self._inner = inner
        self._ledger = ledger
        self._death = death

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        call = call_of(request)
        self._check(call)
        self._ledger.calls.append(call)
        fatal = self._ledger.is_fatal(call)
        if fatal and not self._ledger.takes_effect:
            self._death.set()
        self._check(call)
        answer = await self._inner.send(endpoint, trust, request)
        if fatal:
            self._death.set()
        self._check(call)
        return answer

    async def close(self) -> None:
        await self._inner.close()

    def _check(self, call: str) -> None:
        if self._death.is_set():
            raise ReplyLost(f"{call}: the process was killed")


def short(call: str) -> str:
    """A name for a call in the name of a test."""
    method, _, path = call.partition(" ")
    kept: Iterable[str] = (part for part in path.split("/") if part and not part.startswith("{"))
    return f"{method}-{'-'.join(kept)}"
