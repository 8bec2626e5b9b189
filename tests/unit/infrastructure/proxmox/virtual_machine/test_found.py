"""What is found under a VMID, in a data center that answers as a test says."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from nagaya.infrastructure.proxmox.virtual_machine.found import Identity, Presence, Standing, find
from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker, fingerprint, marked
from support.proxmox_transport import DataCenter, data_center
from support.subtest_cases import subtest_cases
from support.virtual_run import run

OURS = Identity(100, "a", "u-1", "nagaya")
TEMPORARY = " qmclone temporary file"


async def made(there: DataCenter, **options: Any) -> None:
    """A VM 100 on pve1 with these options, in the pool."""
    machines = there.client.machines
    await there.client.tasks.wait(await machines.create("pve1", 100, {"name": "a", "memory": 512}, pool="nagaya"))
    config = there.emulator.datacenter.guests[100].config
    config |= options
    await asyncio.sleep(15)  # until the host has told of it


@subtest_cases(
    ("options", "presence"),
    [
        ({"description": marked("", Marker("fleet/a", "u-1"))}, Presence.OURS),
        ({"description": marked("", Marker("fleet/a", "u-2"))}, Presence.FOREIGN),
        ({}, Presence.FOREIGN),
        ({"lock": "clone"}, Presence.BEING_MADE),
        ({"lock": "clone", "description": TEMPORARY}, Presence.BEING_MADE),
        ({"description": TEMPORARY}, Presence.BEING_MADE),
        ({"lock": "clone", "description": marked("", Marker("fleet/b", "u-2"))}, Presence.FOREIGN),
        ({"lock": "backup", "description": marked("", Marker("fleet/a", "u-1"))}, Presence.OURS),
    ],
    ids=["ours", "another-uid", "no-marker", "locked", "being-cloned", "unlocked-half", "clone-of-others", "backup"],
)
def test_whose_a_vm_is(options: dict[str, Any], presence: Presence) -> None:
    async def main() -> None:
        async with data_center() as there:
            await made(there, **options)
            assert (await find(there.client, OURS)).presence is presence

    run(main())


UUID = "3f1c1d1e-6b1a-4f51-9d0b-1c2d3e4f5a6b"
LIVE = replace(OURS, plane="here", machine="fleet/a", uuid=UUID, needs_marker=True)
GONE = replace(OURS, plane="here", machine="fleet/a", standing=Standing.VANISHED)
MOVED = replace(LIVE, uid="u-9", claim="secret")
COPIED = replace(LIVE, needs_uuid=True)
"""By a reservation that was made for an earlier machine of the same name."""
NAMED = Marker("fleet/a", "u-1", plane="here")
OLD = Marker("fleet/a", "u-1")
ELSEWHERE = Marker("fleet/a", "u-1", plane="there", claim=fingerprint("secret"))


@subtest_cases(
    ("identity", "marker", "expected"),
    [
        (LIVE, NAMED, "ours"),
        (LIVE, OLD, "due"),
        (LIVE, ELSEWHERE, "foreign"),
        (LIVE, replace(ELSEWHERE, uid="u-2"), "foreign"),
        (LIVE, None, "foreign"),
        (replace(LIVE, needs_marker=False), None, "due"),
        (replace(LIVE, needs_marker=False, uuid=UUID.replace("3", "4")), None, "foreign"),
        (replace(LIVE, needs_marker=False, uuid=""), None, "foreign"),
        (replace(LIVE, needs_marker=False, name="b"), None, "foreign"),
        (MOVED, ELSEWHERE, "due"),
        (replace(MOVED, claim="older secret"), ELSEWHERE, "due"),
        (replace(MOVED, claim="guess"), ELSEWHERE, "foreign"),
        (replace(MOVED, claim=" "), replace(ELSEWHERE, claim=fingerprint("")), "foreign"),
        (replace(MOVED, claim=""), ELSEWHERE, "foreign"),
        (replace(MOVED, claim=""), replace(ELSEWHERE, claim=""), "foreign"),
        (replace(MOVED, claim=ELSEWHERE.claim), ELSEWHERE, "foreign"),
        (MOVED, replace(ELSEWHERE, leaving=True), "foreign"),
        (replace(MOVED, uid="u-1", claim=""), ELSEWHERE, "foreign"),
        (COPIED, OLD, "due"),
        (replace(COPIED, uuid=UUID.replace("3", "4")), OLD, "foreign"),
        (replace(COPIED, uuid=UUID.replace("3", "4")), NAMED, "foreign"),
        (COPIED, NAMED, "ours"),
        (LIVE, Marker("fleet/a", ""), "due"),
        (LIVE, Marker("fleet/b", ""), "foreign"),
        (replace(LIVE, uuid=""), Marker("fleet/a", ""), "foreign"),
        (GONE, NAMED, "ours"),
        (GONE, OLD, "strange"),
        (GONE, ELSEWHERE, "foreign"),
        (GONE, Marker("fleet/a", ""), "foreign"),
        (replace(GONE, standing=Standing.DELETED), OLD, "due"),
        (replace(GONE, standing=Standing.DELETED), ELSEWHERE, "foreign"),
        (replace(GONE, standing=Standing.DELETED, claim="secret"), ELSEWHERE, "due"),
    ],
)
def test_the_marker_says_whose_a_vm_is(identity: Identity, marker: Marker | None, expected: str) -> None:
    async def main() -> None:
        async with data_center() as there:
            await made(there, smbios1=f"uuid={UUID}", description=marked("", marker) if marker else "by hand")
            found = await find(there.client, identity)
            said = "strange" if found.stranger else "due" if found.unmarked else found.presence.value
            assert said == expected
            if expected == "foreign" and marker is ELSEWHERE:
                assert "belongs to another management API (there)" in found.why

    run(main())


def test_a_vm_that_was_moved_and_renamed_needs_no_new_marker() -> None:
    """Its reservation has the uid of the machine before the move, so that its claim is the proof. To write the same
    marker again and again would ask Proxmox VE without a pause."""

    async def main() -> None:
        async with data_center() as there:
            marker = replace(ELSEWHERE, plane="here")
            await made(there, smbios1=f"uuid={UUID}", description=marked("", marker), name="renamed")
            found = await find(there.client, replace(COPIED, claim="secret"))
            assert (found.presence, found.unmarked) == (Presence.OURS, False)
            assert "it is called renamed and not a" in found.stranger

    run(main())


def test_a_vm_whose_marker_is_lost_says_which_line_hands_it_back() -> None:
    async def main() -> None:
        async with data_center() as there:
            await made(there, smbios1=f"uuid={UUID}", description="somebody tidied up")
            found = await find(there.client, LIVE)
            assert found.presence is Presence.FOREIGN
            line = found.why.split("`")[1]
            there.emulator.datacenter.guests[100].config["description"] = f"notes\n{line}"
            assert (await find(there.client, LIVE)).unmarked

    run(main())


def test_a_vm_of_the_ha_manager_is_known_as_such_also_when_its_host_is_off() -> None:
    async def main() -> None:
        async with data_center() as there:
            await made(there, description=marked("", Marker("fleet/a", "u-1")))
            assert not (await find(there.client, OURS)).managed
            there.emulator.datacenter.ha.resources["vm:100"] = {"type": "vm", "state": "started"}
            assert (await find(there.client, OURS)).managed
            there.emulator.datacenter.nodes["pve1"].online = False
            await asyncio.sleep(5)  # until the list of all is asked for again
            off = await find(there.client, OURS, "pve1")
            assert (off.presence, off.managed) == (Presence.UNREACHABLE, True)

    run(main())
