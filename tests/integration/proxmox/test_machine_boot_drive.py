"""The cloud-init drive that a clone has from its template is in the way of the boot data. It goes together with its
volume, or not yet: Proxmox VE by itself forgets a drive whose volume it cannot remove, and nobody finds that again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from nagaya.simulators.proxmox.emulator import Proceed
from nagaya.simulators.proxmox.faults.faults import api_path
from nagaya.simulators.proxmox.request import Answer, Request
from support.proxmox_yard import Yard, play

TEMPLATES = (9001, 9002, 9003)
DRIVE = "ide2"


@dataclass(slots=True)
class Interruption:
    """The storage of disks cannot be reached when the drive is about to be taken out."""

    yard: Yard
    lasts: bool
    """Whether it stays so after that call."""
    happened: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.yard.there.emulator.around.insert(0, self._around)

    async def _around(self, request: Request, proceed: Proceed) -> Answer:
        path = api_path(request.path) or ""
        if self.happened.is_set() or not path.endswith("/config") or f"delete={DRIVE}".encode() not in request.body:
            return await proceed(request)
        self.yard.control.reach("local-lvm", False)
        try:
            return await proceed(request)
        finally:
            if not self.lasts:
                self.yard.control.reach("local-lvm", True)
            self.happened.set()


def volumes(yard: Yard) -> list[str]:
    """The volumes of drives for cloud-init that VMs have, templates excepted."""
    listed = yard.there.emulator.datacenter.volumes.values()
    return [each.id for each in listed if "cloudinit" in each.id and each.vmid is not None and each.vmid < 9000]


async def interrupted(yard: Yard) -> None:
    """A machine is made whose template's drive cannot be removed, until the storage is back."""
    interruption = Interruption(yard, lasts=True)
    await yard.cluster()
    await yard.machine("a")
    async with asyncio.timeout(300):
        await interruption.happened.wait()


async def is_well(yard: Yard) -> None:
    """The machine runs with one drive, that with its boot data, and all goes when it goes."""
    (made,) = await yard.provisioned("a")
    config = yard.there.emulator.datacenter.guests[made.spec.virtual_machine_id or 0].config
    assert DRIVE not in config
    assert [name for name, value in config.items() if "user-data" in str(value)] == ["ide0"]
    assert volumes(yard) == []
    await yard.delete("a")
    await yard.gone("a")
    await yard.nothing_left()


@pytest.mark.parametrize("process_ends", [False, True], ids=["same-process", "next-process"])
def test_a_drive_on_a_storage_that_cannot_be_reached_goes_when_the_storage_is_back(process_ends: bool) -> None:
    async def scenario(yard: Yard) -> None:
        await interrupted(yard)
        if process_ends:
            await yard.stop()
            await yard.start()
        await asyncio.sleep(120)
        status, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert (status, reason) == ("False", "WaitingForVirtualMachineConfig")
        assert f"{DRIVE}: unable to apply pending change {DRIVE} : storage 'local-lvm' is not online" in message
        assert "Bring the storage back" in message
        assert len(volumes(yard)) == 1
        yard.control.reach("local-lvm", True)
        await is_well(yard)

    play(scenario)


def test_a_drive_that_could_not_be_removed_once_is_gone_before_the_machine_starts() -> None:
    async def scenario(yard: Yard) -> None:
        Interruption(yard, lasts=False)
        await yard.cluster()
        await yard.machine("a")
        await is_well(yard)
        started = [each for each in yard.there.emulator.tasks.known.values() if each.upid.type == "qmstart"]
        assert len(started) == 1

    play(scenario)


def test_a_machine_that_is_deleted_meanwhile_leaves_nothing() -> None:
    async def scenario(yard: Yard) -> None:
        await interrupted(yard)
        await yard.delete("a")
        await asyncio.sleep(60)
        yard.control.reach("local-lvm", True)
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_a_drive_that_its_template_protects_goes_too() -> None:
    async def scenario(yard: Yard) -> None:
        for vmid in TEMPLATES:
            yard.there.emulator.datacenter.guests[vmid].config["protection"] = 1
        await yard.cluster()
        await yard.machine("a")
        await is_well(yard)

    play(scenario)
