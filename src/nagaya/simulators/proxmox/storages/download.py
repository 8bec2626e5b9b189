"""What `wget` says while a host downloads a file, and what PVE does with the file then.

It lies beside its place under another name until all checks have passed, so a failed download leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import bz2
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.storage import Storage, Volume
from nagaya.simulators.proxmox.storages.files import BroughtFile, examine, folder
from nagaya.simulators.proxmox.storages.incoming import place
from nagaya.simulators.proxmox.storages.sources import Source, checksum, server_of
from nagaya.simulators.proxmox.storages.volumes import Volumes
from nagaya.simulators.proxmox.tasks.runner import Task

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

MIB = 1 << 20
ROW = 32 * MIB
"""What a line of dots stands for."""
MOST_REDIRECTS = 20
_UNPACKERS = {
    "gz": ("zcat", "gzip: {path}: not in gzip format"),
    "bz2": ("bzcat -q", "bzcat: {path} is not a bzip2 file."),
    "zst": ("zstd -q -d -c", "zstd: {path}: unsupported format "),
    "lzo": ("lzop -d -c", "lzop: {path}: not a lzop file"),
}
_MAGIC = {"gz": b"\x1f\x8b", "bz2": b"BZh", "zst": b"\x28\xb5\x2f\xfd", "lzo": b"\x89LZO"}


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be downloaded."""

    url: str
    file: BroughtFile
    algorithm: str | None = None
    expected: str = ""
    compression: str | None = None


async def download(emulator: Emulator, node: str, storage: Storage, order: Order, task: Task) -> None:
    """Bring a file to a storage."""
    file = order.file
    if order.compression and file.content != "iso":
        raise Failure(f"decompression not supported for {file.content}\n")
    if order.compression and order.compression not in _UNPACKERS:
        raise Failure("no decompression method found\n")
    destination = f"{folder(storage, file.content)}/{file.name}"
    task.say(f"downloading {order.url} to {destination}")
    volumes = Volumes(emulator, node)
    volume_id = f"{storage.name}:{file.content}/{file.name}"
    if (existing := volumes.find(volume_id)) is not None and _already_there(order, destination, existing, task):
        return
    partial = f"{destination}.tmp_dwnl.{task.upid.pid}"
    source = await _Wget(emulator, task).fetch(order.url, partial, volumes.room(storage))
    if order.algorithm is not None:
        _check(order, source.checksum(order.algorithm), task)
    await task.step("verify")
    try:
        examine(file, partial, source.data, task)
    except Failure as failure:
        raise Failure(f"failed to verify file: {failure.text}") from failure
    data = source.data
    if order.compression:
        unpacked = f"{destination}.tmp_dcom.{task.upid.pid}"
        task.say(f"decompressing {partial} to {unpacked}")
        data = _unpacked(order.compression, partial, data, task)
    await task.step("rename")
    volume = place(volumes, storage, file, data, source.size if data is None else len(data))
    volume.system, volume.checksums = source.system, dict(source.checksums)
    task.say(f"download of '{order.url}' to '{destination}' finished")


def _already_there(order: Order, destination: str, existing: Volume, task: Task) -> bool:
    if order.algorithm is None:
        raise Failure(f"refusing to override existing file '{destination}'\n")
    got = checksum(order.algorithm, existing.data, existing.checksums)
    if got == order.expected.lower():
        task.say("calculating checksum of existing file...OK, got correct file already, no need to download")
        return True
    task.say("calculating checksum of existing file...")
    raise Failure(f"checksum mismatch: got '{got}' != expect '{order.expected}', aborting\n")


def _check(order: Order, got: str, task: Task) -> None:
    if got == order.expected.lower():
        task.say("calculating checksum...OK, checksum verified")
        return
    task.say("calculating checksum...")
    raise Failure(f"checksum mismatch: got '{got}' != expect '{order.expected}'\n")


def _unpacked(compression: str, path: str, data: bytes | None, task: Task) -> bytes | None:
    if data is None:
        return None
    command, complaint = _UNPACKERS[compression]
    if not data.startswith(_MAGIC[compression]):
        if compression == "gz":
            task.say("")
        task.say(complaint.format(path=path))
        raise Failure(f"command '{command} {path}' failed: exit code 1\n")
    unpack: Callable[[bytes], bytes] = {"gz": gzip.decompress, "bz2": bz2.decompress}.get(compression, bytes)
    return unpack(data)


class _Wget:
    """One run of it. Its last line, if it is not empty, is not in the log: PVE makes it the error."""

    def __init__(self, emulator: Emulator, task: Task) -> None:
        self._emulator = emulator
        self._task = task

    async def fetch(self, url: str, path: str, room: int) -> Source:
        """Bring what is at an address to a file, which may take as many bytes as there is room for."""
        for _ in range(MOST_REDIRECTS):
            source = self._ask(url)
            if source.redirect is None:
                break
            self._task.say(f"Location: {source.redirect} [following]")
            url = self._emulator.sources.location(url, source)
        else:
            self._task.say(f"{MOST_REDIRECTS} redirections exceeded.")
            raise Failure("download failed: exit code 8\n")
        if source.status != 200:
            self._task.say(f"{self._now():%F %T} ERROR {source.status}: {source.reason}.")
            raise Failure("download failed: exit code 8\n")
        await self._receive(source, path, room)
        return source

    def _ask(self, url: str) -> Source:
        sources, server = self._emulator.sources, server_of(url)
        self._task.say(f"--{self._now():%F %T}--  {url}")
        where = f"{server.host}:{server.port}"
        if not server.numeric:
            if not sources.resolves(server):
                named = f"Resolving {server.host} ({server.host})... failed: Name or service not known."
                self._task.say(named)
                raise Failure(f"download failed: wget: unable to resolve host address '{server.host}'\n")
            self._task.say(f"Resolving {server.host} ({server.host})... {_ADDRESS}")
            where = f"{server.host} ({server.host})|{_ADDRESS}|:{server.port}"
        if not sources.listens(server):
            raise Failure(f"download failed: Connecting to {where}... failed: Connection refused.\n")
        self._task.say(f"Connecting to {where}... connected.")
        source = sources.find(url)
        said = (302, "Found") if source.redirect is not None else (source.status, source.reason)
        self._task.say(f"HTTP request sent, awaiting response... {said[0]} {said[1]}")
        return source

    async def _receive(self, source: Source, path: str, room: int) -> None:
        size = source.length
        kind = f" [{source.content_type}]" if source.content_type else ""
        self._task.say(f"Length: {size}{f' ({_human(size)})' if size >= 1024 else ''}{kind}")
        self._task.say(f"Saving to: '{path}'")
        await self._task.step("download")
        pace = self._emulator.pace.download_per_mib
        rate = 1 / pace if pace else 1000.0
        done = 0
        kept = min(size, room)
        while kept - done > ROW:
            await asyncio.sleep(pace * ROW / MIB)
            done += ROW
            dots = " ........" * 4
            left = f" {_left((size - done) / MIB / rate)}"
            self._task.say(f"{(done - ROW) // 1024:6d}K{dots}{100 * done // size:3d}%{_rate(rate)}{left}")
        await asyncio.sleep(pace * (kept - done) / MIB)
        dots = "".join(" " + "." * min(8, max(0, (kept - done) // MIB - 8 * group)) for group in range(4))
        part = 100 * kept // size if size else 100
        self._task.say(f"{done // 1024:6d}K{_padded(dots)}{part:3d}%{_rate(rate)}={_seconds(kept / MIB / rate)}s")
        if kept < size:
            raise Failure(f"download failed: Cannot write to '{path}' (No space left on device).\n")
        self._task.say(f"{self._now():%F %T} ({_digits(rate)} MB/s) - '{path}' saved [{size}/{size}]")

    def _now(self) -> datetime:
        return self._emulator.world.clock.now()


_ADDRESS = "192.0.2.80"
"""Where all names of the emulated web lead."""


def _padded(dots: str) -> str:
    groups = dots.split(" ")[1:]
    return "".join(" " + group.ljust(8) for group in groups)


def _rate(megabytes: float) -> str:
    return f" {_digits(megabytes) + 'M':>5}"


def _digits(number: float) -> str:
    """Three of them."""
    return f"{number:.{0 if number >= 99.95 else 1 if number >= 9.995 else 2}f}"


def _seconds(number: float) -> str:
    if number >= 9.95:
        return f"{number:.0f}"
    if number >= 0.95:
        return f"{number:.1f}"
    return f"{number:.1g}" if number >= 0.001 else "0"


def _left(seconds: float) -> str:
    whole = round(seconds)
    if whole < 100:
        return f"{whole}s"
    return f"{whole // 60}m{whole % 60}s" if whole < 100 * 60 else f"{whole // 3600}h{whole // 60 % 60}m"


def _human(size: int) -> str:
    value, units = size / 1024, iter("KMGT")
    unit = next(units)
    while value >= 1024 and unit != "T":
        value, unit = value / 1024, next(units)
    return f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"
