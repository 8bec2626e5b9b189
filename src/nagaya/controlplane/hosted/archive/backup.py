"""A tenant into an archive, while it runs: its data as it was at one revision, its authorities, its objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nagaya.api.controlplane.data_store import ETCD
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.controlplane.hosted.archive import form
from nagaya.controlplane.hosted.archive.errors import ArchiveError, Refused
from nagaya.controlplane.hosted.archive.found import Found
from nagaya.controlplane.hosted.archive.objects import kept
from nagaya.controlplane.hosted.archive.reader import Archive, Contents
from nagaya.controlplane.hosted.archive.writer import ArchiveWriter
from nagaya.controlplane.hosted.data_store.driver import Driver
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.world import World

Moved = Callable[[int], None]
"""Told how many bytes of data have passed so far."""


@dataclass(frozen=True, slots=True)
class Backup:
    """An archive that was made, and read again to its last byte."""

    path: Path
    size: int
    contents: Contents


async def back_up(
    found: Found, driver: Driver, path: Path, world: World, *, moved: Moved, overwrite: bool = False
) -> Backup:
    """Make an archive. Raises ArchiveError and StoreError; then there is no file that was not there before."""
    plane = found.plane
    if plane is None or found.control_plane is None or found.cluster is None:
        raise ArchiveError(f"Tenant {found.names} is not there.")
    if found.incomplete:
        raise Refused(
            f"HostedControlPlane {found.names.namespace}/{found.names.control_plane} is being restored: its data is "
            "not whole. Complete that first: nagaya tenant restore"
        )
    if not overwrite and await asyncio.to_thread(path.exists):
        raise Refused(f"{path} exists. Name another file, or replace it with --force.")
    head = _head(found, plane, world)
    small = {
        form.HEAD: msgspec.json.encode(head),
        form.CLUSTER: msgspec.json.encode(kept(found.cluster.raw)),
        form.CONTROL_PLANE: msgspec.json.encode(kept(found.control_plane.raw)),
    }
    secrets = {f"{form.SECRETS}{name}.json": secret for name, secret in found.secrets.items()}
    for name, secret in sorted(secrets.items()):
        small[name] = msgspec.json.encode(kept(secret.raw))
    try:
        with await asyncio.to_thread(ArchiveWriter, path) as writer:
            await asyncio.to_thread(_add_all, writer, small)
            done = 0
            async for piece in driver.snapshot(Tenant(plane.tenant_id)):
                await asyncio.to_thread(writer.add_data, piece)
                done += len(piece)
                moved(done)
            await asyncio.to_thread(writer.finish)
            archive = Archive(writer.beside)
            try:
                contents, size = await archive.contents(), archive.size
            finally:
                archive.close()
            await asyncio.to_thread(writer.keep, overwrite=overwrite)
    except OSError as error:
        raise ArchiveError(f"{path} cannot be written: {error.strerror or error}.") from error
    return Backup(path, size, contents)


def _head(found: Found, plane: HostedControlPlane, world: World) -> form.Head:
    names = found.names
    return form.Head(
        made=world.clock.now().isoformat(timespec="seconds"),
        namespace=names.namespace,
        cluster=names.cluster,
        control_plane=names.control_plane,
        uid=plane.tenant_id,
        version=plane.spec.version,
        data_store=plane.spec.data_store_ref.name,
        driver=ETCD if found.data_store is None else found.data_store.spec.driver,
        encrypted=plane.spec.api_server.encryption is not None,
    )


def _add_all(writer: ArchiveWriter, small: dict[str, bytes]) -> None:
    for name, content in small.items():
        writer.add(name, content)
