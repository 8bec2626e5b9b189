"""Copying disks: linked clones, which take no time to speak of, and full copies, which take as long as there is data.

An interrupted copy fails with the command that did it, and whoever ordered it cleans up; a killed one leaves what it
has.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.actions.bandwidth import Bandwidth
from nagaya.simulators.proxmox.qemu.actions.freezing import freeze, freezer, thaw
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.drives import CLOUDINIT_SIZE, TPM_SIZE, Drive
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.storage import Volume
from nagaya.simulators.proxmox.storages.footprint import empty_file
from nagaya.simulators.proxmox.storages.usage import takes_whole_size
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES, split_id
from nagaya.simulators.proxmox.tasks.runner import Log, interruptible

CHUNK = 2 << 20
"""Bytes that qemu-img copies at once."""
SMALLEST = 1 << 20
"""What a disk takes without anything in it, unless its tables take more: there is nothing to copy then."""
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True)
class Source:
    """What is copied."""

    volume: str
    drive: str | None = None
    """The drive that it is in its machine, for the log."""
    snapshot: str | None = None
    cloudinit: bool = False
    mirror: Guest | None = None
    """The running machine whose disk it is, and which copies it by itself."""
    last: bool = True
    """Whether no other disk of the machine is copied after it: all copies are finished in the same moment."""


def rendered(size: float) -> str:
    """Bytes as PVE shows them in logs."""
    unit = 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {UNITS[unit]}"


def lasting(seconds: float) -> str:
    """A duration as PVE shows it in logs."""
    rest, shown = round(seconds), []
    for unit, length in (("w", 604800), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if rest >= length:
            shown.append(f"{rest // length}{unit}")
            rest %= length
    return " ".join(shown) or "0s"


class Copying:
    """Makes copies on one host."""

    def __init__(self, host: Host, log: Log, bandwidth: Bandwidth) -> None:
        self._host = host
        self._log = log
        self._bandwidth = bandwidth
        self._limit: int | None = None
        """KiB per second for the present copy."""
        self._jobs: list[str] = []
        """Copies that a running machine makes by itself, and goes on making until the last is ready."""

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
        _check_keys(source, key, same=self._host.volumes.owner(source.volume) == vmid)
        named = f"{source.drive} " if source.drive else ""
        self._log.say(f"create full clone of drive {named}({source.volume})")
        volumes = self._host.volumes
        origin_storage, origin_name = volumes.parse(source.volume)
        self._limit = self._bandwidth.between([origin_storage.name, storage]) or None
        target = volumes.storage(storage or origin_storage.name)
        wanted = volumes.resolve_format(target, format or origin_name.format.removeprefix("ova+"))
        if format and format != wanted:
            self._log.say(
                f"format '{format}' is not supported by the target storage '{target.name}' - using '{wanted}' instead"
            )
        name, size, origin = None, CLOUDINIT_SIZE, None
        if source.cloudinit:
            name = f"vm-{vmid}-cloudinit" + (f".{wanted}" if target.type in FILE_TYPES else "")
        else:
            if (origin := volumes.find(source.volume)) is None:
                raise Failure(f"volume '{source.volume}' does not exist\n")
            size = TPM_SIZE if key == "tpmstate0" else origin.capacity
        volume = await volumes.allocate(self._log, target.name, vmid, wanted, size, name)
        made.append(volume.id)
        self._log.say(f"allocated target volume '{volume.id}'")
        if origin is not None:
            if key == "efidisk0" and not source.mirror:
                # Another tool copies these few bytes, and says nothing.
                await asyncio.sleep(self._seconds(origin, 0))
            else:
                await self._transfer(source, origin, volume)
            volume.used, volume.system, volume.data = max(origin.used, volume.used), origin.system, origin.data
        elif source.last and self._jobs:
            self._log.say("all 'mirror' jobs are ready")
            await self._finish(source, same=False)
        return volume

    async def take_file(self, file: Volume, vmid: int, *, storage: str, format: str | None, made: list[str]) -> Volume:
        """A disk with what is in a file."""
        volumes = self._host.volumes
        wanted = volumes.resolve_format(volumes.storage(storage), format or file.format)
        if format and format != wanted:
            self._log.say(f"format '{format}' is not supported by the target storage - using '{wanted}' instead")
        volume = await volumes.allocate(self._log, storage, vmid, wanted, file.capacity)
        made.append(volume.id)
        await self._transfer(Source(file.id), file, volume)
        volume.used, volume.system, volume.data = max(file.used, volume.used), file.system, file.data
        return volume

    async def _transfer(self, source: Source, origin: Volume, volume: Volume) -> None:
        await self._log.step("copy")
        bookkeeping = max(SMALLEST, empty_file(origin.format, origin.capacity, linked=origin.parent is not None))
        data = origin.used if origin.used > bookkeeping else 0
        seconds = self._seconds(origin, data)
        if source.mirror:
            await self._mirror(source, origin, volume, seconds)
            return
        command = self._command(source, origin, volume)
        with interruptible(self._log, f"copy failed: command '{command}' failed: interrupted by signal\n"):
            self._tell(0, origin.capacity)
            await self._pass(data, origin, seconds, volume, command)
        self._tell(100, origin.capacity)

    def _seconds(self, origin: Volume, data: int) -> float:
        if self._limit:
            return data / 1024 / self._limit
        return self._host.emulator.pace.full_clone_per_gib * origin.capacity / (1 << 30)

    async def _pass(self, data: int, origin: Volume, seconds: float, volume: Volume, command: str) -> None:
        if not data:
            await asyncio.sleep(seconds)
            if origin.format == "raw":
                # Such a file does not say that it is empty, so the tool has gone through it.
                self._tell(100, origin.capacity)
            return
        # The tool reports whenever another hundredth is done.
        stride = max(1, -(-data // (100 * CHUNK))) * CHUNK
        done = 0
        volumes = self._host.volumes
        target = volumes.storage(volume.storage)
        room = data if takes_whole_size(target) else volumes.room(target) + volume.used
        while done < data:
            step = min(stride, data - done)
            if done + step > room:
                self._log.say(f"qemu-img: error while writing at byte {done}: No space left on device")
                raise Failure(f"copy failed: command '{command}' failed: exit code 1\n")
            await asyncio.sleep(seconds * step / data)
            done += step
            volume.used = max(volume.used, done)
            self._tell(100 * done / data, origin.capacity)

    def _tell(self, percent: float, size: int) -> None:
        shown = f"{percent:.2f}"
        moved = int(size * float(shown) / 100)
        self._log.say(f"transferred {rendered(moved)} of {rendered(size)} ({shown}%)")

    async def _mirror(self, source: Source, origin: Volume, volume: Volume, seconds: float) -> None:
        job = f"mirror-{source.drive}"
        limit = f" with bandwidth limit: {self._limit} KiB/s" if self._limit else ""
        self._log.say(f"drive mirror is starting for drive-{source.drive}{limit}")
        self._log.say(f"{job}: transferred 0.0 B of {rendered(origin.capacity)} (0.00%) in 0s")
        await asyncio.sleep(seconds)
        size = rendered(origin.capacity)
        self._log.say(f"{job}: transferred {size} of {size} (100.00%) in {lasting(seconds)}, ready")
        self._jobs.append(job)
        self._log.say("all 'mirror' jobs are ready")
        if source.last:
            await self._finish(source, same=volume.vmid == origin.vmid)

    async def _finish(self, source: Source, *, same: bool) -> None:
        jobs, self._jobs = sorted(self._jobs), []
        if not same and source.mirror is not None:
            await self._cut(source.mirror, jobs)
            return
        for job in jobs:
            self._log.say(f"{job}: Completing block job...")
            self._log.say(f"{job}: Completed successfully.")
        for job in jobs:
            self._log.say(f"{job}: mirror-job finished")

    async def _cut(self, guest: Guest, jobs: list[str]) -> None:
        """End the copies while nothing is written: by the agent's doing, or by stopping the machine for a moment."""
        agent = await freezer(self._host, guest, guest.config, self._log)
        if agent is None:
            self._log.say("suspend vm")
        else:
            self._log.say("issuing guest agent 'guest-fsfreeze-freeze' command")
            await freeze(agent, self._log)
        for job in jobs:
            self._log.say(f"{job}: Cancelling block job")
        for job in jobs:
            self._log.say(f"{job}: Done.")
        if agent is None:
            self._log.say("resume vm")
        else:
            self._log.say("issuing guest agent 'guest-fsfreeze-thaw' command")
            await thaw(agent, self._log)

    def _command(self, source: Source, origin: Volume, volume: Volume) -> str:
        volumes = self._host.volumes
        limit = f" -r {self._limit}K" if self._limit else ""
        zeroed = "zeroinit:" if volumes.has_feature("sparseinit", volume.id) else ""
        snapshot = f" -l snapshot.name={source.snapshot}" if source.snapshot and origin.format == "qcow2" else ""
        types = volumes.storage(volume.storage).type, volumes.storage(origin.storage).type
        cache = "".join(f" {flag} none" for flag, type in zip(("-t", "-T"), types, strict=True) if type == "zfspool")
        return (
            f"/usr/bin/qemu-img convert -p -n{snapshot}{cache}{limit} -f {origin.format} -O {volume.format}"
            f" {volumes.path(source.volume)} {zeroed}{volumes.path(volume.id)}"
        )


def _check_keys(source: Source, key: str, *, same: bool) -> None:
    """Refuse to make of one kind of drive another."""
    if source.drive and source.drive != key:
        for special, named in (("efidisk0", "EFI disk"), ("tpmstate0", "TPM state")):
            if special in (source.drive, key):
                raise Failure(f"cloning from/to {named} requires {named}\n")
        if source.mirror and same:
            raise Failure("cannot change drive name when cloning disk from/to the same VM\n")
    if source.mirror and source.drive == "tpmstate0":
        raise Failure("cannot move TPM state while VM is running\n")


def storage_of(volume: str) -> str:
    """The storage in a volume id."""
    parts = split_id(volume)
    if parts is None:
        raise Failure(f"unable to parse volume ID '{volume}'\n")
    return parts[0]
