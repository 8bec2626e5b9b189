from __future__ import annotations

import asyncio

import pytest

from nagaya.simulators.proxmox.cluster import hosts
from nagaya.simulators.proxmox.failure import Unconnected
from nagaya.simulators.proxmox.layouts.demo import demo
from nagaya.simulators.proxmox.pace import realistic
from nagaya.simulators.proxmox.state.node import Unreachable
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.virtual_run import run, virtual_world


def _on(lab: ProxmoxLab, name: str) -> bool:
    return lab.datacenter.nodes[name].online


def test_tasks_die_with_their_host_and_leave_what_they_had_begun() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world, pace=realistic()) as lab:
            upid = await lab.data("POST", "/nodes/pve3/qemu/9003/clone", {"newid": 300, "full": 1})
            await asyncio.sleep(5)
            hosts.power_off(lab.emulator, "pve3")
            task = lab.emulator.tasks.known[upid]
            assert task.exitstatus == "unexpected status"
            assert lab.datacenter.guests[300].lock == "clone"
            assert any(volume.vmid == 300 for volume in lab.datacenter.volumes.values())
            answer = await lab.ask("GET", f"/nodes/pve3/tasks/{upid}/status")
            assert (answer.status, answer.reason, answer.body) == (595, "No route to host", b"")

    run(main())


def test_machines_lose_their_power_with_their_host_and_start_again_with_it_if_they_are_to() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            for vmid, onboot in ((300, 1), (301, 0)):
                await lab.task("POST", "/nodes/pve3/qemu", {"vmid": vmid, "onboot": onboot})
                await lab.task("POST", f"/nodes/pve3/qemu/{vmid}/status/start")
            hosts.power_off(lab.emulator, "pve3")
            assert not lab.datacenter.guests[300].running
            hosts.power_on(lab.emulator, "pve3")
            await asyncio.sleep(30)
            assert [lab.datacenter.guests[vmid].running for vmid in (300, 301)] == [True, False]

    run(main())


def test_a_host_that_is_only_cut_off_keeps_its_machines_running() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            await lab.task("POST", "/nodes/pve3/qemu", {"vmid": 300})
            await lab.task("POST", "/nodes/pve3/qemu/300/status/start")
            hosts.cut_off(lab.emulator, "pve3")
            began = asyncio.get_running_loop().time()
            answer = await lab.ask("GET", "/nodes/pve3/status")
            assert (answer.status, answer.reason) == (595, "Connection timed out")
            assert asyncio.get_running_loop().time() - began == pytest.approx(30, abs=0.1)
            assert lab.datacenter.guests[300].running
            hosts.reconnect(lab.emulator, "pve3")
            assert (await lab.ask("GET", "/nodes/pve3/status")).status == 200

    run(main())


def test_without_a_majority_there_is_no_quorum() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            hosts.power_off(lab.emulator, "pve3")
            assert lab.datacenter.quorate
            hosts.power_off(lab.emulator, "pve2", Unreachable.REFUSED)
            answer = await lab.ask("POST", "/nodes/pve1/qemu", {"vmid": 300})
            assert answer.reason == "cluster not ready - no quorum?"
            with pytest.raises(Unconnected):
                await lab.ask("GET", "/version", node="pve2")

    run(main())


def test_a_host_is_woken_by_the_one_that_was_asked() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            refused = await lab.ask("POST", "/nodes/pve3/wakeonlan")
            assert refused.reason == "No wake on LAN MAC address defined for 'pve3'!"
            await lab.data("PUT", "/nodes/pve3/config", {"wakeonlan": "BC:24:11:00:00:03"})
            hosts.power_off(lab.emulator, "pve3")
            assert await lab.data("POST", "/nodes/pve3/wakeonlan") == "BC:24:11:00:00:03"
            assert not _on(lab, "pve3")
            await asyncio.sleep(lab.emulator.pace.boot + 1)
            assert _on(lab, "pve3")
            itself = await lab.ask("POST", "/nodes/pve1/wakeonlan")
            assert itself.reason == "'pve1' is local node, cannot wake my self!"

    run(main())


def test_a_host_that_is_told_to_reboot_comes_back() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            assert await lab.data("POST", "/nodes/pve2/status", {"command": "reboot"}) is None
            await asyncio.sleep(lab.emulator.pace.shutdown + 0.1)
            assert not _on(lab, "pve2")
            await asyncio.sleep(lab.emulator.pace.boot + 0.1)
            assert _on(lab, "pve2")
            assert (await lab.data("GET", "/nodes/pve2/status"))["uptime"] < 2

    run(main())
