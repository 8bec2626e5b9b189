"""Which leftovers are ours, and why others are not touched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, ProxmoxVirtualMachine
from nagaya.infrastructure.proxmox.client.storages import Volume
from nagaya.infrastructure.proxmox.leftovers.plan import Plan, plan, proven
from nagaya.infrastructure.proxmox.leftovers.seen import Ownerless, Placed, Seen, Stranger
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker

SINCE = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
RESERVATION = "ProxmoxVirtualMachine demo-100"


def reservation(**spec: Any) -> ProxmoxVirtualMachine:
    content = {
        "datacenter": "demo",
        "vmid": 100,
        "machineRef": {"namespace": "fleet", "name": "a", "uid": "u-1"},
        "connectionRef": {"namespace": "fleet", "name": "pve"},
        "name": "a",
        "pool": "nagaya",
        **spec,
    }
    metadata = {"name": "demo-100", "uid": "r-1", "creationTimestamp": f"{SINCE:%Y-%m-%dT%H:%M:%SZ}"}
    return PROXMOX_VIRTUAL_MACHINES.convert({"metadata": metadata, "spec": content})


def volume(name: str, *, later: float | None = 60, content: str = "images") -> Placed:
    made = None if later is None else SINCE + timedelta(seconds=later)
    return Placed("pve1", Volume(name, content, vmid=100, made=made))


def judged(found: Found, **more: Any) -> Plan:
    return plan(Seen("ProxmoxConnection fleet/pve", "demo", (Ownerless(reservation(), found, **more),)))


def going(made: Plan) -> list[str]:
    return [each.what for each in made.leftovers]


def test_our_vm_goes_with_its_image_and_its_reservation() -> None:
    image = volume("local:iso/user-data-100.iso", content="iso")
    made = judged(Found(Presence.OURS, "pve1"), volumes=(volume("local-lvm:vm-100-disk-0"), image), managed=True)
    assert going(made) == [
        "VM 100 (a) on pve1 with its disks",
        "local:iso/user-data-100.iso on pve1",
        "HA resource vm:100",
        RESERVATION,
    ]
    assert made.untouched == ()


@pytest.mark.parametrize(
    ("found", "why", "waits"),
    [
        (Found(Presence.OURS, "pve1", stranger="it is called b and not a"), "it is called b", False),
        (Found(Presence.OURS, "pve1", lock="backup"), "locked (backup)", False),
        (Found(Presence.BEING_MADE, "pve1"), "qm unlock", False),
        (Found(Presence.UNREACHABLE, "pve1", why="Host pve1 is off."), "Host pve1 is off.", True),
        (
            Found(Presence.HIDDEN, "pve1", why="VM 100 may not be read."),
            "may not be read. If no clone runs any more",
            True,
        ),
    ],
    ids=["strange", "locked", "being made", "host off", "hidden"],
)
def test_a_vm_that_cannot_be_shown_to_be_ours_stays_with_its_reservation(found: Found, why: str, waits: bool) -> None:
    made = judged(found)
    assert made.orphans == ()
    (told,) = made.untouched
    assert why in told.why
    assert told.waits is waits


@pytest.mark.parametrize(
    ("found", "what"),
    [
        (Found(Presence.OURS, "pve1"), "VM 100 (a) on pve1"),
        (Found(Presence.FOREIGN, "pve1", why="VMID 100 is another VM."), "VM 100 (a) on pve1"),
        (Found(Presence.ABSENT), RESERVATION),
    ],
    ids=["ours", "foreign", "absent"],
)
def test_nothing_goes_by_a_reservation_that_proves_nothing(found: Found, what: str) -> None:
    why = "It came with a move."
    made = judged(found, doubt=why, volumes=(volume("local-lvm:vm-100-disk-0"),), managed=True)
    assert made.orphans == ()
    assert [(told.what, told.why) for told in made.untouched] == [(what, why)]


def test_a_lock_of_a_destruction_is_no_obstacle() -> None:
    assert going(judged(Found(Presence.OURS, "pve1", lock="destroyed")))[0] == "VM 100 (a) on pve1 with its disks"


def test_a_vmid_of_somebody_else_is_given_up() -> None:
    made = judged(Found(Presence.FOREIGN, "pve2", why="VMID 100 is another VM."))
    assert going(made) == [RESERVATION]
    assert [each.what for each in made.untouched] == ["VM 100 on pve2"]


def test_a_free_vmid_is_given_up_with_what_was_made_for_it() -> None:
    disk, old, dateless = (
        volume("local-lvm:vm-100-disk-0"),
        volume("local-lvm:vm-100-disk-1", later=-60),
        volume("rbd:vm-100-disk-2", later=None),
    )
    made = judged(Found(Presence.ABSENT), volumes=(disk, old, dateless), managed=True)
    assert going(made) == ["local-lvm:vm-100-disk-0 on pve1", "HA resource vm:100", RESERVATION]
    told = {each.what: each for each in made.untouched}
    assert "before the VMID was reserved" in told["local-lvm:vm-100-disk-1 on pve1"].why
    assert "does not tell when" in told["rbd:vm-100-disk-2 on pve1"].why
    assert told["rbd:vm-100-disk-2 on pve1"].remedy == "pvesm free rbd:vm-100-disk-2   # on pve1"
    assert proven(Ownerless(reservation(), Found(Presence.ABSENT), (disk, old, dateless))) == (disk,)


def test_a_free_vmid_is_kept_while_something_may_be_left_where_nobody_can_look() -> None:
    made = judged(Found(Presence.ABSENT), volumes=(volume("local-lvm:vm-100-disk-0"),), unseen=("host pve2 is off",))
    assert going(made) == ["local-lvm:vm-100-disk-0 on pve1"]
    (told,) = made.untouched
    assert told.what == RESERVATION
    assert "host pve2 is off" in told.why
    assert told.waits


def test_a_machine_that_goes_on_with_another_vmid_is_told_so() -> None:
    made = judged(Found(Presence.ABSENT), goes_on=True)
    assert "goes on with another VMID" in made.leftovers[0].proof


def test_vms_and_images_without_a_reservation_are_never_ours() -> None:
    marked = Stranger(200, "pve2", "a", Marker("fleet/a", "u-9"))
    image = Placed("pve1", Volume("local:iso/user-data-300.iso", "iso"))
    made = plan(Seen("way", "demo", strangers=(marked, Stranger(201, "pve3")), images=(image,)))
    assert made.orphans == ()
    assert [each.what for each in made.untouched] == [
        "VM 200 (a) on pve2",
        "VM 201 (no name) on pve3",
        "local:iso/user-data-300.iso on pve1",
    ]
    assert made.untouched[0].remedy.startswith("qm stop 200 && qm destroy 200 --purge")


def test_a_vm_that_this_api_made_after_its_backup_may_be_in_use() -> None:
    newer = Stranger(200, "pve2", "a", Marker("fleet/a", "u-9", plane="here"))
    (told,) = plan(Seen("way", "demo", strangers=(newer,))).untouched
    assert "restored from a backup that is older. The VM may be in use." in told.why
    assert "its data goes; only if it is nobody's" in told.remedy


def test_a_data_center_that_nobody_can_see_is_told_and_left_alone() -> None:
    made = plan(Seen("way", problem="It does not tell which it is."))
    assert (made.orphans, made.untouched) == ((), ())
    assert made.incomplete == ("It does not tell which it is.",)
