"""Counts of the calls that were made, by route and by client: what a benchmark of a client asks for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from nagaya.simulators.proxmox.faults.caller import caller_in
from nagaya.simulators.proxmox.faults.faults import api_path
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.surface import routes

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator, Proceed

OTHER = "(no route)"


class Requests:
    """Counts from the moment it is made."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._counts: Counter[tuple[str, str, str, int]] = Counter()
        emulator.around.insert(0, self._around)

    async def _around(self, request: Request, proceed: Proceed) -> Answer:
        path = api_path(request.path)
        if path is None:
            return await proceed(request)
        found = routes(self._emulator.version).find(request.method, path.rstrip("/") or "/")
        route = found.route.path if found is not None else OTHER
        status = 0
        try:
            answer = await proceed(request)
            status = answer.status
            return answer
        finally:
            self._counts[request.method, route, caller_in(request.headers), status] += 1

    @property
    def total(self) -> int:
        """All of them."""
        return self._counts.total()

    def count(self, method: str, route: str, client: str | None = None) -> int:
        """How many of one route, of all clients or one."""
        return sum(
            number
            for (asked, path, caller, _), number in self._counts.items()
            if (asked, path) == (method, route) and client in (None, caller)
        )

    def listed(self) -> list[dict[str, Any]]:
        """The most frequent first. Status 0 is a call that got no answer."""
        return [
            {"method": method, "route": route, "client": client, "status": status, "count": number}
            for (method, route, client, status), number in self._counts.most_common()
        ]

    def reset(self) -> None:
        """Begin again at nothing."""
        self._counts.clear()
