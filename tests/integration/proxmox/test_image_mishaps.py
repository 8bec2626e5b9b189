"""Whatever call goes wrong, and wherever a run ends: some later run finishes it, and nothing is ever there twice."""

from __future__ import annotations

import asyncio

import pytest

from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.image.wanted import Wanted
from nagaya.simulators.proxmox.faults.fault import Calls, Fault, Kind, When
from nagaya.simulators.proxmox.pace import Pace
from support.proxmox_image_lab import ImageLab, digest, image_lab, on_local_disks
from support.virtual_run import run

ROUTES = {
    "version": ("GET", "/version"),
    "resources": ("GET", "/cluster/resources"),
    "status": ("GET", "/cluster/status"),
    "nextid": ("GET", "/cluster/nextid"),
    "tasks": ("GET", "/nodes/*/tasks"),
    "task": ("GET", "/nodes/*/tasks/*/status"),
    "log": ("GET", "/nodes/*/tasks/*/log"),
    "config": ("GET", "/nodes/*/qemu/*/config"),
    "content": ("GET", "/nodes/*/content"),
    "download": ("POST", "/nodes/*/download-url"),
    "create": ("POST", "/nodes/*/qemu"),
    "template": ("POST", "/nodes/*/template"),
    "tags": ("PUT", "/nodes/*/config"),
    "remove": ("DELETE", "/nodes/*/content/*"),
}
KINDS = (Kind.FAIL, Kind.HANG, Kind.LOST, Kind.CLOSED, Kind.REFUSED)
PACE = Pace(download_per_mib=0.02, full_clone_per_gib=10.0, task=2.0)
REST = 300.0
"""Seconds until somebody runs it again."""
CALLS = 40
"""More than a run makes for one host."""


async def finished(it: ImageLab, wanted: Wanted) -> None:
    """Run it again, as a person would, until there is nothing to do; then all is there once."""
    for _ in range(4):
        await asyncio.sleep(REST)
        try:
            if (await it.plan(wanted)).nothing:
                break
            await it.add(wanted)
        except ProxmoxError:
            continue
    hosts = sorted(it.center.emulator.datacenter.nodes)
    assert sorted(guest.node for guest in it.images().values()) == hosts
    assert {guest.config.get("tags") for guest in it.images().values()} == {"debian-13"}
    assert all(guest.config.get("template") for guest in it.images().values())
    assert len(it.center.emulator.datacenter.guests) == 2 * len(hosts), "one of ours beside each that was there"
    assert it.files() == []


@pytest.mark.parametrize("kind", KINDS, ids=[each.value for each in KINDS])
@pytest.mark.parametrize("route", ROUTES)
def test_a_call_that_goes_wrong_makes_nothing_twice(route: str, kind: Kind) -> None:
    async def main() -> None:
        async with image_lab(hosts=2, pace=PACE) as it:
            wanted = on_local_disks(it.publish(digest("first")))
            it.control.faults.set(Fault(kind, Calls(*ROUTES[route]), When(times=1)))
            try:
                await it.add(wanted)
            except ProxmoxError as error:
                assert str(error)
            await finished(it, wanted)
            assert it.control.faults.happened

    run(main())


@pytest.mark.parametrize("number", range(1, CALLS))
def test_a_run_that_ends_after_any_call_is_finished_by_the_next(number: int) -> None:
    async def main() -> None:
        async with image_lab(hosts=1, pace=PACE) as it:
            wanted = on_local_disks(it.publish(digest("first")))
            working = asyncio.ensure_future(it.add(wanted))
            await it.until(lambda: working.done() or len(it.center.transport.sent) >= number)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            await finished(it, wanted)

    run(main())


def test_a_host_that_answers_with_nonsense_keeps_no_other_from_being_done() -> None:
    async def main() -> None:
        async with image_lab(hosts=2, pace=PACE) as it:
            wanted = on_local_disks(it.publish(digest("first")))
            it.control.faults.set(Fault(Kind.FAIL, Calls("GET", "/nodes/pve2/tasks")))
            result = await it.add(wanted)
            problems = {each.host: each.problem for each in result.hosts}
            assert problems["pve1"] == ""
            assert "an emulated failure" in problems["pve2"]
            it.control.faults.clear()
            await finished(it, wanted)

    run(main())
