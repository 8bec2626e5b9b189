"""One picture for all who ask, that says what is not known."""

from __future__ import annotations

import asyncio

import pytest

from nagaya.infrastructure.proxmox.client import Facts, Token
from nagaya.infrastructure.proxmox.client.breaker import State
from nagaya.infrastructure.proxmox.client.errors import HostUnreachable
from nagaya.infrastructure.proxmox.client.rows import Status
from support.proxmox_transport import data_center
from support.virtual_run import run


def test_however_many_ask_one_picture_is_taken() -> None:
    async def main() -> None:
        async with data_center() as center:
            inventory = center.client.inventory
            pictures = await asyncio.gather(*(inventory.get() for _ in range(100)))
            assert len({id(each) for each in pictures}) == 1
            assert center.transport.asked() == ["GET /cluster/resources", "GET /cluster/status"]
            await asyncio.sleep(1)
            await inventory.get(max_age=0)
            assert len(center.transport.sent) == 2
            await asyncio.sleep(1.5)
            await inventory.get()
            assert len(center.transport.sent) == 2
            await inventory.get(max_age=0)
            assert len(center.transport.sent) == 4
            assert inventory.age() == 0

    run(main())


def test_what_there_is_has_types() -> None:
    async def main() -> None:
        async with data_center() as center:
            await asyncio.sleep(15)
            picture = await center.client.inventory.get()
            assert picture.cluster == "demo"
            assert picture.quorate is True
            assert sorted(picture.hosts) == ["pve1", "pve2", "pve3"]
            host = picture.hosts["pve2"]
            assert (host.online, host.cpus, host.memory, host.address) == (True, 16, 64 << 30, "192.0.2.12")
            template = picture.machines[9002]
            assert (template.node, template.status, template.template) == ("pve2", Status.STOPPED, True)
            assert template.tags == ("kubernetes", "kubernetes-v1.36.3")
            storage = picture.storages["pve1", "shared"]
            assert storage.available
            assert storage.shared
            assert "images" in storage.contents
            assert storage.free > 0
            assert [each.vmid for each in picture.machines_on("pve3")] == [9003]
            assert {each.name for each in picture.storages_on("pve3")} == {"local", "local-lvm", "shared"}
            assert picture.pools == {"nagaya"}

    run(main())


def test_a_machine_that_was_just_made_is_there_with_nothing_known() -> None:
    async def main() -> None:
        async with data_center() as center:
            client = center.client
            await client.inventory.get()
            await asyncio.sleep(6)
            task = await client.machines.clone("pve1", 9001, 101, name="fresh", pool="nagaya")
            await asyncio.sleep(0.1)
            row = (await client.inventory.get()).machines[101]
            assert (row.status, row.name, row.template) == (Status.UNKNOWN, None, None)
            await client.tasks.wait(task)
            await asyncio.sleep(15)
            row = (await client.inventory.get()).machines[101]
            assert (row.status, row.name, row.template, row.pool) == (Status.STOPPED, "fresh", False, "nagaya")

    run(main())


def test_the_machines_of_a_host_that_is_off_are_unknown_and_not_gone() -> None:
    async def main() -> None:
        async with data_center() as center:
            client = center.client
            await asyncio.sleep(15)
            before = (await client.inventory.get()).hosts["pve2"]
            node = center.emulator.datacenter.nodes["pve2"]
            node.online = False
            center.emulator.power_changed(node)
            await asyncio.sleep(6)
            picture = await client.inventory.get()
            assert not picture.hosts["pve2"].online
            assert picture.machines[9002].status is Status.UNKNOWN
            assert picture.machines[9002].reported == "stopped"
            assert not picture.storages["pve2", "local"].available
            assert client.hosts.breaker("pve2").state is State.OPEN
            with pytest.raises(HostUnreachable, match="the cluster says that it is offline"):
                await client.machines.config("pve2", 9002)
            await asyncio.sleep(400)
            picture = await client.inventory.get()
            host = picture.hosts["pve2"]
            assert (host.online, host.cpus, host.memory) == (False, before.cpus, before.memory)
            assert picture.machines[9002].status is Status.UNKNOWN
            node.online = True
            center.emulator.power_changed(node)
            await asyncio.sleep(15)
            await client.inventory.get()
            assert (await client.machines.config("pve2", 9002)).template

    run(main())


def test_a_failure_is_kept_for_as_long_as_a_picture() -> None:
    async def main() -> None:
        async with data_center() as center:
            client = center.client
            for node in center.emulator.datacenter.nodes.values():
                node.online = False
            for _ in range(10):
                with pytest.raises(HostUnreachable):
                    await client.inventory.get()
            assert len(center.transport.sent) == 3
            assert client.inventory.last is None
            assert client.inventory.age() is None

    run(main())


def test_without_the_right_to_see_it_quorum_is_not_known() -> None:
    async def main() -> None:
        async with data_center() as center:
            await center.client.access.create_user("weak@pve")
            token = await center.client.access.create_token("weak@pve", "main")
            center.client.replace(Facts(center.client.facts.endpoints, Token(token.id, token.secret)))
            picture = await center.client.inventory.get()
            assert picture.quorate is None
            assert picture.machines == {}
            assert picture.hosts["pve1"].online

    run(main())
