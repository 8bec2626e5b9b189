"""Copying disks: linked clones, which take no time to speak of, and full copies, which take as long as there is data.

An interrupted copy fails with the command that did it, and whoever ordered it cleans up; a killed one leaves what it
has.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.drives import CLOUDINIT_SIZE, TPM_SIZE, Drive
from nagaya.simulators.proxmox.state.storage import Volume
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES, split_id
from nagaya.simulators.proxmox.tasks.runner import Log, interruptible

CHUNK = 2 << 20
"""Bytes that qemu-img copies at once."""
SMALLEST = 1 << 20
"""Less than this in a disk is the disk's own bookkeeping: there is nothing to copy."""
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True)
class Source:
    """What is copied."""

    volume: str
    drive: str | None = None
    """The drive that it is in its machine, for the log."""
    snapshot: str | None = None
    cloudinit: bool = False
    mirror: bool = False
    """Whether it is the disk of a running machine, which copies it by itself."""
    agent: bool = False
    """Whether the machine can be asked to hold still meanwhile; otherwise it is stopped for a moment."""


def rendered(size: float) -> str:
    """Bytes as PVE shows them in logs."""
    unit = 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {UNITS[unit]}"


class Copying:
    """Makes copies on one host."""

    def __init__(self, host: Host, log: Log, limit: int | None = None) -> None:
        self._host = host
        self._log = log
        self._limit = limit or None
        """KiB per second."""

    async def link(self, drive: Drive, vmid: int, made: list[str]) -> Volume:
        """A linked clone."""
        self._log.say(f"create linked clone of drive {drive.key} ({drive.file})")
        volume = await self._host.volumes.clone(self._log, drive.file, vmid)
        made.append(volume.id)
        return volume

    async def copy(
        self,
        source: Source,
        vmid: int,
        key: str,
        *,
        storage: str | None = None,
        format: str | None = None,
        made: list[str],
    ) -> Volume:
        """A full copy, on another storage or in another format if wanted."""
        named = f"{source.drive} " if source.drive else ""
        self._log.say(f"create full clone of drive {named}({source.volume})")
        volumes = self._host.volumes
        origin_storage, origin_name = volumes.parse(source.volume)
        target = volumes.storage(storage or origin_storage.name)
        wanted = volumes.resolve_format(target, format or origin_name.format.removeprefix("ova+"))
        name, size, origin = None, CLOUDINIT_SIZE, None
        if source.cloudinit:
            name = f"vm-{vmid}-cloudinit" + (f".{wanted}" if target.type in FILE_TYPES else "")
        else:
            if (origin := volumes.find(source.volume)) is None:
                raise Failure(f"volume '{source.volume}' does not exist\n")
            size = TPM_SIZE if key == "tpmstate0" else origin.size
        volume = await volumes.allocate(self._log, target.name, vmid, wanted, size, name)
        made.append(volume.id)
        self._log.say(f"allocated target volume '{volume.id}'")
        if origin is not None:
            await self._transfer(source, origin, volume)
            volume.used, volume.system, volume.data = max(origin.used, volume.used), origin.system, origin.data
        return volume

    async def take_file(self, file: Volume, vmid: int, *, storage: str, format: str | None, made: list[str]) -> Volume:
        """A disk with what is in a file."""
        volumes = self._host.volumes
        wanted = volumes.resolve_format(volumes.storage(storage), format or file.format)
        volume = await volumes.allocate(self._log, storage, vmid, wanted, file.size)
        made.append(volume.id)
        await self._transfer(Source(file.id), file, volume)
        volume.used, volume.system, volume.data = max(file.used, volume.used), file.system, file.data
        return volume

    async def _transfer(self, source: Source, origin: Volume, volume: Volume) -> None:
        await self._log.step("copy")
        data = origin.used if origin.used >= SMALLEST else 0
        seconds = self._seconds(origin, data)
        if source.mirror:
            await self._mirror(source, origin, volume, seconds)
            return
        command = self._command(source, origin, volume)
        with interruptible(self._log, f"copy failed: command '{command}' failed: interrupted by signal\n"):
            self._tell(0, origin.size)
            await self._pass(data, origin, seconds, volume)
        self._tell(100, origin.size)

    def _seconds(self, origin: Volume, data: int) -> float:
        if self._limit:
            return data / 1024 / self._limit
        return self._host.emulator.pace.full_clone_per_gib * origin.size / (1 << 30)

    async def _pass(self, data: int, origin: Volume, seconds: float, volume: Volume) -> None:
        if not data:
            await asyncio.sleep(seconds)
            if origin.format == "raw":
                # Such a file does not say that it is empty, so the tool has gone through it.
                self._tell(100, origin.size)
            return
        # The tool reports whenever another hundredth is done.
        stride = max(1, -(-data // (100 * CHUNK))) * CHUNK
        done = 0
        while done < data:
            step = min(stride, data - done)
            await asyncio.sleep(seconds * step / data)
            done += step
            volume.used = max(volume.used, done)
            self._tell(100 * done / data, origin.size)

    def _tell(self, percent: float, size: int) -> None:
        shown = f"{percent:.2f}"
        moved = int(size * float(shown) / 100)
        self._log.say(f"transferred {rendered(moved)} of {rendered(size)} ({shown}%)")

    async def _mirror(self, source: Source, origin: Volume, volume: Volume, seconds: float) -> None:
        job = f"mirror-{source.drive}"
        limit = f" with bandwidth limit: {self._limit} KB/s" if self._limit else ""
        self._log.say(f"drive mirror is starting for drive-{source.drive}{limit}")
        self._log.say(f"{job}: transferred 0.0 B of {rendered(origin.size)} (0.00%) in 0s")
        await asyncio.sleep(seconds)
        self._log.say(
            f"{job}: transferred {rendered(origin.size)} of {rendered(origin.size)} (100.00%) in {int(seconds)}s, ready"
        )
        self._log.say("all 'mirror' jobs are ready")
        if volume.vmid == origin.vmid:
            lines = ["Completing block job...", "Completed successfully.", "mirror-job finished"]
            ends = [f"{job}: {line}" for line in lines]
        else:
            first, last = ("freeze filesystem", "unfreeze filesystem") if source.agent else ("suspend vm", "resume vm")
            ends = [first, f"{job}: Cancelling block job", f"{job}: Done.", last]
        for line in ends:
            self._log.say(line)

    def _command(self, source: Source, origin: Volume, volume: Volume) -> str:
        volumes = self._host.volumes
        limit = f" -r {self._limit}K" if self._limit else ""
        zeroed = "zeroinit:" if volumes.has_feature("sparseinit", volume.id) else ""
        snapshot = f" -l snapshot.name={source.snapshot}" if source.snapshot else ""
        return (
            f"/usr/bin/qemu-img convert -p -n{snapshot}{limit} -f {origin.format} -O {volume.format}"
            f" {volumes.path(source.volume)} {zeroed}{volumes.path(volume.id)}"
        )


def storage_of(volume: str) -> str:
    """The storage in a volume id."""
    parts = split_id(volume)
    if parts is None:
        raise Failure(f"unable to parse volume ID '{volume}'\n")
    return parts[0]
