from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from nagaya.simulators.proxmox.cluster import hosts
from nagaya.simulators.proxmox.cluster.manager import HighAvailabilityManager
from nagaya.simulators.proxmox.layouts.demo import demo
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.virtual_run import run, virtual_world

VM = {"vmid": 300, "name": "kept", "scsi0": "shared:1"}


@asynccontextmanager
async def _managed(**options: object) -> AsyncIterator[ProxmoxLab]:
    world = virtual_world()
    async with proxmox_lab(demo(world), world=world) as lab:
        manager = HighAvailabilityManager(lab.emulator)
        manager.start()
        await lab.task("POST", "/nodes/pve3/qemu", VM)
        await lab.data("POST", "/cluster/ha/resources", {"sid": "vm:300", **options})
        try:
            yield lab
        finally:
            await manager.close()


async def _service(lab: ProxmoxLab) -> dict[str, Any]:
    rows: list[dict[str, Any]] = await lab.data("GET", "/cluster/ha/status/current")
    return next(row for row in rows if row["id"] == "service:vm:300")


async def _host(lab: ProxmoxLab, name: str) -> str | None:
    rows: list[dict[str, Any]] = await lab.data("GET", "/cluster/resources", {"type": "node"})
    return next(row for row in rows if row["node"] == name).get("hastate")


def _running(lab: ProxmoxLab) -> bool:
    return lab.datacenter.guests[300].running


def test_a_machine_is_queued_then_started() -> None:
    async def main() -> None:
        async with _managed() as lab:
            assert (await _service(lab))["state"] == "queued"
            assert await _host(lab, "pve3") is None
            await asyncio.sleep(25)
            assert (await _service(lab))["state"] in ("starting", "started")
            await asyncio.sleep(20)
            assert (await _service(lab))["state"] == "started"
            assert _running(lab)

    run(main())


def test_managers_at_work_hold_their_watchdogs() -> None:
    async def main() -> None:
        async with _managed() as lab:
            await asyncio.sleep(60)
            rows = {row["id"]: row for row in await lab.data("GET", "/cluster/ha/status/current")}
            assert rows["fencing"]["status"] == "armed (CRM watchdog active)"
            assert rows["lrm:pve3"]["status"].startswith("pve3 (active, watchdog active, ")
            assert ", watchdog standby, " in rows["lrm:pve1"]["status"]

    run(main())


def test_start_and_stop_are_wishes_that_are_fulfilled_later() -> None:
    async def main() -> None:
        async with _managed() as lab:
            await asyncio.sleep(60)
            task = await lab.task("POST", "/nodes/pve3/qemu/300/status/stop")
            assert (task.upid.type, task.exitstatus) == ("hastop", "OK")
            assert _running(lab)
            await asyncio.sleep(120)
            assert not _running(lab)
            assert (await _service(lab))["crm_state"] == "stopped"
            assert (await _service(lab))["request_state"] == "stopped"
            assert "qmstop" in [task.upid.type for task in lab.emulator.tasks.known.values()]

    run(main())


def test_a_machine_that_has_stopped_already_takes_no_order_to_stop() -> None:
    async def main() -> None:
        async with _managed() as lab:
            await lab.data("PUT", "/cluster/ha/resources/vm:300", {"state": "disabled"})
            await asyncio.sleep(60)
            await lab.task("POST", "/nodes/pve3/qemu/300/status/stop")
            await asyncio.sleep(30)
            assert (await _service(lab))["request_state"] == "disabled"

    run(main())


def test_a_machine_that_ends_by_itself_is_started_again() -> None:
    async def main() -> None:
        async with _managed() as lab:
            await asyncio.sleep(60)
            lab.emulator.machines.power_off(lab.datacenter.guests[300])
            await asyncio.sleep(30)
            assert _running(lab)

    run(main())


def test_machines_of_a_dead_host_are_recovered_on_another_after_it_was_fenced() -> None:
    async def main() -> None:
        async with _managed() as lab:
            await asyncio.sleep(60)
            hosts.power_off(lab.emulator, "pve3")
            await asyncio.sleep(50)
            assert lab.datacenter.guests[300].node == "pve3"
            await asyncio.sleep(40)
            assert (await _service(lab))["crm_state"] == "fence"
            assert (await _host(lab, "pve3"), await _host(lab, "pve2")) == ("fence", "online")
            await asyncio.sleep(90)
            guest = lab.datacenter.guests[300]
            assert guest.node != "pve3"
            assert guest.running
            assert (await _service(lab))["crm_state"] == "started"
            assert await _host(lab, "pve3") == "unknown"
            status = await lab.data("GET", "/cluster/ha/status/manager_status")
            assert status["manager_status"]["node_status"]["pve3"] == "unknown"
            lab.datacenter.nodes["pve2"].maintenance = True
            assert await _host(lab, "pve2") == "maintenance"

    run(main())


def test_a_host_that_is_cut_off_resets_itself_before_its_machines_run_twice() -> None:
    async def main() -> None:
        async with _managed() as lab:
            await asyncio.sleep(60)
            hosts.cut_off(lab.emulator, "pve3")
            await asyncio.sleep(80)
            assert not _running(lab)
            await asyncio.sleep(100)
            assert lab.datacenter.guests[300].node != "pve3"

    run(main())


def test_strict_rules_leave_a_machine_where_it_is() -> None:
    async def main() -> None:
        async with _managed() as lab:
            rule = {"rule": "only", "type": "node-affinity", "resources": "vm:300", "nodes": "pve3", "strict": 1}
            await lab.data("POST", "/cluster/ha/rules", rule)
            await asyncio.sleep(60)
            hosts.power_off(lab.emulator, "pve3")
            await asyncio.sleep(300)
            assert lab.datacenter.guests[300].node == "pve3"
            assert (await _service(lab))["crm_state"] == "recovery"

    run(main())


def test_a_machine_that_cannot_start_anywhere_ends_in_error_until_it_is_disabled() -> None:
    async def main() -> None:
        async with _managed() as lab:
            del lab.datacenter.volumes[None, "shared:300/vm-300-disk-0.raw"]
            await asyncio.sleep(300)
            assert (await _service(lab))["crm_state"] == "error"
            refused = await lab.ask("PUT", "/cluster/ha/resources/vm:300", {"state": "started"})
            assert refused.reason == "service 'vm:300' in error state, must be disabled and fixed first"
            await lab.data("PUT", "/cluster/ha/resources/vm:300", {"state": "disabled"})
            await asyncio.sleep(20)
            assert (await _service(lab))["state"] == "disabled"

    run(main())


def test_without_quorum_nothing_is_done() -> None:
    async def main() -> None:
        async with _managed() as lab:
            for name in ("pve2", "pve3"):
                hosts.power_off(lab.emulator, name)
            await asyncio.sleep(300)
            assert lab.datacenter.guests[300].node == "pve3"

    run(main())
