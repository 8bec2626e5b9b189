from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from nagaya.simulators.proxmox.layouts.demo import demo
from support.proxmox_lab import proxmox_lab
from support.virtual_run import run, virtual_world


def test_memory_of_running_machines_counts_as_used() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            before = (await lab.data("GET", "/nodes/pve1/status"))["memory"]
            await lab.task("POST", "/nodes/pve1/qemu/202/status/start")
            after = (await lab.data("GET", "/nodes/pve1/status"))["memory"]
            assert after["used"] - before["used"] == 64 << 20
            assert after["used"] + after["free"] == after["total"]

    run(main())


def test_a_slow_host_answers_later_whoever_is_asked() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            lab.datacenter.nodes["pve2"].slowness = 7
            loop = asyncio.get_running_loop()
            began = loop.time()
            await lab.data("GET", "/nodes/pve2/version")
            assert loop.time() - began == 7
            await lab.data("GET", "/nodes/pve1/version")
            assert loop.time() - began == 7

    run(main())


def test_a_call_that_takes_longer_than_half_a_minute_is_lost_on_the_way_but_done() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            lab.datacenter.nodes["pve2"].slowness = 40
            answer = await lab.ask("POST", "/nodes/pve2/qemu", {"vmid": 300})
            assert answer.status == 596
            assert 300 not in lab.datacenter.guests
            await asyncio.sleep(20)
            assert 300 in lab.datacenter.guests

    run(main())


def test_graphs_have_times_that_end_now() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            points = await lab.data("GET", "/nodes/pve1/rrddata", {"timeframe": "hour"})
            assert len(points) == 60
            steps = {later["time"] - earlier["time"] for earlier, later in pairwise(points)}
            assert steps == {60}
            now = lab.emulator.world.clock.now().timestamp()
            assert points[-1]["time"] == now - now % 60 - 60
            assert len(await lab.data("GET", "/nodes/pve1/rrddata", {"timeframe": "day"})) == 1440

    run(main())


def test_options_of_a_host_are_read_as_its_file_has_them() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = "/nodes/pve1/config"
            assert await lab.data("GET", path) == {}
            await lab.data("PUT", path, {"description": "one\ntwo", "digest": "0" * 40})
            found = await lab.data("GET", path)
            assert found["description"] == "one\ntwo\n"
            old = await lab.ask("PUT", path, {"description": "x", "digest": "0" * 40})
            assert old.reason.startswith("detected modified configuration")
            both = {"description": "x", "delete": "description", "digest": found["digest"]}
            await lab.data("PUT", path, both)
            assert await lab.data("GET", path) == {}

    run(main())


def test_there_are_no_containers() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert await lab.data("GET", "/nodes/pve1/lxc") == []

    run(main())


def test_a_machine_has_a_graph_once_it_has_been_seen() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            points = await lab.data("GET", "/nodes/pve1/qemu/200/rrddata?timeframe=hour")
            assert (len(points), set(points[0])) == (60, {"time"})
            answer = await lab.ask("GET", "/nodes/pve1/qemu/4242/rrddata?timeframe=hour")
            assert (answer.status, answer.reason) == (
                500,
                "RRD error: opening '/var/lib/rrdcached/db/pve-vm-9.0/4242': No such file or directory",
            )

    run(main())


def test_what_a_migration_can_take_along_is_a_boolean_of_json() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.ask("GET", "/nodes/pve1/capabilities/qemu/migration")
            assert answer.body == b'{"data":{"has-dbus-vmstate":true}}'

    run(main())


def test_graphs_of_a_host_that_is_off_are_kept_by_the_others() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            await lab.data("GET", "/cluster/resources")
            lab.datacenter.nodes["pve3"].online = False
            vmid = next(vmid for vmid, guest in lab.datacenter.guests.items() if guest.node == "pve3")
            for path in ("/nodes/pve3", f"/nodes/pve3/qemu/{vmid}", f"/nodes/pve2/qemu/{vmid}"):
                assert len(await lab.data("GET", f"{path}/rrddata", {"timeframe": "hour"})) == 60
            assert (await lab.ask("GET", "/nodes/pve3/storage/local/rrddata", {"timeframe": "hour"})).status == 595

    run(main())


@pytest.mark.parametrize("name", ["node-9.0/pve2", "node-9.0/localhost", "vm-9.0/777"])
def test_nobody_has_a_graph_of_what_was_never_heard_of(name: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            kind, _, which = name.partition("/")
            path = f"/nodes/{which}" if kind.startswith("node") else f"/nodes/pve2/qemu/{which}"
            answer = await lab.ask("GET", f"{path}/rrddata", {"timeframe": "hour"})
            file = f"/var/lib/rrdcached/db/pve-{name}"
            assert answer.reason == f"RRD error: opening '{file}': No such file or directory"

    run(main())
