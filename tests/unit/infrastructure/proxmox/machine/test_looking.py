"""What is asked of the world outside before a decision, and what is not."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, NamespacedConnectionReference
from nagaya.infrastructure.proxmox.boot import iso9660
from nagaya.infrastructure.proxmox.client import Upload
from nagaya.infrastructure.proxmox.machine.looking import look_around
from nagaya.infrastructure.proxmox.machine.memory import Memory
from nagaya.infrastructure.proxmox.machine.seen import Objects, Seen
from nagaya.infrastructure.proxmox.virtual_machine.found import Presence, Strays
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker, marked
from nagaya.infrastructure.proxmox.virtual_machine.removing import boot_image
from support.builders import machine
from support.proxmox_transport import DataCenter, data_center
from support.virtual_run import run

OURS = "u-1"
IMAGE = f"local:iso/{boot_image(100)}"


def objects(*, provisioned: bool, joined: bool) -> Objects:
    """A machine for which VMID 100 is reserved. Its boot data may be on two hosts."""
    metadata = {"namespace": "fleet", "name": "a", "uid": OURS}
    told = {"proxmoxNode": "pve1", "initialization": {"provisioned": provisioned}}
    reserved = {
        "datacenter": "demo",
        "vmid": 100,
        "machineRef": metadata,
        "name": "a",
        "pool": "nagaya",
        "connectionRef": {"namespace": "fleet", "name": "c"},
    }
    reservation = {"metadata": {"name": "demo-100"}, "spec": reserved, "status": {"bootDataOn": ["pve1", "pve2"]}}
    owner = machine("a").having(status={"nodeRef": {"name": "a"}} if joined else {})
    return Objects(
        PROXMOX_MACHINES.convert({"metadata": metadata, "spec": {}, "status": told}),
        owner.made(),
        None,
        None,
        PROXMOX_VIRTUAL_MACHINES.convert(reservation),
    )


async def there_are(there: DataCenter, whose: str) -> None:
    """VM 100 of a machine, unless `whose` is empty, and images of boot data for it on two hosts."""
    client = there.client
    if whose:
        options = {"name": "a", "memory": 512, "description": marked("", Marker("fleet/a", whose))}
        await client.tasks.wait(await client.machines.create("pve1", 100, options, pool="nagaya"))
    file = Upload(boot_image(100), iso9660.image("cidata", {"user-data": b"secret"}, client.calls.world.clock.now()))
    for host in ("pve1", "pve2"):
        await client.tasks.wait(await client.storages.upload(host, "local", "iso", file))
    await asyncio.sleep(15)  # virtual time: hosts report their VMs to the cluster every 10 s


def looked(whose: str, *, provisioned: bool = True, joined: bool = True) -> tuple[Seen, bool]:
    """What is seen, and whether storages were searched for it."""

    async def main() -> tuple[Seen, bool]:
        async with data_center() as there:
            await there_are(there, whose)
            there.transport.sent.clear()
            world = there.client.calls.world
            rt: Any = SimpleNamespace(world=world, cache=SimpleNamespace(list=lambda _: []))
            link = Link(there.client, "demo", NamespacedConnectionReference(namespace="fleet", name="c"), "nagaya")
            seen = await look_around(rt, Memory(), objects(provisioned=provisioned, joined=joined), link)
            return seen, any(path.endswith("/content") for path in there.transport.asked())

    return run(main())


def test_the_boot_image_of_a_vm_with_a_node_is_searched_for_on_all_hosts_that_may_have_it() -> None:
    seen, searched = looked(OURS)
    assert searched
    assert seen.found is not None
    assert (seen.found.presence, seen.found.strays) == (Presence.OURS, Strays((("pve2", IMAGE),)))
    assert seen.leftovers == (IMAGE,)


@pytest.mark.parametrize(("provisioned", "joined"), [(False, False), (False, True), (True, False)])
def test_the_boot_image_of_a_vm_that_may_still_need_it_is_not_searched_for(provisioned: bool, joined: bool) -> None:
    seen, searched = looked(OURS, provisioned=provisioned, joined=joined)
    assert not searched
    assert seen.found is not None
    assert (seen.found.presence, seen.found.strays) == (Presence.OURS, None)
    assert seen.leftovers == ()


@pytest.mark.parametrize(("whose", "presence"), [("u-2", Presence.FOREIGN), ("", Presence.ABSENT)])
def test_the_boot_image_under_a_vmid_that_has_no_vm_of_ours_is_not_searched_for(whose: str, presence: Presence) -> None:
    seen, searched = looked(whose)
    assert not searched
    assert seen.found is not None
    assert (seen.found.presence, seen.found.strays) == (presence, None)
    assert seen.leftovers == ()
