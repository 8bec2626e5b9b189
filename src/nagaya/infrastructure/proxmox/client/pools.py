"""Calls about pools: sets of machines and storages that rights can be given on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nagaya.infrastructure.proxmox.client.calls import Calls, Value
from nagaya.infrastructure.proxmox.client.errors import Evidence, NotFound


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool and what is in it, as far as the credentials may see."""

    name: str
    comment: str = ""
    machines: tuple[int, ...] = ()
    storages: tuple[str, ...] = ()


class Pools:
    """Of one data center."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def names(self) -> tuple[str, ...]:
        """Those that the credentials may see."""
        return tuple(str(row["poolid"]) for row in await self._calls.rows("/pools"))

    async def get(self, name: str) -> Pool:
        """One with its members. Raises NotFound."""
        rows = await self._calls.rows("/pools", {"poolid": name})
        if not rows:
            raise NotFound(Evidence("GET", "/pools", message=f"pool '{name}' does not exist"), "pool")
        members = rows[0].get("members") or ()
        return Pool(
            name,
            str(rows[0].get("comment") or ""),
            tuple(int(each["vmid"]) for each in members if each.get("vmid") is not None),
            tuple(dict.fromkeys(str(each["storage"]) for each in members if each.get("type") == "storage")),
        )

    async def create(self, name: str, comment: str = "") -> None:
        """Make one. Raises Conflict if it is there."""
        await self._calls.post("/pools", {"poolid": name, "comment": comment or None})

    async def add(
        self, name: str, *, machines: Iterable[int] = (), storages: Iterable[str] = (), move: bool = False
    ) -> None:
        """Put members in; `move` takes machines out of the pool that they are in."""
        await self._calls.put("/pools", {**_members(name, machines, storages), "allow-move": move or None})

    async def remove(self, name: str, *, machines: Iterable[int] = (), storages: Iterable[str] = ()) -> None:
        """Take members out. Raises NotFound for one that is not in it."""
        await self._calls.put("/pools", {**_members(name, machines, storages), "delete": True})

    async def delete(self, name: str) -> None:
        """Remove an empty one. Raises WrongState if it is not empty, NotFound."""
        await self._calls.delete("/pools", {"poolid": name})


def _members(name: str, machines: Iterable[int], storages: Iterable[str]) -> dict[str, Value]:
    return {
        "poolid": name,
        "vms": ",".join(map(str, machines)) or None,
        "storage": ",".join(storages) or None,
    }
