"""The floor of `proxmox.py`: how fast the emulated data center itself can make the same machines.

An ideal client does no more than is needed. It knows each template and where each machine goes, sees the end of a task
in the very moment, and never looks at anything. It keeps to the one rule that is there for the data center's sake: not
more clones at a time to a storage than Nagaya begins. A machine is up when its first start has ended, as for Nagaya
with a token that may read in guests what cloud-init says.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson

from nagaya.infrastructure.proxmox.boot import iso9660, nocloud
from nagaya.infrastructure.proxmox.client.multipart import Upload, multipart
from nagaya.infrastructure.proxmox.placement.wish import DEFAULT_CLONES
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.guests.passive import FIRST_STEPS
from nagaya.simulators.proxmox.layouts.demo import POOL, secret
from nagaya.simulators.proxmox.request import Request

ROOT = "/api2/json"
FIRST_VMID = 1000
FORM = "application/x-www-form-urlencoded"


@dataclass(slots=True)
class IdealClient:
    """Of one data center."""

    emulator: Emulator
    templates: dict[str, int]
    """One for each host."""
    full: bool
    boot_data: bytes

    async def make(self, machines: int) -> float:
        """Make so many machines. Returns how many seconds it took until the last was up."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        hosts = sorted(self.templates)
        storages = {host: asyncio.Semaphore(DEFAULT_CLONES) for host in hosts}
        async with asyncio.TaskGroup() as group:
            for number in range(machines):
                host = hosts[number % len(hosts)]
                group.create_task(self._one(host, FIRST_VMID + number, storages[host]))
        return loop.time() - begun

    async def _one(self, host: str, vmid: int, storage: asyncio.Semaphore) -> None:
        machine = f"/nodes/{host}/qemu/{vmid}"
        async with storage:
            given = {"newid": vmid, "name": f"m{vmid}", "pool": POOL, "full": int(self.full)}
            await self._task("POST", f"/nodes/{host}/qemu/{self.templates[host]}/clone", given)
        await self._ask("PUT", f"{machine}/config", {"cores": 2, "memory": 4096, "tags": "nagaya"})
        await self._task("PUT", f"{machine}/resize", {"disk": "scsi0", "size": "30G"})
        await self._upload(host, vmid)
        await self._ask("PUT", f"{machine}/config", {"ide0": f"local:iso/user-data-{vmid}.iso,media=cdrom"})
        await self._task("POST", f"{machine}/status/start", {})
        await asyncio.sleep(FIRST_STEPS * self.emulator.pace.boot)

    async def _upload(self, host: str, vmid: int) -> None:
        files = nocloud.seed(self.boot_data, nocloud.meta_data(f"{vmid}", f"m{vmid}"), None)
        image = iso9660.image(nocloud.LABEL, files, self.emulator.world.clock.now())
        kind, body = multipart({"content": "iso"}, Upload(f"user-data-{vmid}.iso", image))
        await self._wait(await self._send("POST", f"/nodes/{host}/storage/local/upload", kind, body))

    async def _task(self, method: str, path: str, given: dict[str, Any]) -> None:
        await self._wait(await self._ask(method, path, given))

    async def _ask(self, method: str, path: str, given: dict[str, Any]) -> Any:
        return await self._send(method, path, FORM, urlencode(given).encode())

    async def _send(self, method: str, path: str, kind: str, body: bytes) -> Any:
        token = f"PVEAPIToken=root@pam!demo={secret(self.emulator.datacenter)}"
        headers = {"authorization": token, "content-type": kind} if body else {"authorization": token}
        node = path.split("/")[2]
        answer = await self.emulator.answer(Request(method, ROOT + path, "", headers, body, node))
        if answer.status != 200:
            raise SystemExit(f"the ideal client: {method} {path}: {answer.status} {answer.reason} {answer.body!r}")
        return orjson.loads(answer.body)["data"]

    async def _wait(self, task: str) -> None:
        known = self.emulator.tasks.known[task]
        if known.worker is not None:
            await asyncio.wait([known.worker])
        if known.exitstatus != "OK":
            raise SystemExit(f"the ideal client: {task}: {known.exitstatus} {known.log}")
