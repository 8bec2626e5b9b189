"""A VMID is reserved in our own API only, so somebody may make a VM of that number in Proxmox VE before ours is cloned;
and with rights on a pool alone nobody here can see it. A clone of ours that runs cannot be seen either: whether one was
ordered is written down, and tells the two apart."""

from __future__ import annotations

import asyncio

import pytest

from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.transport import Answer, ReplyLost, Request
from nagaya.infrastructure.proxmox.privileges.setup import setup
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.state.guest import Guest
from support.proxmox_rights import SCOPE, go_on_with
from support.proxmox_yard import Yard, play

TEMPLATES = (9001, 9002, 9003)
RIGHT = "VM.Allocate"


def with_rights_on_a_pool(yard: Yard) -> None:
    """Use a token with the least rights."""
    go_on_with(yard.there, setup((9, 2), SCOPE))


async def reserved(yard: Yard) -> int:
    """The VMID that a machine has reserved and cannot use, as a right is missing."""
    with_rights_on_a_pool(yard)
    roles = yard.there.emulator.datacenter.access.roles
    whole = dict(roles)
    roles |= {role: held - {RIGHT} for role, held in whole.items()}
    await yard.cluster()
    await yard.machine("a")
    await asyncio.sleep(30)
    roles |= whole
    (reservation,) = await yard.reservations()
    assert reservation.status.phase == "Reserved", "what was refused was not begun"
    return reservation.spec.vmid


def taken(yard: Yard, vmid: int) -> Guest:
    """Somebody makes a VM of that number."""
    guest = Guest(vmid, "pve1", {"name": "somebodys", "memory": "512"})
    yard.there.emulator.datacenter.guests[vmid] = guest
    return guest


@pytest.mark.parametrize("process_ends", [False, True], ids=["same-process", "next-process"])
def test_another_vmid_is_taken_if_somebody_has_it_before_anything_is_cloned(process_ends: bool) -> None:
    async def scenario(yard: Yard) -> None:
        vmid = await reserved(yard)
        guest = taken(yard, vmid)
        before = repr(guest)
        if process_ends:
            await yard.stop()
            await yard.start()
        (made,) = await yard.provisioned("a", within=900)
        assert made.spec.virtual_machine_id not in (None, vmid)
        assert repr(yard.there.emulator.datacenter.guests[vmid]) == before
        assert [each.spec.vmid for each in await yard.reservations()] == [made.spec.virtual_machine_id]

    play(scenario)


def test_a_machine_whose_vmid_somebody_has_can_be_deleted() -> None:
    async def scenario(yard: Yard) -> None:
        guest = taken(yard, await reserved(yard))
        before = repr(guest)
        await yard.delete("a")
        await yard.gone("a")
        assert repr(yard.there.emulator.datacenter.guests[guest.vmid]) == before
        assert await yard.reservations() == []

    play(scenario)


def test_a_clone_that_cannot_be_seen_and_whose_answer_was_lost_is_waited_for() -> None:
    async def scenario(yard: Yard) -> None:
        with_rights_on_a_pool(yard)
        send, lost = yard.there.transport.send, list[str]()

        async def sending(endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
            answer = await send(endpoint, trust, request)
            if request.path.endswith("/clone") and not lost:
                lost.append(request.path)
                raise ReplyLost("the connection was closed")
            return answer

        vars(yard.there.transport)["send"] = sending
        await yard.cluster()
        await yard.machine("a")
        await asyncio.sleep(20)
        assert lost
        (reservation,) = await yard.reservations()
        assert reservation.status.phase == "Cloning"
        (made,) = await yard.provisioned("a", within=900)
        assert made.spec.virtual_machine_id == reservation.spec.vmid
        guests = yard.there.emulator.datacenter.guests.values()
        assert [each.vmid for each in guests if not each.template] == [reservation.spec.vmid]

    play(scenario, pace=Pace(full_clone_per_gib=6))
