"""Machines on an emulated data center while things go wrong: hosts, replies, processes, and people."""

from __future__ import annotations

import asyncio
import re

from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.transport import Answer, ReplyLost, Request
from support.proxmox_yard import Yard, play


def test_cappx_123_a_host_that_is_off_gets_no_machines_and_keeps_nobody_waiting() -> None:
    async def scenario(yard: Yard) -> None:
        yard.control.power_off("pve2")
        await yard.cluster()
        for name in ("a", "b", "c"):
            await yard.machine(name)
        made = await yard.provisioned("a", "b", "c")
        assert sorted(each.status.proxmox_node for each in made) in (["pve1", "pve1", "pve3"], ["pve1", "pve3", "pve3"])

    play(scenario)


def test_a_machine_of_a_host_that_died_is_destroyed_when_the_host_is_back() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        yard.control.power_off(made.status.proxmox_node)
        await asyncio.sleep(120)
        said = await yard.says("a")
        assert said["VirtualMachineHealthy"][:2] == ("Unknown", "HostUnreachable")
        assert said["Ready"] == said["VirtualMachineHealthy"]
        await yard.delete("a")
        await asyncio.sleep(600)
        status, reason, message = (await yard.says("a"))["Deleting"]
        assert (status, reason) == ("True", "WaitingForHost")
        assert f"Host {made.status.proxmox_node} is off" in message
        yard.control.power_on(made.status.proxmox_node)
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_a_machine_that_could_not_be_made_goes_at_once() -> None:
    """However long the pause until the next try has become: the way out does not wait for it."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", disks={"bootVolume": {"disk": "scsi9", "sizeGb": 30}})
        await asyncio.sleep(1800)
        assert (await yard.says("a"))["VirtualMachineProvisioned"][1] == "VMProvisionFailed"
        await yard.delete("a")
        await yard.gone("a", within=60)
        await yard.nothing_left()

    play(scenario)


def test_a_machine_can_go_before_its_host_is_back_and_its_vm_follows() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster(deletionPolicy="Release")
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        yard.control.power_off(made.status.proxmox_node)
        await asyncio.sleep(60)
        await yard.delete("a")
        await yard.gone("a", within=60)
        (tombstone,) = await yard.reservations()
        assert tombstone.status.phase == "Orphaned"
        yard.control.power_on(made.status.proxmox_node)
        await asyncio.sleep(120)
        await yard.nothing_left()

    play(scenario)


def test_quality_17_a_vm_that_somebody_destroyed_is_told_and_never_taken_for_the_next_one_of_its_id() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        vmid, node = made.spec.virtual_machine_id or 0, made.status.proxmox_node
        machines = yard.there.client.machines
        await yard.there.client.tasks.wait(await machines.stop(node, vmid))
        await yard.there.client.tasks.wait(await machines.destroy(node, vmid))
        await asyncio.sleep(90)
        assert (await yard.says("a"))["VirtualMachineHealthy"][:2] == ("False", "VMNotFound")
        assert (await yard.says("a"))["Ready"][:2] == ("False", "VMNotFound")
        await yard.there.client.tasks.wait(await machines.create(node, vmid, {"name": "stranger", "memory": 512}))
        await asyncio.sleep(90)
        assert (await yard.says("a"))["VirtualMachineHealthy"][:2] == ("False", "IdentityMismatch")
        await yard.delete("a")
        await yard.gone("a")
        assert yard.there.emulator.datacenter.guests[vmid].config["name"] == "stranger"
        assert await yard.reservations() == []

    play(scenario)


def test_a_vm_that_was_turned_off_is_turned_on_again_once() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        vmid, node = made.spec.virtual_machine_id or 0, made.status.proxmox_node
        client = yard.there.client
        await asyncio.sleep(700)
        await client.tasks.wait(await client.machines.stop(node, vmid))
        await asyncio.sleep(90)
        assert (await client.machines.status(node, vmid)).running
        await client.tasks.wait(await client.machines.stop(node, vmid))
        await asyncio.sleep(90)
        assert not (await client.machines.status(node, vmid)).running
        assert (await yard.says("a"))["VirtualMachineHealthy"][:2] == ("False", "Stopped")

    play(scenario)


def test_a_process_that_ends_at_any_moment_makes_no_second_vm() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        for name in ("a", "b"):
            await yard.machine(name)
        for seconds in (0.3, 0.7, 1.1, 1.7, 2.3, 3.1, 4.1, 5.3, 6.7, 8.3, 10.1):
            await asyncio.sleep(seconds)
            await yard.stop()
            await yard.start()
        await yard.provisioned("a", "b")
        assert len([each for each in yard.there.emulator.datacenter.guests if each < 9000]) == 2
        for name in ("a", "b"):
            await yard.delete(name)
        for seconds in (0.1, 0.2, 0.4, 0.8, 1.6):
            await asyncio.sleep(seconds)
            await yard.stop()
            await yard.start()
        await yard.gone("a", "b")
        await yard.nothing_left()

    play(scenario)


def test_a_lost_reply_to_any_change_makes_no_second_vm() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        lost: list[str] = []
        send = yard.there.transport.send

        async def losing(endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
            answer = await send(endpoint, trust, request)
            what = f"{request.method} {re.sub('[0-9]+', 'N', request.path)}"
            if request.method != "GET" and what not in lost:
                lost.append(what)
                raise ReplyLost("the reply is lost")
            return answer

        vars(yard.there.transport)["send"] = losing
        await yard.machine("a")
        await yard.provisioned("a", within=900)
        await yard.delete("a")
        await yard.gone("a", within=900)
        assert len(lost) >= 6
        await yard.nothing_left()

    play(scenario)


def test_a_change_of_each_kind_that_is_refused_once_is_tried_again() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        refused: list[str] = []
        send = yard.there.transport.send

        async def refusing(endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
            what = f"{request.method} {re.sub('[0-9]+', 'N', request.path)}"
            if request.method != "GET" and what not in refused:
                refused.append(what)
                return Answer(500, "got timeout", b'{"data":null,"message":"can\'t lock file - got timeout\\n"}')
            return await send(endpoint, trust, request)

        vars(yard.there.transport)["send"] = refusing
        await yard.machine("a")
        await yard.provisioned("a", within=900)
        await yard.delete("a")
        await yard.gone("a", within=900)
        assert len(refused) >= 6
        await yard.nothing_left()

    play(scenario)


def test_a_host_that_dies_while_a_machine_is_made_delays_that_machine_alone() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        for name in ("a", "b", "c"):
            await yard.machine(name)
        await asyncio.sleep(6)
        hosts = {(await yard.get(name)).status.proxmox_node: name for name in ("a", "b", "c")}
        victim = hosts["pve3"]
        yard.control.power_off("pve3")
        await yard.provisioned(*({"a", "b", "c"} - {victim}))
        assert not (await yard.get(victim)).status.initialization.provisioned
        yard.control.power_on("pve3")
        await yard.provisioned(victim, within=900)
        (left,) = [each for each in await yard.reservations() if each.status.phase == "Orphaned"]
        assert "qm unlock" in left.status.message
        for name in ("a", "b", "c"):
            await yard.delete(name)
        await yard.gone("a", "b", "c")
        assert [each.spec.vmid for each in await yard.reservations()] == [left.spec.vmid]

    play(scenario)


def test_a_connection_that_cannot_be_used_is_told_and_harms_nothing() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        await yard.provisioned("a")
        link = yard.links.link
        yard.links.link = "Secret fleet/demo does not exist."
        await yard.machine("b")
        await asyncio.sleep(120)
        assert (await yard.says("a"))["Ready"][0] == "True"
        status, reason, message = (await yard.says("b"))["VirtualMachineProvisioned"]
        assert (status, reason, message) == ("False", "WaitingForProxmox", "Secret fleet/demo does not exist.")
        yard.links.link = link
        await yard.provisioned("b")

    play(scenario)
