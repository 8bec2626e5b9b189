"""Calls about storages and what is on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nagaya.infrastructure.proxmox.client.calls import Calls, Parameters, path_of
from nagaya.infrastructure.proxmox.client.multipart import Upload
from nagaya.infrastructure.proxmox.client.upid import Upid


@dataclass(frozen=True, slots=True)
class HostStorage:
    """A storage as one host has it now."""

    name: str
    type: str
    contents: frozenset[str]
    active: bool
    """Whether it can be reached from there."""
    enabled: bool
    shared: bool
    total: int = 0
    used: int = 0
    available: int = 0


@dataclass(frozen=True, slots=True)
class Volume:
    """Something on a storage; `id` is `<storage>:<name>`."""

    id: str
    content: str
    format: str = ""
    size: int = 0
    vmid: int | None = None
    parent: str = ""
    made: datetime | None = None
    """When; None if the storage does not tell."""


class Storages:
    """Of one data center."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def on(self, node: str, *, content: str = "", enabled: bool = False) -> list[HostStorage]:
        """Those that a host has and the credentials may see."""
        given = {"content": content or None, "enabled": enabled or None}
        return [_storage(row) for row in await self._calls.rows(path_of("nodes", node, "storage"), given)]

    async def status(self, node: str, storage: str) -> HostStorage:
        """One of them. Raises NotFound, WrongState."""
        return _storage({"storage": storage, **await self._calls.record(_path(node, storage, "status"))})

    async def content(self, node: str, storage: str, *, content: str = "", vmid: int | None = None) -> list[Volume]:
        """What is on it."""
        given = {"content": content or None, "vmid": vmid}
        return [_volume(row) for row in await self._calls.rows(_path(node, storage, "content"), given)]

    async def upload(
        self, node: str, storage: str, content: str, file: Upload, *, checksum: str = "", algorithm: str = "sha256"
    ) -> Upid:
        """Put a file there; one of the same name is replaced. The task runs on the host that took it. Without the right
        to, PVE closes the connection on larger files, which then looks like a lost reply."""
        given: Parameters = {
            "content": content,
            "checksum-algorithm": algorithm if checksum else None,
            "checksum": checksum or None,
        }
        return await self._calls.begin("POST", _path(node, storage, "upload"), given, upload=file)

    async def download(
        self,
        node: str,
        storage: str,
        content: str,
        url: str,
        filename: str,
        *,
        checksum: str = "",
        algorithm: str = "sha256",
        verify: bool = True,
    ) -> Upid:
        """Let the host fetch a file; one that is there already with the right checksum is kept."""
        given: Parameters = {
            "content": content,
            "url": url,
            "filename": filename,
            "checksum": checksum or None,
            "checksum-algorithm": algorithm if checksum else None,
            "verify-certificates": None if verify else False,
        }
        return await self._calls.begin("POST", _path(node, storage, "download-url"), given)

    async def allow(self, storage: str, contents: Iterable[str]) -> None:
        """Say what a storage may hold, all of it, on every host. Can be repeated."""
        await self._calls.put(path_of("storage", storage), {"content": ",".join(sorted(contents))})

    async def delete(self, node: str, volume: str) -> Upid:
        """Remove a volume, named by its id. PVE asks no machine whether it uses it."""
        storage, colon, _ = volume.partition(":")
        if not colon:
            raise ValueError(f"{volume!r} is no id of a volume")
        return await self._calls.begin("DELETE", _path(node, storage, "content", volume))


def _path(node: str, storage: str, *parts: str) -> str:
    return path_of("nodes", node, "storage", storage, *parts)


def _storage(row: Mapping[str, Any]) -> HostStorage:
    return HostStorage(
        str(row["storage"]),
        str(row.get("type") or ""),
        frozenset(filter(None, str(row.get("content") or "").split(","))),
        bool(int(row.get("active") or 0)),
        bool(int(row.get("enabled") or 0)),
        bool(int(row.get("shared") or 0)),
        int(row.get("total") or 0),
        int(row.get("used") or 0),
        int(row.get("avail") or 0),
    )


def _volume(row: Mapping[str, Any]) -> Volume:
    vmid, made = row.get("vmid"), int(row.get("ctime") or 0)
    return Volume(
        str(row["volid"]),
        str(row.get("content") or ""),
        str(row.get("format") or ""),
        int(row.get("size") or 0),
        None if vmid is None else int(vmid),
        str(row.get("parent") or ""),
        datetime.fromtimestamp(made, UTC) if made else None,
    )
