from __future__ import annotations

import asyncio
from typing import Any

from nagaya.simulators.proxmox.cluster import hosts
from nagaya.simulators.proxmox.layouts.demo import demo
from support.proxmox_lab import ProxmoxLab, proxmox_lab, token
from support.virtual_run import run, virtual_world


async def _row(lab: ProxmoxLab, id: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = await lab.data("GET", "/cluster/resources")
    return next(row for row in rows if row["id"] == id)


def test_a_new_machine_has_neither_name_nor_status_until_its_host_reports() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("GET", "/cluster/resources")
            await lab.task("POST", "/nodes/pve1/qemu", {"vmid": 300, "name": "new", "tags": "a"})
            fresh = await _row(lab, "qemu/300")
            assert fresh == {
                "id": "qemu/300", "vmid": 300, "node": "pve1", "type": "qemu", "status": "unknown", "tags": "a",
            }  # fmt: skip
            await asyncio.sleep(10)
            assert (await _row(lab, "qemu/300"))["name"] == "new"

    run(main())


def test_machines_of_a_host_that_went_off_look_for_five_minutes_as_before() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            await lab.data("GET", "/cluster/resources")
            hosts.power_off(lab.emulator, "pve3")
            node = await _row(lab, "node/pve3")
            assert node["status"] == "offline"
            assert "cpu" not in node
            assert node["maxcpu"] == 16
            assert (await _row(lab, "qemu/9003"))["name"].startswith("debian")
            await asyncio.sleep(301)
            assert "maxcpu" not in await _row(lab, "node/pve3")
            machine = await _row(lab, "qemu/9003")
            assert machine["status"] == "unknown"
            assert "name" not in machine
            assert (await _row(lab, "storage/pve3/local-lvm"))["status"] == "unknown"
            hosts.power_on(lab.emulator, "pve3")
            await asyncio.sleep(10)
            assert (await _row(lab, "node/pve3"))["status"] == "online"

    run(main())


def test_a_machine_that_moved_keeps_the_last_word_of_its_old_host() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            await lab.data("GET", "/cluster/resources")
            lab.datacenter.guests[9003].node = "pve1"
            row = await _row(lab, "qemu/9003")
            assert (row["node"], row["status"]) == ("pve1", "stopped")

    run(main())


def test_who_may_see_nothing_gets_the_hosts_alone() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.access.acl.clear()
            rows = await lab.data("GET", "/cluster/resources", headers=token("alice@pve!sep"))
            assert {row["type"] for row in rows} == {"node"}
            assert all("maxmem" not in row for row in rows)

    run(main())


def test_a_report_says_how_a_machine_was_when_its_host_spoke() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            await lab.task("POST", "/nodes/pve1/qemu", {"vmid": 300, "name": "before", "memory": "512"})
            await lab.task("POST", "/nodes/pve1/qemu/300/status/start")
            await lab.data("GET", "/cluster/resources")
            await asyncio.sleep(10.5)
            told = await _row(lab, "qemu/300")
            await lab.data("PUT", "/nodes/pve1/qemu/300/config", {"name": "after"})
            await asyncio.sleep(3)
            assert told["name"] == "before"
            assert await _row(lab, "qemu/300") == told
            await lab.task("POST", "/nodes/pve1/qemu/300/status/stop")
            assert await _row(lab, "qemu/300") == told
            await asyncio.sleep(10)
            now = await _row(lab, "qemu/300")
            assert (now["name"], now["status"], now["uptime"]) == ("after", "stopped", 0)

    run(main())
