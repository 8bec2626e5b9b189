"""What is found under a VMID, in a data center that answers as a test says."""

from __future__ import annotations

import asyncio
from typing import Any

from nagaya.infrastructure.proxmox.virtual_machine.found import Identity, Presence, find
from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker, marked
from support.proxmox_transport import DataCenter, data_center
from support.subtest_cases import subtest_cases
from support.virtual_run import run

OURS = Identity(100, "a", "u-1", "nagaya")
TEMPORARY = " qmclone temporary file"


async def made(there: DataCenter, **options: Any) -> None:
    """A VM 100 on pve1 with these options, in the pool."""
    machines = there.client.machines
    await there.client.tasks.wait(await machines.create("pve1", 100, {"name": "a", "memory": 512}, pool="nagaya"))
    config = there.emulator.datacenter.guests[100].config
    config |= options
    await asyncio.sleep(15)  # until the host has told of it


@subtest_cases(
    ("options", "presence"),
    [
        ({"description": marked("", Marker("fleet/a", "u-1"))}, Presence.OURS),
        ({"description": marked("", Marker("fleet/a", "u-2"))}, Presence.FOREIGN),
        ({}, Presence.FOREIGN),
        ({"lock": "clone"}, Presence.BEING_MADE),
        ({"lock": "clone", "description": TEMPORARY}, Presence.BEING_MADE),
        ({"description": TEMPORARY}, Presence.BEING_MADE),
        ({"lock": "clone", "description": marked("", Marker("fleet/b", "u-2"))}, Presence.FOREIGN),
        ({"lock": "backup", "description": marked("", Marker("fleet/a", "u-1"))}, Presence.OURS),
    ],
    ids=["ours", "another-uid", "no-marker", "locked", "being-cloned", "unlocked-half", "clone-of-others", "backup"],
)
def test_whose_a_vm_is(options: dict[str, Any], presence: Presence) -> None:
    async def main() -> None:
        async with data_center() as there:
            await made(there, **options)
            assert (await find(there.client, OURS)).presence is presence

    run(main())


def test_a_vm_of_the_ha_manager_is_known_as_such_also_when_its_host_is_off() -> None:
    async def main() -> None:
        async with data_center() as there:
            await made(there, description=marked("", Marker("fleet/a", "u-1")))
            assert not (await find(there.client, OURS)).managed
            there.emulator.datacenter.ha.resources["vm:100"] = {"type": "vm", "state": "started"}
            assert (await find(there.client, OURS)).managed
            there.emulator.datacenter.nodes["pve1"].online = False
            await asyncio.sleep(5)  # until the list of all is asked for again
            off = await find(there.client, OURS, "pve1")
            assert (off.presence, off.managed) == (Presence.UNREACHABLE, True)

    run(main())
