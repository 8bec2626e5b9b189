"""Hosts that are off when something begins, or die in the middle of it, and come back at the end.

A dead host blocks nothing that it need not: what can be done without it is done while it is off, what must wait says
so and names it, and in the end nothing is left over on it.
"""

from __future__ import annotations

import asyncio

import pytest

from support.lab import holds
from support.proxmox_town import Town, play, town
from support.proxmox_town_calls import ASK_GUEST, CLONE, CONFIGURE, DESTROY, REMOVE_VOLUME, RESIZE, START, STOP, UPLOAD
from support.proxmox_town_hosts import DyingHost, clear_away
from support.proxmox_town_life import (
    CREATE,
    DELETE,
    HEAL,
    LIFE,
    ROLL,
    SCALE_DOWN,
    SCALE_UP,
    UPGRADE,
    Phase,
    live,
    nobody_writes,
)
from support.proxmox_town_manifests import Shop
from support.thoroughness import choose, exhaustive

pytestmark = pytest.mark.long("plays a cluster's whole life")

OFF = 660.0
"""Seconds: longer than anybody waits before he says something, or has a machine replaced."""
PATIENCE = 600.0
NOTICED = 120.0
CONTROL_PLANE, WORKER = "pve1", "pve3"
"""Where the machines of a small cluster are: hosts are taken in turn."""
MOMENTS = [
    *((CREATE, call) for call in (CLONE, CONFIGURE, RESIZE, UPLOAD, START, ASK_GUEST, REMOVE_VOLUME)),
    *((SCALE_UP, call) for call in (CLONE, START)),
    *((SCALE_DOWN, call) for call in (STOP, DESTROY)),
    *((ROLL, call) for call in (CLONE, START, STOP, DESTROY)),
    *((UPGRADE, call) for call in (CLONE, START, STOP, DESTROY)),
    *((HEAL, call) for call in (CLONE, START)),
    *((DELETE, call) for call in (STOP, DESTROY)),
]
MOMENTS_SAMPLE = [
    (CREATE, CLONE),
    (CREATE, UPLOAD),
    (SCALE_UP, START),
    (SCALE_DOWN, STOP),
    (ROLL, DESTROY),
    (UPGRADE, CLONE),
    (HEAL, START),
    (DELETE, DESTROY),
]
"""Each phase is in it, and each of the calls that take a host long."""
OFF_SAMPLE = (
    (CREATE, CONTROL_PLANE),
    (SCALE_UP, WORKER),
    (SCALE_DOWN, WORKER),
    (ROLL, WORKER),
    (UPGRADE, CONTROL_PLANE),
    (HEAL, WORKER),
    (DELETE, CONTROL_PLANE),
)
"""Which host is off in each phase. A dead worker has assertions of its own while a cluster scales up and heals."""


@pytest.mark.parametrize(
    ("phase", "host"),
    [
        pytest.param(phase, host, id=f"{name}-{phase.name}", marks=[] if (phase, host) in OFF_SAMPLE else [exhaustive])
        for phase in LIFE
        for name, host in (("control-plane", CONTROL_PLANE), ("worker", WORKER))
    ],
)
def test_a_host_is_off_at_the_beginning_and_back_at_the_end(phase: Phase, host: str) -> None:
    async def before(here: Town, _: Phase) -> None:
        here.control.power_off(host)
        await asyncio.sleep(1)

    async def during(here: Town, _: Phase) -> None:
        await asyncio.sleep(OFF)
        if phase is CREATE:
            assert await phase.done(here), f"{phase.name} needs no host that is off\n{await here.story()}"
        elif host == WORKER and phase in (SCALE_UP, HEAL):
            await _all_but_the_dead_are_well(here)
        if phase is not CREATE:
            assert here.witness.heard(host, "off"), f"nobody said that {host} is off\n{await here.story()}"
        here.control.power_on(host)

    async def main() -> None:
        async with town(Shop(1, 2)) as here:
            await here.begin()
            await live(here, _until(phase))
            await live(here, (phase,), before, during, nobody_writes)
            if phase is not DELETE:
                await live(here, (DELETE,))

    play(main())


@pytest.mark.parametrize("phase", [SCALE_DOWN, ROLL, HEAL, DELETE], ids=lambda phase: phase.name)
def test_machines_may_go_before_their_host_is_back(phase: Phase) -> None:
    """With the policy Release nothing waits for the host; what is left there goes when it is back."""

    async def before(here: Town, _: Phase) -> None:
        here.control.power_off(WORKER)
        await asyncio.sleep(1)

    async def during(here: Town, _: Phase) -> None:
        await asyncio.sleep(OFF)
        assert await phase.done(here), f"{phase.name} waits for a host that is off\n{await here.story()}"
        here.control.power_on(WORKER)
        await asyncio.sleep(NOTICED)

    async def main() -> None:
        async with town(Shop(1, 2, infrastructure={"deletionPolicy": "Release"})) as here:
            await here.begin()
            await live(here, _until(phase))
            await live(here, (phase,), before, during, nobody_writes)

    play(main())


@pytest.mark.parametrize("phase", [CREATE, UPGRADE], ids=lambda phase: phase.name)
def test_three_control_planes_bear_a_host_that_is_off(phase: Phase) -> None:
    async def before(here: Town, _: Phase) -> None:
        here.control.power_off("pve2")
        await asyncio.sleep(1)

    async def during(here: Town, _: Phase) -> None:
        await asyncio.sleep(OFF)
        assert holds(await here.get("Cluster", here.shop.name), "RemoteConnectionProbe"), await here.story()
        here.control.power_on("pve2")

    async def main() -> None:
        async with town(Shop(3, 1)) as here:
            await here.begin()
            await live(here, _until(phase))
            await live(here, (phase,), before, during, nobody_writes)

    play(main())


@pytest.mark.parametrize(
    ("phase", "call"),
    [
        pytest.param(*moment, id=f"{moment[0].name}-{moment[1].split('/')[-1]}")
        for moment in choose(MOMENTS_SAMPLE, MOMENTS)
    ],
)
def test_a_host_dies_in_the_middle_and_comes_back(phase: Phase, call: str) -> None:
    async def main() -> None:
        # Without the host of the only control plane the API is away, longer than Nodes are usually tried to be deleted.
        async with town(Shop(1, 2, patient=True)) as here:
            await here.begin()
            await live(here, _until(phase))
            dying = DyingHost(here, call)

            async def during(here: Town, _: Phase) -> None:
                async with asyncio.timeout(PATIENCE):
                    await dying.died.wait()
                await asyncio.sleep(OFF)
                said = here.witness.heard(dying.host, "off")
                assert said, f"nobody said that {dying.host} is off\n{await here.story()}"
                here.control.power_on(dying.host)
                await asyncio.sleep(NOTICED)
                _clear_away(here, dying.host)

            await live(here, (phase,), during=during, after=nobody_writes)

    play(main())


def _clear_away(here: Town, host: str) -> None:
    """What only root may remove is removed by a person, whom a message has told to."""
    for vmid in clear_away(here):
        told = here.witness.heard(str(vmid), host, "qm destroy")
        assert told, f"nobody said what to do about VM {vmid}"


async def _all_but_the_dead_are_well(here: Town) -> None:
    """Whoever is not on the host that is off is at work. Those that go keep their place until they are gone."""
    workers = await here.workers()
    wanted = (await here.get("MachineDeployment", here.shop.deployment)).spec.replicas
    assert len(workers) == wanted, await here.story()
    going = [each for each in workers if each.metadata.deleting]
    assert len(going) <= 1, await here.story()
    assert all(holds(each, "Available") for each in workers if not each.metadata.deleting), await here.story()


def _until(phase: Phase) -> tuple[Phase, ...]:
    """What has to come first."""
    if phase is CREATE:
        return ()
    return (CREATE, SCALE_UP) if phase is SCALE_DOWN else (CREATE,)
