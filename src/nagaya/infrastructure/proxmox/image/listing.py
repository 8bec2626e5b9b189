"""Images as people look at them: one line for each, with the hosts that have it and who needs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nagaya.infrastructure.proxmox.image.seen import Seen, Template
from nagaya.infrastructure.proxmox.image.users import Users


class State(StrEnum):
    """Of an image."""

    READY = "ready"
    RETIRED = "retired"
    """Another build has come in its place."""
    UNFINISHED = "unfinished"
    """Run `image add` again to finish it."""
    FOREIGN = "not ours"
    UNKNOWN = "unknown"
    """Its host is off, or does not answer."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An image, or a template that somebody else made."""

    name: str
    state: State
    templates: tuple[Template, ...]
    used_by: tuple[str, ...] | None = None
    """None: nobody looked."""

    @property
    def shown(self) -> dict[str, Any]:
        """For programs."""
        first = self.templates[0]
        known = first.marker
        return {
            "name": self.name,
            "state": str(self.state),
            "origin": known.origin if known is not None else "",
            "kubernetes": self.kubernetes,
            "made": known.made if known is not None else "",
            "url": known.url if known is not None else "",
            "checksum": known.checksum if known is not None else "",
            "tags": sorted(first.tags),
            "templates": [
                {"host": each.host, "vmid": each.vmid, "storages": list(each.storages)} for each in self.templates
            ],
            **({} if self.used_by is None else {"usedBy": list(self.used_by)}),
        }

    @property
    def kubernetes(self) -> str:
        """The version that is in it, as its marker or a tag says."""
        first = self.templates[0]
        if first.marker is not None:
            return first.marker.kubernetes
        tags = (each.removeprefix("kubernetes-") for each in sorted(first.tags) if each.startswith("kubernetes-v"))
        return next(tags, "")


def listed(seen: Seen, users: Users | None = None) -> list[Listed]:
    """All of them: ours by origin and age, then those of others."""
    groups: dict[tuple[object, ...], list[Template]] = {}
    for each in seen.templates:
        key: tuple[object, ...] = (each.vmid,) if each.marker is None else (*each.marker.key, _state(each))
        groups.setdefault(key, []).append(each)
    found = [
        Listed(
            group[0].name or f"VM {group[0].vmid}",
            _state(group[0]),
            tuple(sorted(group, key=lambda each: (each.host, each.vmid))),
            None if users is None else _used(users, group),
        )
        for group in groups.values()
    ]
    foreign = (State.FOREIGN, State.UNKNOWN)
    return sorted(found, key=lambda each: (each.state in foreign, each.name, each.state, each.templates[0].vmid))


def _state(template: Template) -> State:
    if not template.read:
        return State.UNKNOWN
    if template.marker is None:
        return State.FOREIGN
    if template.retired:
        return State.RETIRED
    return State.READY if template.template and template.tags else State.UNFINISHED


def _used(users: Users, group: Iterable[Template]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(who for each in group for who in users.of(each)))


def table(images: Iterable[Listed]) -> str:
    """For people."""
    rows: list[tuple[str, ...]] = [("NAME", "KUBERNETES", "STATE", "MADE", "HOSTS", "TAGS", "USED BY")]
    for each in images:
        first = each.templates[0]
        where = ", ".join(f"{one.host} ({one.vmid})" for one in each.templates)
        made = first.marker.made[:10] if first.marker is not None else ""
        used = "?" if each.used_by is None else ", ".join(each.used_by[:2]) + (" ..." if len(each.used_by) > 2 else "")
        cells = (each.name, each.kubernetes, str(each.state), made, where, ";".join(sorted(first.tags)), used)
        rows.append(tuple(cell or "-" for cell in cells))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
