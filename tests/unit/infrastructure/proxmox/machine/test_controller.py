"""The controller at work on an emulated data center, where what it remembers from look to look shows."""

from __future__ import annotations

import asyncio
from datetime import datetime
from itertools import pairwise

from support.proxmox_yard import Yard, play


def test_the_pause_doubles_with_each_failure() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", disks={"bootVolume": {"disk": "scsi9", "sizeGb": 30}})
        tries: list[datetime] = []
        for _ in range(200):
            due = (await yard.get("a")).status.retry_after
            if due is not None and due not in tries:
                tries.append(due)
            await asyncio.sleep(1)  # virtual time: every second of the pauses is looked at
        assert (await yard.says("a"))["VirtualMachineProvisioned"][1] == "VMProvisionFailed"
        pauses = [(later - earlier).total_seconds() for earlier, later in pairwise(tries)]
        assert pauses == [20, 40, 80, 160]

    play(scenario)
