"""Lost replies and interrupted runs: whatever happens, each host ends with one template, and no file is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from nagaya.simulators.proxmox.faults.fault import Calls, Fault, Kind, Steps, TaskFault, TaskKind, When
from nagaya.simulators.proxmox.pace import Pace
from support.proxmox_image_lab import digest, image_lab, on_local_disks
from support.virtual_run import run

FAULTS: dict[str, Callable[[], Fault]] = {
    "download-lost": lambda: Fault(Kind.CLOSED, Calls("POST", "/nodes/*/download-url"), When(times=1)),
    "download-lost-between-hosts": lambda: Fault(Kind.LOST, Calls("POST", "/nodes/*/download-url"), When(times=1)),
    "download-hangs": lambda: Fault(Kind.HANG, Calls("POST", "/nodes/*/download-url"), When(times=1)),
    "create-lost": lambda: Fault(Kind.CLOSED, Calls("POST", "/nodes/*/qemu"), When(times=1)),
    "create-lost-between-hosts": lambda: Fault(Kind.LOST, Calls("POST", "/nodes/*/qemu"), When(times=1)),
    "create-hangs": lambda: Fault(Kind.HANG, Calls("POST", "/nodes/*/qemu"), When(times=1)),
    "create-late": lambda: Fault(Kind.LATE, Calls("POST", "/nodes/*/qemu"), When(times=1), seconds=60),
    "template-lost": lambda: Fault(Kind.CLOSED, Calls("POST", "/nodes/*/template"), When(times=1)),
    "tags-lost": lambda: Fault(Kind.CLOSED, Calls("PUT", "/nodes/*/config"), When(times=1)),
    "look-refused": lambda: Fault(Kind.REFUSED, Calls("GET", "/nodes/*/qemu/*/config"), When(times=2)),
    "status-lost": lambda: Fault(Kind.CLOSED, Calls("GET", "/nodes/*/tasks/*/status"), When(times=3)),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("pace", ["quick", "slow"])
def test_a_lost_reply_makes_nothing_twice(fault: str, pace: str) -> None:
    slow = Pace(download_per_mib=0.2, full_clone_per_gib=60.0, task=20.0)

    async def main() -> None:
        async with image_lab(hosts=2, pace=slow if pace == "slow" else None) as it:
            image = it.publish(digest("first"))
            planned = await it.plan(on_local_disks(image))
            it.control.faults.set(FAULTS[fault]())
            result = await it.run(on_local_disks(image)).apply(planned)
            assert it.control.faults.happened
            if not result.complete:
                it.control.faults.clear()
                result = await it.add(on_local_disks(image))
            assert result.complete, result
            made = it.images()
            assert sorted(guest.node for guest in made.values()) == ["pve1", "pve2"]
            assert {guest.config.get("tags") for guest in made.values()} == {"debian-13"}
            assert len(it.center.emulator.datacenter.guests) == 2 + 2
            assert it.files() == []

    run(main())


@pytest.mark.parametrize("step", ["POST:download-url", "POST:qemu", "POST:template", "PUT:config", "DELETE:content"])
def test_a_run_that_was_interrupted_is_finished_by_the_next(step: str) -> None:
    method, _, last = step.partition(":")

    async def main() -> None:
        async with image_lab(hosts=1, pace=Pace(download_per_mib=0.1, full_clone_per_gib=30.0, task=5.0)) as it:
            image = it.publish(digest("first"))
            first = it.run(on_local_disks(image))
            working = asyncio.ensure_future(first.apply(await first.plan()))
            asked = it.center.transport.asked
            await it.until(lambda: any(each.startswith(method) and f"/{last}" in each for each in asked()))
            await asyncio.sleep(0.3)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            result = await it.add(on_local_disks(image))
            assert result.complete, result
            (guest,) = it.images().values()
            assert guest.config["tags"] == "debian-13"
            assert guest.config["template"] == 1
            assert it.asked("/download-url") == 1
            assert it.asked("POST /nodes/pve1/qemu") - it.asked("/template") == 1
            assert it.files() == []

    run(main())


@pytest.mark.parametrize("delay", [0.0, 0.4, 3.0, 40.0])
def test_two_runs_at_the_same_time_end_with_one_template_for_each_host(delay: float) -> None:
    async def main() -> None:
        async with image_lab(hosts=2, pace=Pace(download_per_mib=0.05, full_clone_per_gib=20.0, task=2.0)) as it:
            wanted = on_local_disks(it.publish(digest("first")))
            first = asyncio.ensure_future(it.add(wanted))
            await asyncio.sleep(delay)
            second = await it.add(wanted)
            assert (await first).complete, await first
            assert second.complete, second
            assert sorted(guest.node for guest in it.images().values()) == ["pve1", "pve2"]
            assert (await it.plan(wanted)).nothing

    run(main())


def test_a_worker_that_is_killed_is_told_and_the_next_run_takes_another_vmid() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            wanted = on_local_disks(it.publish(digest("first")))
            it.control.faults.set(TaskFault(TaskKind.DIE, Steps("qmcreate", step="copy"), When(times=1)))
            (outcome,) = (await it.add(wanted)).hosts
            assert "was killed" in outcome.problem
            assert "qm unlock" in outcome.problem
            left = dict(it.center.emulator.datacenter.guests[9000].config)
            assert (await it.add(wanted)).complete
            assert [*it.images()] == [9002]
            assert it.center.emulator.datacenter.guests[9000].config == left

    run(main())
