"""What a plane has written down and nobody could find out again goes along when a cluster moves to another management
API: which hosts may still have boot data, and which VMs may be destroyed although their machine is gone."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from nagaya.api.cluster.annotations import DELETE_MACHINE
from nagaya.moving.move import Move
from nagaya.simulators.proxmox.emulator import Proceed
from nagaya.simulators.proxmox.faults.faults import api_path
from nagaya.simulators.proxmox.layouts.demo import secret as root_secret
from nagaya.simulators.proxmox.request import Answer, Request
from support.proxmox_second_town import second_town
from support.proxmox_town import Town, play, town
from support.proxmox_town_life import CREATE, DELETE, live
from support.proxmox_town_manifests import Shop


class Restless:
    """Moves the VM of a worker to another host when its CD image is uploaded and about to be put into its drive, and
    turns the first host off."""

    def __init__(self, here: Town) -> None:
        self._here = here
        self.left = ""
        here.emulator.around.insert(0, self._around)

    async def _around(self, request: Request, proceed: Proceed) -> Answer:
        path = api_path(request.path) or ""
        if not self.left and path.endswith("/config") and b"user-data" in request.body:
            _, _, node, _, vmid, _ = path.split("/")
            there = self._here.datacenter
            if "workers" in str(there.guests[int(vmid)].config["name"]):
                self.left = node
                used = {node, *(each.node for each in there.guests.values() if each.running)}
                await self._migrate(int(vmid), node, next(each for each in there.nodes if each not in used))
                self._here.control.power_off(node)
        return await proceed(request)

    async def _migrate(self, vmid: int, node: str, to: str) -> None:
        here = self._here
        headers = {
            "authorization": f"PVEAPIToken=root@pam!demo={root_secret(here.datacenter)}",
            "content-type": "application/x-www-form-urlencoded",
        }
        wanted = f"target={to}&with-local-disks=1".encode()
        path = f"/api2/json/nodes/{node}/qemu/{vmid}/migrate"
        answer = await here.emulator.answer(Request("POST", path, "", headers, wanted, node))
        task = here.emulator.tasks.known[str(orjson.loads(answer.body)["data"])]
        assert task.worker is not None
        await asyncio.wait([task.worker])


def images(here: Town) -> list[str | None]:
    """The hosts that have boot data."""
    return [each.node for each in here.datacenter.volumes.values() if "user-data" in each.id]


async def move(source: Town, target: Town) -> None:
    errand = Move(source.client, target.client, lambda _: None)
    await errand.run(await errand.look())


async def reservations(here: Town) -> dict[str, Any]:
    """Those with something written down, by the machine that they are for."""
    return {each.spec.name: each.status for each in await here.all("ProxmoxVirtualMachine")}


def test_boot_data_on_a_host_that_was_off_go_when_it_is_back_although_the_cluster_has_moved() -> None:
    async def main() -> None:
        async with town(Shop(1, 1)) as first, second_town(first) as second:
            restless = Restless(first)
            await first.begin()
            await first.apply()
            await first.until("the cluster to be there", lambda: first.has(1, 1))
            await asyncio.sleep(120)
            assert images(first) == [restless.left]
            await second.begin()
            await move(first, second)
            (worker,) = [each for name, each in (await reservations(second)).items() if "workers" in name]
            assert worker.boot_data_on == (restless.left,)
            await second.until("the cluster to be there", lambda: second.has(1, 1))
            first.control.power_on(restless.left)
            await asyncio.sleep(300)
            assert images(first) == []
            assert all(each.boot_data_on == () for each in (await reservations(second)).values())
            await live(second, (DELETE,))

    play(main())


def test_a_vm_that_was_released_while_its_host_was_off_is_destroyed_by_the_plane_that_it_moved_to() -> None:
    async def main() -> None:
        async with town(Shop(1, 2)) as first, second_town(first) as second:
            await first.begin()
            await live(first, (CREATE,))
            host, gone = await release_a_worker(first)
            await second.begin()
            await move(first, second)
            assert not await reservations(first)
            assert (await reservations(second))[gone].phase == "Orphaned"
            first.control.power_on(host)
            await second.until("the VM to go", lambda: no_longer(second, gone))
            await second.until("the cluster to be there", lambda: second.has(1, 1))
            await live(second, (DELETE,))

    play(main())


async def release_a_worker(here: Town) -> tuple[str, str]:
    """Turn the host of a worker off and scale down; returns the host, and the name of the VM that is left on it."""
    machines = {each.metadata.name: each for each in await here.all("ProxmoxMachine")}
    (plane,) = [each.status.proxmox_node for name, each in machines.items() if "workers" not in name]
    name, host = next(
        (name, each.status.proxmox_node)
        for name, each in machines.items()
        if "workers" in name and each.status.proxmox_node != plane
    )
    here.control.power_off(host)
    await here.merge("ProxmoxMachine", name, {"spec": {"deletionPolicy": "Release"}})
    await here.merge("Machine", name, {"metadata": {"annotations": {DELETE_MACHINE: "true"}}})
    await here.merge("MachineDeployment", here.shop.deployment, {"spec": {"replicas": 1}})
    await here.until("the machine to go", lambda: here.has(1, 1))
    assert (await reservations(here))[name].phase == "Orphaned"
    return host, name


async def no_longer(here: Town, name: str) -> bool:
    return name not in await reservations(here) and not any(
        each.config.get("name") == name for each in here.datacenter.guests.values()
    )
