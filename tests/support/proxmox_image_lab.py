"""An emulated data center whose hosts can download an image, for tests of `nagaya.infrastructure.proxmox.image`."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from nagaya.infrastructure.proxmox.image.apply import Result, Run
from nagaya.infrastructure.proxmox.image.checksum import Checksum
from nagaya.infrastructure.proxmox.image.image import Image
from nagaya.infrastructure.proxmox.image.marker import read
from nagaya.infrastructure.proxmox.image.plan import Plan
from nagaya.infrastructure.proxmox.image.wanted import Wanted
from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.storages.sources import Source
from support.proxmox_transport import DataCenter, data_center

URL = "https://images.example/debian-13-generic-amd64.qcow2"
MIB = 1 << 20


@dataclass(slots=True)
class ImageLab:
    """A data center that can download an image."""

    center: DataCenter
    control: Control
    told: list[tuple[str, str]] = field(default_factory=list)

    def publish(self, digest: str, *, size: int = 300 * MIB) -> Image:
        """Put a build of the image on the emulated web."""
        self.control.add_source(URL, Source(size=size, checksums={"sha512": digest}, system="debian"))
        return Image("debian-13", URL, Checksum("sha512", digest))

    async def add(self, wanted: Wanted) -> Result:
        planned = await self.plan(wanted)
        return await self.run(wanted).apply(planned)

    async def plan(self, wanted: Wanted) -> Plan:
        return await self.run(wanted).plan()

    def run(self, wanted: Wanted) -> Run:
        return Run(self.center.client, wanted, lambda host, what: self.told.append((host, what)))

    def images(self) -> dict[int, Guest]:
        """What is ours, by VMID."""
        guests = self.center.emulator.datacenter.guests
        return {
            vmid: guest
            for vmid, guest in guests.items()
            if read(str(guest.config.get("description", "")), vmid) is not None
        }

    def files(self) -> list[str]:
        return [volume.id for volume in self.center.emulator.datacenter.volumes.values() if volume.content == "import"]

    def asked(self, what: str) -> int:
        """How many calls had that in method and path."""
        return sum(what in each for each in self.center.transport.asked())

    async def until(self, seen: Callable[[], bool]) -> None:
        """Let virtual time go on until something is so."""
        while not seen():  # noqa: ASYNC110 - the emulator tells nobody; on virtual time looking costs nothing
            await asyncio.sleep(0.05)


def digest(text: str) -> str:
    return hashlib.sha512(text.encode()).hexdigest()


@asynccontextmanager
async def image_lab(hosts: int = 3, *, pace: Pace | None = None, version: str = "9.2.11") -> AsyncIterator[ImageLab]:
    """A running one. Every request is held against PVE's published schema."""
    async with data_center(hosts=hosts, pace=pace, version=version) as center:
        yield ImageLab(center, Control(center.emulator))


def on_local_disks(image: Image, **more: Any) -> Wanted:
    """What most tests want: a template on each host."""
    return replace(Wanted(image, storage="local-lvm", import_storage="local", pool="nagaya"), **more)
