"""Disks that are made from something that is already there: an image, the disk of another machine, a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nagaya.simulators.proxmox.access.rights import Rights
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.actions.bandwidth import Bandwidth
from nagaya.simulators.proxmox.qemu.actions.copying import Copying, Source
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.configuration import drives_of
from nagaya.simulators.proxmox.qemu.drives import Drive
from nagaya.simulators.proxmox.state.storage import Volume
from nagaya.simulators.proxmox.storages.volume_name import split_id
from nagaya.simulators.proxmox.tasks.runner import Log


class Importing:
    """Makes such disks for one machine. What it makes is noted in `made`."""

    def __init__(self, host: Host, rights: Rights, vmid: int, log: Log, made: list[str]) -> None:
        self._host = host
        self._vmid = vmid
        self._log = log
        self._made = made
        self._copying = Copying(host, log, Bandwidth(rights, host.emulator.datacenter, "clone"))

    async def take(self, source: str, key: str, storage: str, format: str | None) -> Volume:
        """The new disk, which becomes the drive `key`."""
        if split_id(source) is None:
            if (file := self._host.volumes.at(source)) is None:
                raise Failure(f"can't find file '{source}'\n")
            return await self._copying.take_file(file, self._vmid, storage=storage, format=format, made=self._made)
        _, name = self._host.volumes.parse(source)
        if self._host.volumes.find(source) is None and name.content == "import":
            raise Failure(f"failed to stat '{self._host.volumes.path(source)}'\n")
        try:
            async with self._held(source, name.vmid) as origin:
                return await self._copying.copy(
                    origin, self._vmid, key, storage=storage, format=format, made=self._made
                )
        except Failure as failure:
            raise Failure(f"cannot import from '{source}' - {failure.text}") from None

    @asynccontextmanager
    async def _held(self, volume: str, owner: int | None) -> AsyncIterator[Source]:
        """What is copied; the machine that it belongs to is not changed meanwhile."""
        host = self._host
        if host.volumes.find(volume) is None:
            raise Failure(f"could not get size of {volume}\n")
        if Drive("", {"file": volume}).cloudinit:
            raise Failure("cannot import from cloudinit disk\n")
        guest = None if owner is None else host.emulator.datacenter.guests.get(owner)
        if guest is None:
            yield Source(volume)
            return
        if guest.node != host.node:
            raise Failure(f"owner VM {owner} not on local node\n")
        drive = next((drive.key for drive in drives_of(guest.config) if drive.file == volume), None)
        source = Source(volume, drive, mirror=guest if guest.running and drive is not None else None)
        if guest.vmid == self._vmid:
            yield source
            return
        async with host.lock(guest.vmid, self._log, timeout=30, shared=not guest.running):
            yield source
