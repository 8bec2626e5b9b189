"""Which images can go, and their destruction. A template goes only if all of this holds:

- it has our marker, which names this very VMID, and its name and pool are those of the marker, on a fresh read;
- no object of the management API selects it, and no disk of a machine is linked to one of its own;
- somebody named it, or it is older than those that are to be kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.errors import NotFound, ProxmoxError
from nagaya.infrastructure.proxmox.image import marker
from nagaya.infrastructure.proxmox.image.choice import IMAGES
from nagaya.infrastructure.proxmox.image.following import follow
from nagaya.infrastructure.proxmox.image.seen import Seen, Template
from nagaya.infrastructure.proxmox.image.users import Users
from nagaya.infrastructure.proxmox.virtual_machine.removing import check_storages, leftovers

_NUMBERS: Final = re.compile(r"\d+")
_IN_USE: Final = "still in use by linked clone"


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes, and why the rest stays."""

    going: tuple[Template, ...] = ()
    staying: tuple[tuple[Template, str], ...] = ()


class Unknown(Exception):
    """What was named is not there. The message says what is."""


def named(seen: Seen, names: Collection[str], hosts: Collection[str] = ()) -> list[Template]:
    """Those that people mean by name or VMID. Raises Unknown."""
    found: list[Template] = []
    for name in names:
        meant = [
            each
            for each in seen.templates
            if (name in (str(each.vmid), each.name)) and (not hosts or each.host in hosts)
        ]
        if not meant:
            ours = ", ".join(sorted({each.name for each in seen.ours()})) or "none"
            raise Unknown(f"There is no image {name}{' on ' + ', '.join(hosts) if hosts else ''}: there are {ours}.")
        found += [each for each in meant if each not in found]
    return found


def removal(
    seen: Seen,
    users: Users,
    linked: Mapping[int, tuple[str, ...]],
    *,
    only: Collection[Template] | None = None,
    keep: int = 0,
) -> Removal:
    """Decide. `only` are those that somebody named; else all of ours are looked at, and the newest `keep` builds of
    each origin stay."""
    kept = _newest(seen, keep) if only is None else frozenset()
    going: list[Template] = []
    staying: list[tuple[Template, str]] = []
    for each in only if only is not None else seen.ours():
        why = _stays(seen, users, linked, each)
        if not why and only is None and not (each.template and each.tags):
            why = "it is unfinished: `image add` may be at work on it, and `image remove` removes it"
        elif not why and each.marker is not None and each.marker.key in kept:
            why = f"it is among the newest {keep} of {each.marker.origin}"
        if why:
            staying.append((each, why))
        else:
            going.append(each)
    return Removal(tuple(going), tuple(staying))


def _stays(seen: Seen, users: Users, linked: Mapping[int, tuple[str, ...]], template: Template) -> str:
    if not seen.hosts.get(template.host):
        return f"{template.host} is off"
    if not template.read:
        return f"{template.host} could not tell of it"
    if template.marker is None:
        return "Nagaya did not make it"
    if needed := users.of(template):
        more = f" and {len(needed) - 3} more" if len(needed) > 3 else ""
        return f"it is selected by {', '.join(needed[:3])}{more}"
    if clones := linked.get(template.vmid):
        return f"disks of machines are linked to it: {', '.join(clones[:3])}{' and more' if len(clones) > 3 else ''}"
    if template.lock:
        return f"it is locked ({template.lock})"
    if template.running:
        return "somebody started it"
    return _strange(template)


def _strange(template: Template) -> str:
    """What of it is not as it was made."""
    known = template.marker
    assert known is not None
    if template.name != known.name:
        return f"it is called {template.name or 'nothing'} and was made as {known.name}"
    if template.pool != known.pool:
        return f"it is in {_pool(template.pool)} and was put in {_pool(known.pool)}"
    return ""


def _pool(name: str) -> str:
    return f"pool {name}" if name else "no pool"


def _newest(seen: Seen, keep: int) -> frozenset[tuple[str, str, str]]:
    """The newest builds of each origin: by Kubernetes version, then by when they were made."""
    made: dict[str, dict[tuple[str, str, str], tuple[list[int], str]]] = {}
    for each in seen.ours():
        if each.marker is None or not each.template:
            continue
        age = ([int(number) for number in _NUMBERS.findall(each.marker.kubernetes)], each.marker.made)
        known = made.setdefault(each.marker.origin, {})
        known[each.marker.key] = max(age, known.get(each.marker.key, age))
    return frozenset(
        key for builds in made.values() for key in sorted(builds, key=lambda key: builds[key], reverse=True)[:keep]
    )


async def linked_to(proxmox: Proxmox, templates: Collection[Template]) -> dict[int, tuple[str, ...]]:
    """The disks that depend on those of templates. Hosts that do not answer tell of none; Proxmox VE itself refuses to
    remove a disk that others depend on."""
    found: dict[int, tuple[str, ...]] = {}
    for template in templates:
        clones: list[str] = []
        for volume in template.volumes:
            storage, _, name = volume.partition(":")
            base = name.rpartition("/")[2]
            try:
                listed = await proxmox.storages.content(template.host, storage, content=IMAGES)
            except ProxmoxError:
                continue
            clones += [
                each.id
                for each in listed
                if each.id != volume and (f"{base}/" in each.id or _named_as_parent(each.parent, base))
            ]
        if clones:
            found[template.vmid] = tuple(sorted(dict.fromkeys(clones)))
    return found


def _named_as_parent(parent: str, base: str) -> bool:
    return bool(parent) and parent.rpartition("/")[2].partition("@")[0] == base


def _since(known: marker.Marker) -> datetime:
    """When the template was made; without a date, no volume is proven to be newer."""
    try:
        return datetime.fromisoformat(known.made).astimezone(UTC)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Gone:
    """What became of one that was to go."""

    template: Template
    problem: str = ""


async def remove(proxmox: Proxmox, template: Template, tell: Callable[[str, str], None]) -> Gone:
    """Destroy one, after one more look at what it is. Only that it is ours is judged by this look: who needs it was
    decided before."""
    host, vmid = template.host, template.vmid
    try:
        config = await proxmox.machines.config(host, vmid)
        row = await proxmox.cluster.machine(vmid)
        known = marker.read(config.get("description"), vmid)
        if known is None or known != template.marker or config.get("name") != known.name:
            return Gone(template, f"{vmid} on {host} is another machine by now: it was not touched.")
        if row is None or row.node != host or row.pool != known.pool:
            return Gone(template, f"{vmid} is not where it was ({host}, {_pool(known.pool)}): it was not touched.")
        await check_storages(proxmox, vmid, host, config)
        # While the template has its VMID, no volume that bears it can be that of another machine.
        for volume in await leftovers(proxmox, vmid, host, (IMAGES,), _since(known)):
            if not any(volume in value for value in config.options.values()):
                tell(host, f"remove {volume}, which a failed import has left")
                await follow(proxmox, await proxmox.storages.delete(host, volume), lambda _: None)
        tell(host, f"remove {vmid} ({known.name})")
        await follow(proxmox, await proxmox.machines.destroy(host, vmid), lambda _: None)
    except NotFound:
        return Gone(template)
    except ProxmoxError as error:
        if _IN_USE in str(error):
            return Gone(template, f"{vmid} on {host} stays: disks of machines are linked to it ({error}).")
        return Gone(template, str(error))
    return Gone(template)
