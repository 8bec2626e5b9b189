"""An emulated data center in this process, asked without any network: what tests of the emulator talk to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.layouts.lab import SECRETS, lab
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.tasks.runner import Task
from nagaya.world import World
from support.virtual_run import virtual_world


@dataclass(slots=True)
class ProxmoxLab:
    """The data center and short ways to ask it."""

    emulator: Emulator
    stand_ins: dict[str, str] = field(default_factory=dict)
    """What played requests say in the place of a recorded text that no two data centers share, such as a digest."""

    @property
    def datacenter(self) -> Datacenter:
        return self.emulator.datacenter

    def ticket(self, user: str = "root@pam") -> dict[str, str]:
        """Headers of a logged-in user."""
        tickets = self.emulator.tickets
        return {
            "cookie": f"PVEAuthCookie={quote(tickets.ticket(user))}",
            "csrfpreventiontoken": tickets.forgery_token(user),
        }

    async def ask(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        node: str = "pve1",
    ) -> Answer:
        """Ask as root@pam unless headers say otherwise. Parameters go where PVE wants them."""
        text = urlencode(parameters, doseq=True) if parameters else ""
        given = dict(self.ticket() if headers is None else headers)
        in_body = method in ("POST", "PUT")
        if in_body and text:
            given["content-type"] = "application/x-www-form-urlencoded"
        path, _, query = path.partition("?")
        return await self.emulator.answer(
            Request(
                method,
                f"/api2/json{path}",
                query if in_body else "&".join(part for part in (query, text) if part),
                given,
                text.encode() if in_body else b"",
                node,
            )
        )

    async def data(self, method: str, path: str, parameters: Mapping[str, Any] | None = None, **rest: Any) -> Any:
        """The `data` of an answer that has to be a good one."""
        answer = await self.ask(method, path, parameters, **rest)
        assert answer.status == 200, f"{method} {path}: {answer.status} {answer.reason} {answer.body.decode()}"
        return orjson.loads(answer.body)["data"]

    async def task(self, method: str, path: str, parameters: Mapping[str, Any] | None = None, **rest: Any) -> Task:
        """The ended task that a call set going."""
        return await self.ended(await self.data(method, path, parameters, **rest))

    async def ended(self, upid: str) -> Task:
        """A task, when it has ended."""
        task = self.emulator.tasks.known[upid]
        if task.worker is not None:
            await asyncio.wait([task.worker])
        return task


def token(id: str) -> dict[str, str]:
    """Headers of an API token of the lab."""
    return {"authorization": f"PVEAPIToken={id}={SECRETS[id]}"}


@asynccontextmanager
async def proxmox_lab(
    datacenter: Datacenter | None = None, *, world: World | None = None, pace: Pace | None = None
) -> AsyncIterator[ProxmoxLab]:
    """A running data center on the running loop."""
    emulator = Emulator(world or virtual_world(), datacenter or lab(), pace)
    try:
        yield ProxmoxLab(emulator)
    finally:
        await emulator.close()
