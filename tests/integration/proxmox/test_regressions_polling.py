"""How often Proxmox VE is asked: others poll by the second, for each machine, and for as long as it lives.

CAPMOX looks at every task every 10 s and lists all hosts for every machine; CAPI 8052 tells of timers that hit the
limit of requests at 600 clusters. What is promised instead is in docs/proxmox.md.
"""

from __future__ import annotations

import asyncio
import re

from docs.page import ROOT, section
from nagaya.infrastructure.proxmox.client import inventory, tasks
from nagaya.infrastructure.proxmox.client.transport import Request as ClientRequest
from nagaya.infrastructure.proxmox.machine import health, looking, waiting
from nagaya.simulators.proxmox.emulator import Proceed
from nagaya.simulators.proxmox.guests.tenants import TenantGuests
from nagaya.simulators.proxmox.pace import realistic
from nagaya.simulators.proxmox.request import Answer, Request
from support.passing_time import PassingLoop
from support.proxmox_request_log import PROMISES, RequestLog
from support.proxmox_town import Town, town
from support.proxmox_town_life import CREATE, DELETE, live
from support.proxmox_town_manifests import Shop

HOSTS = 3
MACHINES = 7
MOST_PER_MACHINE = 130
"""Requests, from nothing to a Node whose boot data are removed: about a hundred are needed."""
REST = 600.0


def test_capi_8052_nothing_is_asked_more_often_than_promised() -> None:
    async def main() -> None:
        async with town(Shop(1, MACHINES - 1)) as here:
            log = watched(here)
            await here.begin()
            await live(here, (CREATE,))
            made = [each for each in log.asked if each.route != "GET /cluster/resources"]
            assert log.broken_promises() == []
            assert len(made) / MACHINES < MOST_PER_MACHINE, log.counts().most_common(5)
            await asyncio.sleep(120)
            log.asked.clear()
            await asyncio.sleep(REST)
            rest = {"GET /cluster/resources", "GET /cluster/status", "GET /nodes/{node}/qemu"}
            assert set(log.counts()) <= rest, log.counts()
            # The connection and the cluster look, too.
            assert log.counts()["GET /cluster/resources"] <= 1.5 * REST / looking.AT_REST
            assert log.counts()["GET /nodes/{node}/qemu"] <= HOSTS * (REST / looking.AT_REST + 1)
            assert log.broken_promises() == []
            log.asked.clear()
            await live(here, (DELETE,))
            assert log.broken_promises() == []

    with asyncio.Runner(loop_factory=PassingLoop) as runner:
        runner.run(main())


def test_what_is_promised_is_what_is_documented() -> None:
    rows = section((ROOT / "docs/proxmox.md").read_text(), "## How often Proxmox VE is asked")
    numbers = {float(each) for each in re.findall(r"(\d+(?:\.\d+)?) s\b", rows)}
    promised = {
        inventory.FRESHEST,
        tasks.SHORTEST,
        tasks.LONGEST,
        waiting.GUEST_AGAIN,
        health.HEALTH_AGAIN,
        looking.AT_REST,
    }
    assert promised <= numbers, f"{promised - numbers} is not in docs/proxmox.md"
    assert PROMISES["GET /cluster/resources"] == inventory.FRESHEST
    assert PROMISES["GET /nodes/{node}/qemu"] == looking.AT_REST
    assert PROMISES["GET /nodes/{node}/tasks/{upid}/status"] == tasks.SHORTEST
    assert PROMISES["GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces"] == waiting.GUEST_AGAIN


def watched(here: Town) -> RequestLog:
    """Note all that is asked, of a data center that takes its time."""
    log = RequestLog(here.world.clock.monotonic)

    async def noted(request: Request, proceed: Proceed) -> Answer:
        log.note(ClientRequest(request.method, request.path, request.query))
        return await proceed(request)

    here.emulator.around.insert(0, noted)
    here.emulator.pace = realistic()
    guests = here.emulator.machines.backend
    assert isinstance(guests, TenantGuests)
    guests.pace = here.emulator.pace
    return log
