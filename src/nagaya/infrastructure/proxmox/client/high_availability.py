"""Calls about high availability: which machines PVE itself restarts and moves, and by which rules.

Changing anything of it needs Sys.Console on /, for which PVE has nothing finer; reading needs Sys.Audit there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nagaya.infrastructure.proxmox.client.calls import Calls, Parameters, path_of

RESOURCE_AFFINITY: Final = "resource-affinity"
NEGATIVE: Final = "negative"
POSITIVE: Final = "positive"


@dataclass(frozen=True, slots=True)
class HaResource:
    """A machine that the HA manager looks after, as it was declared. None: as PVE has it without a word."""

    vmid: int
    state: str = "started"
    group: str = ""
    max_restart: int | None = None
    max_relocate: int | None = None


@dataclass(frozen=True, slots=True)
class HaRule:
    """A rule of PVE 9: which machines belong where, together, or apart."""

    name: str
    type: str
    vmids: frozenset[int]
    affinity: str = ""
    digest: str = ""
    others: tuple[str, ...] = ()
    """Resources that are no machines; they stay."""


class HighAvailability:
    """Of one data center."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def resources(self) -> dict[int, HaResource]:
        """The machines that are managed."""
        rows = await self._calls.rows("/cluster/ha/resources", {"type": "vm"})
        found = (_resource(row) for row in rows)
        return {each.vmid: each for each in found if each is not None}

    async def manage(self, vmid: int, *, state: str = "started", comment: str = "") -> None:
        """Let PVE keep a machine in a state. Raises Conflict if it does already."""
        await self.add(vmid, {"state": state, "comment": comment or None})

    async def add(self, vmid: int, options: Parameters) -> None:
        """The same with all that can be declared of a machine. Raises Conflict."""
        await self._calls.post("/cluster/ha/resources", {"sid": f"vm:{vmid}", **options})

    async def change(self, vmid: int, options: Parameters, *, delete: Iterable[str] = ()) -> None:
        """Change what was declared of a machine."""
        given = {**options, "delete": ",".join(delete) or None}
        await self._calls.put(_sid(vmid), given)

    async def set_state(self, vmid: int, state: str) -> None:
        """Change the state that is kept."""
        await self.change(vmid, {"state": state})

    async def release(self, vmid: int) -> None:
        """Let go of a machine; rules forget it too. It goes on as it is. Raises NotFound."""
        await self._calls.delete(_sid(vmid))

    async def rules(self) -> dict[str, HaRule]:
        """All rules. Raises NotImplemented before PVE 9."""
        rows = await self._calls.rows("/cluster/ha/rules")
        return {rule.name: rule for rule in map(_rule, rows)}

    async def keep_apart(self, rule: str, vmids: Iterable[int]) -> None:
        """A rule that no two of these machines run on one host."""
        await self.bind(rule, NEGATIVE, vmids)

    async def bind(self, rule: str, affinity: str, vmids: Iterable[int], *, comment: str = "") -> None:
        """A rule that machines run on different hosts, or all on one. Raises Conflict if there is one of that name, and
        Refused for fewer than two machines, or for more than hosts where they are to be apart."""
        given: Parameters = {
            "rule": rule,
            "type": RESOURCE_AFFINITY,
            "affinity": affinity,
            "resources": _named(vmids),
            "comment": comment or None,
        }
        await self._calls.post("/cluster/ha/rules", given)

    async def change_rule(
        self,
        rule: str,
        vmids: Iterable[int],
        *,
        type: str = RESOURCE_AFFINITY,
        affinity: str = "",
        others: Iterable[str] = (),
        digest: str = "",
    ) -> None:
        """Give a rule other machines. Raises Conflict if the rules are no longer those with that digest."""
        given: Parameters = {
            "type": type,
            "resources": ",".join([_named(vmids), *others]),
            "affinity": affinity or None,
            "digest": digest or None,
        }
        await self._calls.put(path_of("cluster", "ha", "rules", rule), given)

    async def delete_rule(self, rule: str) -> None:
        """Remove a rule."""
        await self._calls.delete(path_of("cluster", "ha", "rules", rule))

    async def status(self) -> list[dict[str, Any]]:
        """What the manager does at the moment."""
        return await self._calls.rows("/cluster/ha/status/current")


def _sid(vmid: int) -> str:
    return path_of("cluster", "ha", "resources", f"vm:{vmid}")


def _named(vmids: Iterable[int]) -> str:
    return ",".join(f"vm:{vmid}" for vmid in sorted(vmids))


def _vmid(sid: str) -> int | None:
    kind, _, number = sid.partition(":")
    return int(number) if kind == "vm" and number.isdigit() else None


def _resource(row: Mapping[str, Any]) -> HaResource | None:
    if (vmid := _vmid(str(row.get("sid", "")))) is None:
        return None
    return HaResource(
        vmid,
        str(row.get("state") or "started"),
        str(row.get("group") or ""),
        _number(row.get("max_restart")),
        _number(row.get("max_relocate")),
    )


def _rule(row: Mapping[str, Any]) -> HaRule:
    listed = [each.strip() for each in str(row.get("resources") or "").split(",") if each.strip()]
    vmids = {sid: _vmid(sid) for sid in listed}
    return HaRule(
        str(row["rule"]),
        str(row.get("type") or ""),
        frozenset(vmid for vmid in vmids.values() if vmid is not None),
        str(row.get("affinity") or ""),
        str(row.get("digest") or ""),
        tuple(sid for sid, vmid in vmids.items() if vmid is None),
    )


def _number(value: Any) -> int | None:
    return None if value is None else int(value)
