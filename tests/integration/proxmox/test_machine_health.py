"""Machines that are made, and whose VM stands still, is paused, or is locked: each is told with what to do."""

from __future__ import annotations

import asyncio

from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from support.proxmox_machine_seen import says, vm
from support.proxmox_yard import Yard, play

HEALTHY = "VirtualMachineHealthy"


async def made(yard: Yard) -> ProxmoxMachine:
    await yard.cluster()
    await yard.machine("a")
    (machine,) = await yard.provisioned("a")
    await yard.node_joined("a")
    await asyncio.sleep(90)
    return machine


def test_a_guest_that_stands_still_for_its_storage_is_told_and_well_again_when_it_goes_on() -> None:
    async def scenario(yard: Yard) -> None:
        process = vm(yard, await made(yard)).process
        assert process is not None
        process.status = "io-error"
        message = await says(yard, "a", "IOError", HEALTHY)
        assert "stands still (io-error): look at the storage of its disks" in message
        assert (await yard.says("a"))["Ready"][:2] == ("False", "IOError")
        process.status = "running"
        await says(yard, "a", "Running", HEALTHY)
        assert (await yard.says("a"))["Ready"][0] == "True"

    play(scenario)


def test_a_vm_that_somebody_paused_goes_on() -> None:
    async def scenario(yard: Yard) -> None:
        machine = await made(yard)
        client, vmid = yard.there.client, machine.spec.virtual_machine_id or 0
        path = f"/nodes/{machine.status.proxmox_node}/qemu/{vmid}/status/suspend"
        await client.tasks.wait(await client.calls.begin("POST", path))

        async def resumed() -> bool:
            return any(each.endswith("/status/resume") for each in yard.there.transport.asked())

        await yard.until(resumed, 300, ("a",))
        await says(yard, "a", "Running", HEALTHY)

    play(scenario)


def test_a_stale_lock_is_told_with_the_command_that_takes_it_away() -> None:
    async def scenario(yard: Yard) -> None:
        machine = await made(yard)
        client, vmid, guest = yard.there.client, machine.spec.virtual_machine_id or 0, vm(yard, machine)
        await client.tasks.wait(await client.machines.stop(machine.status.proxmox_node, vmid))
        guest.config["lock"] = "backup"
        message = await says(yard, "a", "Stopped", HEALTHY)
        assert "locked (backup)" in message
        assert f"`qm unlock {vmid}`" in message
        await yard.delete("a")
        message = await says(yard, "a", "DeletionFailed", "Deleting")
        assert "locked (backup)" in message
        assert "`qm unlock" in message
        del guest.config["lock"]
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)
