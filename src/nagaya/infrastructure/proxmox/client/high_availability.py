"""Calls about high availability: which machines PVE itself restarts and moves, and by which rules.

Changing anything of it needs Sys.Console on /, for which PVE has nothing finer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nagaya.infrastructure.proxmox.client.calls import Calls, Parameters, path_of


class HighAvailability:
    """Of one data center."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def resources(self) -> list[dict[str, Any]]:
        """What is managed."""
        return await self._calls.rows("/cluster/ha/resources")

    async def manage(self, vmid: int, *, state: str = "started", comment: str = "") -> None:
        """Let PVE keep a machine in a state. Raises Conflict if it does already."""
        given = {"sid": f"vm:{vmid}", "state": state, "comment": comment or None}
        await self._calls.post("/cluster/ha/resources", given)

    async def set_state(self, vmid: int, state: str) -> None:
        """Change the state that is kept."""
        await self._calls.put(path_of("cluster", "ha", "resources", f"vm:{vmid}"), {"state": state})

    async def release(self, vmid: int) -> None:
        """Let go of a machine. Raises NotFound."""
        await self._calls.delete(path_of("cluster", "ha", "resources", f"vm:{vmid}"))

    async def rules(self) -> list[dict[str, Any]]:
        """Which machines belong where, together, or apart (PVE 9)."""
        return await self._calls.rows("/cluster/ha/rules")

    async def keep_apart(self, rule: str, vmids: Iterable[int]) -> None:
        """A rule that no two of these machines run on one host."""
        given: Parameters = {
            "rule": rule,
            "type": "resource-affinity",
            "affinity": "negative",
            "resources": ",".join(f"vm:{vmid}" for vmid in vmids),
        }
        await self._calls.post("/cluster/ha/rules", given)

    async def change_rule(self, rule: str, vmids: Iterable[int]) -> None:
        """Give a rule of this kind other machines."""
        given = {"type": "resource-affinity", "resources": ",".join(f"vm:{vmid}" for vmid in vmids)}
        await self._calls.put(path_of("cluster", "ha", "rules", rule), given)

    async def delete_rule(self, rule: str) -> None:
        """Remove a rule."""
        await self._calls.delete(path_of("cluster", "ha", "rules", rule))

    async def status(self) -> list[dict[str, Any]]:
        """What the manager does at the moment."""
        return await self._calls.rows("/cluster/ha/status/current")
