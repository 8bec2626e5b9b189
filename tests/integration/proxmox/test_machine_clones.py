"""Clones at a time: also those count that another process of ours, or somebody else, has set going."""

from __future__ import annotations

import asyncio
import base64

from nagaya.kube.patches import Merge
from nagaya.simulators.proxmox.guests.boot_data import read_boot_data
from nagaya.simulators.proxmox.pace import Pace
from support.proxmox_yard import NAMESPACE, SECRETS, Yard, play

SLOW = Pace(full_clone_per_gib=3.0)


def cloning(yard: Yard) -> int:
    return sum(each.upid.type == "qmclone" and each.running for each in yard.there.emulator.tasks.known.values())


def test_clones_of_an_earlier_process_count_for_the_limit() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        names = [f"m{number}" for number in range(5)]
        for name in names:
            await yard.machine(name, storage="shared")
        most = 0
        for second in range(300):
            if second in (10, 25, 70):
                await yard.stop()
                await yard.start()
            await asyncio.sleep(1)
            most = max(most, cloning(yard))
        await yard.provisioned(*names)
        assert most == 2

    play(scenario, pace=SLOW)


def test_clones_of_other_people_count_for_the_limit() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster(allowedNodes=["pve1"])
        machines = yard.there.client.machines
        for vmid in (150, 151):
            await machines.clone("pve1", 9001, vmid, name=f"theirs-{vmid}", full=True)
        await yard.machine("a")
        await asyncio.sleep(20)
        assert cloning(yard) == 2
        _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert reason == "WaitingForCloneSlot"
        assert "2 clones to local-lvm run already" in message
        await yard.provisioned("a")

    play(scenario, pace=SLOW)


def test_what_is_left_of_a_killed_clone_is_told_and_never_used_or_destroyed() -> None:
    """Somebody has unlocked it, and nothing in it says whose it is: it has neither lock nor marker."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster(allowedNodes=["pve1"])
        await yard.machine("a")

        async def clones() -> bool:
            return cloning(yard) == 1

        await yard.until(clones, 60, ("a",))
        datacenter = yard.there.emulator.datacenter
        vmid = next(each for each in datacenter.guests if each < 9000)
        yard.control.power_off("pve1")
        await asyncio.sleep(5)
        yard.control.power_on("pve1")
        await asyncio.sleep(30)
        half = datacenter.guests[vmid]
        assert half.config["lock"] == "clone"
        half.config = {"description": " qmclone temporary file"}
        await yard.provisioned("a", within=900)
        assert (await yard.get("a")).spec.virtual_machine_id != vmid
        await asyncio.sleep(60)
        assert datacenter.guests[vmid] is half
        (left,) = [each for each in await yard.reservations() if each.spec.vmid == vmid]
        assert "qm destroy --purge" in left.status.message
        await yard.there.client.tasks.wait(await yard.there.client.machines.destroy("pve1", vmid))
        await asyncio.sleep(60)
        assert [each.spec.vmid for each in await yard.reservations()] == [(await yard.get("a")).spec.virtual_machine_id]

    play(scenario, pace=SLOW)


def test_a_machine_whose_clone_was_killed_can_be_deleted() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster(allowedNodes=["pve1"])
        await yard.machine("a", timeouts={"cloneSeconds": 120})

        async def clones() -> bool:
            return cloning(yard) == 1

        await yard.until(clones, 60, ("a",))
        yard.control.power_off("pve1")
        await yard.delete("a")
        await asyncio.sleep(5)
        yard.control.power_on("pve1")
        await yard.gone("a", within=600)
        (left,) = await yard.reservations()
        assert left.status.phase == "Orphaned"
        assert left.spec.vmid in yard.there.emulator.datacenter.guests

    play(scenario, pace=SLOW)


def test_boot_data_for_ignition_reach_the_guest_as_such() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", checks={"skipCloudInitStatus": True})
        content = {
            "value": base64.b64encode(b'{"ignition":{"version":"3.4.0"},"passwd":{}}').decode(),
            "format": base64.b64encode(b"ignition").decode(),
        }
        await yard.user.patch(SECRETS, NAMESPACE, "a", Merge({"data": content}))
        await yard.provisioned("a")
        datacenter = yard.there.emulator.datacenter
        (image,) = [each for each in datacenter.volumes.values() if "user-data" in each.id]
        data = read_boot_data(image.data or b"")
        assert data is not None
        assert '"version":"3.4.0"' in data.user
        assert "/etc/hostname" in data.user
        assert "/etc/systemd/network/00-eth0.network" in data.user
        assert "config: []" in data.network

    play(scenario)


def test_boot_data_for_ignition_are_not_handed_over_by_the_agent() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", bootDelivery={"method": "native"})
        content = {"format": base64.b64encode(b"ignition").decode()}
        await yard.user.patch(SECRETS, NAMESPACE, "a", Merge({"data": content}))
        await asyncio.sleep(60)
        _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert reason == "WaitingForBootstrapData"
        assert "Ignition" in message
        assert "bootDelivery.method to iso" in message

    play(scenario)
