"""What hosts are equipped with: asked when it matters, side by side, and each host for itself."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from nagaya.infrastructure.proxmox.client import Token
from nagaya.infrastructure.proxmox.client.equipment import AGE, Devices, devices_of
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.client.machine_config import config
from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.state import access
from nagaya.simulators.proxmox.state.guest import Guest
from support.proxmox_transport import data_center
from support.virtual_run import run

HOSTS = ("pve1", "pve2", "pve3")


def test_however_many_ask_each_host_is_asked_once_and_again_when_the_answer_is_old() -> None:
    async def main() -> None:
        async with data_center() as center:
            equipment = center.client.inventory.equipment
            found = await asyncio.gather(*(equipment.bridges(HOSTS) for _ in range(20)))
            assert found[0] == dict.fromkeys(HOSTS, frozenset({"vmbr0"}))
            asked = [f"GET /nodes/{host}/network" for host in HOSTS]
            assert sorted(center.transport.asked()) == asked
            await asyncio.sleep(AGE - 1)
            await equipment.bridges(HOSTS)
            assert len(center.transport.sent) == 3
            await asyncio.sleep(2)
            await equipment.bridges(["pve2"])
            assert center.transport.asked()[3:] == ["GET /nodes/pve2/network"]

    run(main())


def test_a_host_that_hangs_costs_a_decision_five_seconds_and_nothing_but_itself() -> None:
    async def main() -> None:
        async with data_center() as center:
            Control(center.emulator).change_host("pve3", slowness=8)
            equipment = center.client.inventory.equipment
            begun = asyncio.get_running_loop().time()
            found = await equipment.bridges(HOSTS)
            assert asyncio.get_running_loop().time() - begun == 5
            assert found == {"pve1": frozenset({"vmbr0"}), "pve2": frozenset({"vmbr0"}), "pve3": None}
            await asyncio.sleep(30)  # its answer came behind the scenes, or why there was none
            assert (await equipment.bridges(["pve3"]))["pve3"] is not None

    run(main())


def test_a_host_that_is_dead_is_told_with_the_reason() -> None:
    async def main() -> None:
        async with data_center() as center:
            Control(center.emulator).power_off("pve3")
            equipment = center.client.inventory.equipment
            await equipment.bridges(HOSTS)
            await asyncio.sleep(40)
            found = await equipment.bridges(HOSTS)
            assert found["pve1"] == frozenset({"vmbr0"})
            assert isinstance(found["pve3"], ProxmoxError)
            assert found["pve3"].why

    run(main())


def test_bridges_that_may_not_be_used_are_not_there() -> None:
    async def main() -> None:
        async with data_center() as center:
            rights = center.emulator.datacenter.access
            rights.users["poor@pve"] = access.User(tokens={"tok": access.Token("s", privilege_separation=False)})
            client = center.client
            client.replace(replace(client.facts, credentials=Token("poor@pve!tok", "s")))
            assert await client.inventory.equipment.bridges(["pve1"]) == {"pve1": frozenset()}
            assert await client.inventory.equipment.mappings() == {}

    run(main())


def test_mappings_are_read_with_one_call_and_say_what_is_where() -> None:
    async def main() -> None:
        async with data_center() as center:
            center.emulator.datacenter.mappings["gpu"] = {
                "map": [
                    "id=10de:1eb8,node=pve1,path=0000:41:00.0",
                    "id=10de:1eb8,node=pve1,path=0000:42:00.0;0000:42:00.1",
                    "id=10de:1eb8,node=pve2,path=0000:01:00",
                ]
            }
            equipment = center.client.inventory.equipment
            gpu = (await equipment.mappings())["gpu"]
            assert [gpu.on(host) for host in HOSTS] == [2, 1, 0]
            await equipment.mappings()
            assert center.transport.asked() == ["GET /cluster/mapping/pci"]

    run(main())


def test_who_has_devices_is_read_from_configurations() -> None:
    async def main() -> None:
        async with data_center() as center:
            guests = center.emulator.datacenter.guests
            guests[200] = Guest(200, "pve1", {"name": "games", "hostpci0": "mapping=gpu,pcie=1"})
            guests[201] = Guest(201, "pve1", {"name": "video", "hostpci0": "0000:42:00,rombar=0"})
            guests[202] = Guest(202, "pve1", {"name": "shares", "hostpci0": "mapping=gpu,mdev=nvidia-63"})
            mappings = {"gpu": Devices({"pve1": ("0000:41:00.0", "0000:42:00.0;0000:42:00.1")})}
            await asyncio.sleep(15)
            client = center.client
            rows = [each for each in (await client.inventory.get()).machines.values() if each.vmid < 9000]
            assert await client.inventory.equipment.taken(rows, mappings) == {200: ("gpu",), 201: ("gpu",), 202: ()}

    run(main())


@pytest.mark.parametrize(
    ("written", "mappings"),
    [
        ("mapping=gpu", ("gpu",)),
        ("01:00", ("gpu",)),
        ("01:00.0", ("gpu",)),
        ("host=0000:01:00.1,pcie=1", ("gpu",)),
        ("0000:02:00.0", ()),
        ("mapping=gpu,mdev=nvidia-63", ()),
    ],
)
def test_a_device_is_known_by_mapping_or_address(written: str, mappings: tuple[str, ...]) -> None:
    known = {"gpu": Devices({"pve1": ("0000:01:00",)}), "disc": Devices({"pve2": ("0000:02:00",)})}
    assert devices_of(config({"hostpci0": written, "memory": 512}), "pve1", known) == mappings
