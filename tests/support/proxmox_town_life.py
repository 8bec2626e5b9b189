"""The life of a cluster in the town, in phases: created, scaled up and down, rolled, upgraded, healed, deleted.

Each phase begins with what a user or an accident does, and has ended when all is as it should be and nobody writes any
more. Then the town must be in order, whatever went wrong on the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nagaya.infrastructure.proxmox.machine.memory import LONGEST_PAUSE
from support.proxmox_town import Town
from support.proxmox_town_layout import NEW
from support.proxmox_town_order import disorder

PEACE = 600.0
"""Seconds for which a town at rest is watched."""


@dataclass(slots=True)
class Phase:
    """Something that happens to a cluster."""

    name: str
    begin: Callable[[Town], Awaitable[None]]
    done: Callable[[Town], Awaitable[bool]]


async def _create(town: Town) -> None:
    await town.apply()


async def _created(town: Town) -> bool:
    return await town.has(town.shop.control_planes, town.shop.workers)


async def _scale_up(town: Town) -> None:
    await town.merge("MachineDeployment", town.shop.deployment, {"spec": {"replicas": town.shop.workers + 1}})


async def _scaled_up(town: Town) -> bool:
    return await town.has(town.shop.control_planes, town.shop.workers + 1)


async def _scale_down(town: Town) -> None:
    await town.merge("MachineDeployment", town.shop.deployment, {"spec": {"replicas": town.shop.workers}})


async def _roll(town: Town) -> None:
    """Workers get more memory, by another template."""
    template = town.shop.template("worker", "-large", memoryMiB=6144)
    await town.create(template)
    reference = {"name": template["metadata"]["name"]}
    changed = {"spec": {"template": {"spec": {"infrastructureRef": reference}}}}
    await town.merge("MachineDeployment", town.shop.deployment, changed)


async def _rolled(town: Town) -> bool:
    large = [
        each
        for each in await town.all("ProxmoxMachine")
        if each.spec.memory_mib == 6144 and not each.metadata.deleting
    ]  # fmt: skip
    return len(large) == town.shop.workers and await _created(town)


async def _upgrade(town: Town) -> None:
    await town.merge("KubeadmControlPlane", town.shop.name, {"spec": {"version": NEW}})
    changed = {"spec": {"template": {"spec": {"version": NEW}}}}
    await town.merge("MachineDeployment", town.shop.deployment, changed)


async def _upgraded(town: Town) -> bool:
    return await town.has(town.shop.control_planes, town.shop.workers, NEW)


async def _lose_a_worker(town: Town) -> None:
    """Somebody destroys the VM of a worker, and forgets to tell."""
    for worker in sorted(await town.workers(), key=lambda each: str(each.metadata.name)):
        vmid = await town.vm_of(worker)
        if town.datacenter.nodes[town.datacenter.guests[vmid].node].online:
            town.lost = worker.metadata.uid
            return await town.vanish(vmid)
    raise AssertionError("all workers are on hosts that are off")


async def _healed(town: Town) -> bool:
    if any(each.metadata.uid == town.lost for each in await town.all("Machine")):
        return False
    versions = {each.spec.version for each in await town.all("Machine")}
    return await town.has(town.shop.control_planes, town.shop.workers, *versions) if len(versions) == 1 else False


async def _delete(town: Town) -> None:
    await town.delete("Cluster", town.shop.name)


async def _deleted(town: Town) -> bool:
    return await town.left() in ([], ["ProxmoxConnection/pve"])


CREATE = Phase("create", _create, _created)
SCALE_UP = Phase("scale-up", _scale_up, _scaled_up)
SCALE_DOWN = Phase("scale-down", _scale_down, _created)
ROLL = Phase("roll", _roll, _rolled)
UPGRADE = Phase("upgrade", _upgrade, _upgraded)
HEAL = Phase("heal", _lose_a_worker, _healed)
DELETE = Phase("delete", _delete, _deleted)
LIFE = (CREATE, SCALE_UP, SCALE_DOWN, ROLL, UPGRADE, HEAL, DELETE)

Meanwhile = Callable[[Town, Phase], Awaitable[None]]
"""What else happens when a phase has begun; it returns when the town is to be left alone."""


async def nothing(_: Town, __: Phase) -> None:
    """All goes well."""


async def live(
    town: Town,
    phases: tuple[Phase, ...] = LIFE,
    before: Meanwhile = nothing,
    during: Meanwhile = nothing,
    after: Meanwhile = nothing,
) -> None:
    """Go through phases, with something before each, while it is under way, and when it has ended, before the town is
    looked at."""
    for phase in phases:
        town.witness.forget()
        try:
            await before(town, phase)
            await _go_through(town, phase, during)
            await _in_order(town)
            await after(town, phase)
        except AssertionError as error:
            raise AssertionError(f"{phase.name}: {error}") from None


async def _in_order(town: Town) -> None:
    """What failed last is tried again after a pause, in which nobody writes."""
    loop = asyncio.get_running_loop()
    end = loop.time() + (town.quiet if town.real else LONGEST_PAUSE)
    while found := await disorder(town):
        assert loop.time() < end, "\n".join([*found, await town.story()])
        await asyncio.sleep(10)


async def _go_through(town: Town, phase: Phase, during: Meanwhile) -> None:
    async def done() -> bool:
        return await phase.done(town)

    async def meanwhile() -> None:
        await during(town, phase)

    await phase.begin(town)
    trouble = asyncio.create_task(meanwhile(), name=f"meanwhile in {phase.name}")
    try:
        await town.until(f"the end of {phase.name}", town.reviving(done), patience=town.patience)
        await trouble
        await town.survive(f"the end of {phase.name}", done)
    finally:
        trouble.cancel()
        await asyncio.gather(trouble, return_exceptions=True)


async def nobody_writes(town: Town, phase: Phase) -> None:
    """While nothing happens, nothing is written: neither to the API, nor to Proxmox VE."""
    town.mortal.writes.clear()
    begin = len(town.ledger.calls)
    await asyncio.sleep(PEACE)
    written = [f"{call.method} {call.path}" for call in town.mortal.writes]
    assert not written, f"written at rest: {written}"
    assert not town.ledger.writes(begin), f"written at rest: {town.ledger.writes(begin)}"
