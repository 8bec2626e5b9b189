"""Whose a VM is, its marker says: a ProxmoxMachine with its VMID and UUID gets nothing of it without the claim, and who
takes it over says so in the VM before anything else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from nagaya.infrastructure.proxmox.virtual_machine.marker import CLAIM, Marker, fingerprint, marked, proves, read
from nagaya.kube.patches import Merge
from nagaya.simulators.proxmox import request as emulated
from nagaya.simulators.proxmox.emulator import Proceed
from support.proxmox_yard import NAMESPACE, Yard, play

UUID = "3f1c1d1e-6b1a-4f51-9d0b-1c2d3e4f5a6b"
CLAIMED = Marker(f"{NAMESPACE}/a", "u-1", f"{NAMESPACE}/harbour", "there", fingerprint("secret"))


async def vm(it: Yard, description: str, name: str = "a") -> None:
    """A VM 200 that is turned off."""
    options = {
        "name": name,
        "memory": 512,
        "smbios1": f"uuid={UUID}",
        "description": description,
        "scsi0": "local-lvm:4",
    }
    client = it.there.client
    await client.tasks.wait(await client.machines.create("pve1", 200, options, pool="nagaya"))
    await asyncio.sleep(15)


async def written(it: Yard, claim: str = "") -> None:
    """A ProxmoxMachine as it arrives after a move, or as somebody writes it."""
    await it.machine("a", virtualMachineID=200, providerID=f"proxmox://{UUID}")
    if claim:
        content = Merge({"metadata": {"annotations": {CLAIM: claim}}})
        await it.user.patch(PROXMOX_MACHINES, NAMESPACE, "a", content)


def shared(it: Yard) -> None:
    """The credentials are those of another namespace."""
    assert isinstance(it.links.link, Link)
    it.links.link = replace(it.links.link, credentials_in="administrators")


def nothing(_: Yard) -> None:
    """Everything is as usual."""


@pytest.mark.parametrize(
    ("description", "claim", "before", "hint"),
    [
        (marked("", CLAIMED), "", nothing, "belongs to another management API (there)"),
        (marked("", CLAIMED), "guess", nothing, "belongs to another management API (there)"),
        (marked("", CLAIMED), CLAIMED.claim, nothing, "belongs to another management API (there)"),
        (marked("", replace(CLAIMED, leaving=True)), "secret", nothing, "which is about to destroy it"),
        (marked("", replace(CLAIMED, plane="")), "", nothing, "the VM of machine"),
        (marked("", Marker("other/b", "u-1")), "", nothing, "the VM of machine other/b"),
        (marked("", Marker("other/a", "")), "", nothing, "the VM of machine other/a"),
        ("accounts", "", shared, '`nagaya: {"machine":"default/a","uid":""}`'),
    ],
    ids=[
        "no claim",
        "a guess",
        "the fingerprint",
        "leaving",
        "old",
        "another namespace",
        "handed to another",
        "shared",
    ],
)
def test_who_cannot_prove_that_a_vm_is_his_gets_nothing_of_it(
    description: str, claim: str, before: Callable[[Yard], None], hint: str
) -> None:
    async def scenario(it: Yard) -> None:
        await it.cluster()
        before(it)
        await vm(it, description)
        guest = it.there.emulator.datacenter.guests[200]
        as_it_was = dict(guest.config)
        await written(it, claim)
        await asyncio.sleep(120)
        assert {each[1] for each in (await it.says("a")).values()} >= {"IdentityMismatch"}
        assert any(hint.replace("default", NAMESPACE) in each[2] for each in (await it.says("a")).values())
        await it.delete("a")
        await it.gone("a")
        assert it.there.emulator.datacenter.guests[200].config == as_it_was
        assert not guest.running
        assert await it.reservations() == []

    play(scenario)


def test_whoever_stops_between_two_writes_leaves_a_machine_that_can_be_moved_on() -> None:
    """A copy of the machine from any moment before or after the marker is written proves whose the VM is."""

    async def scenario(it: Yard) -> None:
        copies: list[tuple[str, Marker | None]] = []

        async def copied(request: emulated.Request, proceed: Proceed) -> emulated.Answer:
            answer = await proceed(request)
            if request.method == "PUT" and request.path.endswith("/qemu/200/config"):
                guest = it.there.emulator.datacenter.guests[200]
                copies.append((await claims(), read(str(guest.config["description"]))))
            return answer

        async def claims() -> str:
            return (await it.get("a")).metadata.annotations.get(CLAIM, "")

        it.there.emulator.around.append(copied)
        await it.cluster()
        await vm(it, marked("words", CLAIMED))
        await written(it, "secret")
        await asyncio.sleep(30)
        guest = it.there.emulator.datacenter.guests[200]
        known = read(str(guest.config["description"]))
        assert known is not None
        await it.stop()
        guest.config["description"] = marked("words", replace(known, plane="there"))  # it was moved away and back
        await it.start()
        await asyncio.sleep(30)
        taken = [(held, known) for held, known in copies if known is not None]
        assert len({known.claim for _, known in taken}) == 2, "taken in, and taken over"
        assert all(proves(held, known) for held, known in taken)
        assert len((await claims()).split()) == 1, "the earlier one is forgotten"

    play(scenario)


async def starts(it: Yard) -> None:
    await it.until(lambda: _running(it), 300, ("a",))


async def goes(it: Yard) -> None:
    await it.delete("a")
    await it.gone("a")


async def _running(it: Yard) -> bool:
    return bool(it.there.emulator.datacenter.guests[200].running)


@pytest.mark.parametrize("then", [starts, goes])
@pytest.mark.parametrize(
    ("description", "claim"),
    [
        (marked("words", CLAIMED), "secret"),
        (marked("words", Marker(f"{NAMESPACE}/a", "")), ""),
        ("words", ""),
    ],
    ids=["claim", "handed over", "capmox"],
)
def test_the_marker_is_written_before_anything_else_is_done_with_a_vm(
    description: str, claim: str, then: Callable[[Yard], Awaitable[None]]
) -> None:
    async def scenario(it: Yard) -> None:
        await it.cluster()
        await vm(it, description)
        it.there.transport.sent.clear()
        await written(it, claim)
        await asyncio.sleep(30)
        await then(it)
        sent = [each for _, each in it.there.transport.sent if each.method != "GET" and "/qemu/200" in each.path]
        assert sent[0].method == "PUT"
        assert sent[0].path.endswith("/config")
        assert b"description=" in sent[0].body
        assert b"digest=" in sent[0].body
        if then is goes:
            assert 200 not in it.there.emulator.datacenter.guests
            return
        known = read(str(it.there.emulator.datacenter.guests[200].config["description"]))
        machine, (reservation,) = await it.get("a"), await it.reservations()
        assert known is not None
        assert (known.uid, known.machine) == (machine.metadata.uid, f"{NAMESPACE}/a")
        assert known.plane not in ("", "there")
        assert known.claim == fingerprint(reservation.spec.claim) != CLAIMED.claim
        assert machine.metadata.annotations[CLAIM] == reservation.spec.claim
        assert str(it.there.emulator.datacenter.guests[200].config["description"]).startswith("words\n\nnagaya: ")

    play(scenario)


def test_a_new_machine_needs_no_further_writes_for_its_claim() -> None:
    async def scenario(it: Yard) -> None:
        await it.cluster()
        await it.machine("a")
        (machine,) = await it.provisioned("a")
        (reservation,) = await it.reservations()
        assert machine.metadata.annotations[CLAIM] == reservation.spec.claim != ""
        sent = [each for _, each in it.there.transport.sent if each.method == "PUT" and b"description=" in each.body]
        assert sent == [], "the marker is there from the moment of the clone"

    play(scenario)
