"""Looking at a data center before anything is decided.

The list of the cluster knows no descriptions, so of every template, and of every machine without tags that could be an
unfinished one, the configuration is read. A host that cannot be asked is left out with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from nagaya.infrastructure.proxmox.client import Proxmox, Snapshot, Token, upid
from nagaya.infrastructure.proxmox.client.calls import path_of
from nagaya.infrastructure.proxmox.client.errors import Forbidden, NotFound, ProxmoxError
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.client.rows import MachineRow, Status
from nagaya.infrastructure.proxmox.image import marker
from nagaya.infrastructure.proxmox.image.choice import IMPORT
from nagaya.infrastructure.proxmox.image.marker import RETIRED
from nagaya.infrastructure.proxmox.image.seen import Seen, SeenStorage, Template, Underway
from nagaya.infrastructure.proxmox.image.wanted import DEFAULT_RANGE, Wanted

_FOLLOWED: Final = frozenset({"download", "qmcreate", "qmtemplate"})
_TASKS: Final = 500
_AT_ONCE: Final = 8
"""Configurations that are read at the same time."""


async def observe(
    proxmox: Proxmox,
    wanted: Wanted | None = None,
    *,
    avoided: Iterable[int] = (),
    size: int | None = None,
    release: tuple[int, int] | None = None,
) -> Seen:
    """Look. `avoided` are VMIDs that somebody else is about to use. Raises ProxmoxError if nothing can be asked."""
    if release is None:
        release = (await proxmox.cluster.version()).release
    snapshot = await proxmox.inventory.get(0)
    hosts = {name: host.online for name, host in snapshot.hosts.items()}
    unread: dict[str, str] = {}
    storages = await _storages(proxmox, snapshot, unread)
    templates = await _templates(proxmox, snapshot, wanted, unread)
    underway: tuple[Underway, ...] = ()
    files: frozenset[tuple[tuple[str, str], str]] = frozenset()
    if wanted is not None:
        underway = await _underway(proxmox, [name for name, on in hosts.items() if on and name not in unread], unread)
        files = await _files(proxmox, storages, hosts, wanted.image.file)
    taken = frozenset({*snapshot.machines, *snapshot.containers, *avoided})
    return Seen(release, hosts, storages, templates, taken, underway, files, size, unread)


async def size_of(proxmox: Proxmox, host: str, url: str, *, verify: bool = True) -> int | None:
    """Bytes of a file on the web, as a host is told; None if it cannot tell. The download itself says why."""
    given = {"url": url, "verify-certificates": None if verify else False}
    try:
        found = await proxmox.calls.record(path_of("nodes", host, "query-url-metadata"), given)
    except ProxmoxError:
        return None
    return int(found["size"]) if found.get("size") else None


async def _storages(proxmox: Proxmox, snapshot: Snapshot, unread: dict[str, str]) -> tuple[SeenStorage, ...]:
    """As the list of the cluster has them; what it does not have as available on a host that is on may be late news, as
    after its start, so that host is asked itself."""
    found = {
        key: SeenStorage(each.node, each.name, each.contents, each.shared, each.available, each.type, each.free)
        for key, each in snapshot.storages.items()
    }
    doubtful = {each.host for each in found.values() if not each.available and snapshot.hosts[each.host].online}
    for host in sorted(doubtful):
        try:
            listed = await proxmox.storages.on(host, enabled=True)
        except ProxmoxError as error:
            unread[host] = error.why
            continue
        for each in listed:
            found[host, each.name] = SeenStorage(
                host, each.name, each.contents, each.shared, each.active, each.type, each.available
            )
    return tuple(found.values())


async def _templates(
    proxmox: Proxmox, snapshot: Snapshot, wanted: Wanted | None, unread: dict[str, str]
) -> tuple[Template, ...]:
    limit = asyncio.Semaphore(_AT_ONCE)

    async def read(row: MachineRow) -> Template | None:
        if row.node in unread or not snapshot.hosts[row.node].online:
            return None if not row.template else _from_row(row)
        try:
            async with limit:
                config = await proxmox.machines.config(row.node, row.vmid)
        except (NotFound, Forbidden):
            return None
        except ProxmoxError as error:
            unread[row.node] = error.why
            return _from_row(row) if row.template else None
        return _template(row, config)

    rows = [each for each in snapshot.machines.values() if _may_be_one(each, wanted)]
    found = await asyncio.gather(*map(read, sorted(rows, key=lambda each: each.vmid)))
    return tuple(each for each in found if each is not None)


def _may_be_one(row: MachineRow, wanted: Wanted | None) -> bool:
    """A template, or a machine that is or was to become one: hosts tell up to 10 s late of names and templates, so
    what the list says of them is not enough to leave something out."""
    if row.template or row.name is None or row.tags == (RETIRED,):
        return True
    if wanted is None:
        return row.vmid in DEFAULT_RANGE
    return row.vmid in wanted.vmids or row.name == wanted.image.name or set(row.tags) == set(wanted.image.tags)


def _from_row(row: MachineRow) -> Template:
    return Template(row.vmid, row.node, row.name or "", frozenset(row.tags), pool=row.pool, read=False)


def _template(row: MachineRow, config: MachineConfig) -> Template | None:
    known = marker.read(config.get("description"), row.vmid)
    if not config.template and known is None:
        return None
    volumes = [
        each.leading or ""
        for each in config.disks.values()
        if each.get("media") != "cdrom" and ":" in (each.leading or "")
    ]
    return Template(
        row.vmid,
        row.node,
        config.get("name"),
        frozenset(each.lower() for each in config.tags),
        config.template,
        known,
        row.pool,
        config.get("lock"),
        row.status is Status.RUNNING,
        tuple(volumes),
    )


async def _underway(proxmox: Proxmox, hosts: Iterable[str], unread: dict[str, str]) -> tuple[Underway, ...]:
    credentials = proxmox.facts.credentials
    subject = credentials.id if isinstance(credentials, Token) else credentials.user
    found: list[Underway] = []
    for host in hosts:
        try:
            rows = await proxmox.calls.rows(path_of("nodes", host, "tasks"), {"source": "active", "limit": _TASKS})
        except ProxmoxError as error:
            unread[host] = error.why
            continue
        for row in rows:
            token = f"!{row['tokenid']}" if row.get("tokenid") else ""
            ours = f"{row.get('user')}{token}" == subject
            if ours and row.get("type") in _FOLLOWED and not row.get("endtime"):
                found.append(Underway(upid(str(row["upid"])), str(row["type"]), str(row.get("id") or "")))
    return tuple(found)


async def _files(
    proxmox: Proxmox, storages: Iterable[SeenStorage], hosts: dict[str, bool], file: str
) -> frozenset[tuple[tuple[str, str], str]]:
    places = {
        each.place: each for each in storages if IMPORT in each.contents and each.available and hosts.get(each.host)
    }
    found = set()
    for place, each in places.items():
        try:
            listed = await proxmox.storages.content(each.host, each.name, content=IMPORT)
        except ProxmoxError:
            continue  # what cannot be seen is downloaded again, which finds it there
        if any(volume.id == f"{each.name}:import/{file}" for volume in listed):
            found.add((place, file))
    return frozenset(found)
