"""Machines that are made, and something about them that fails."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import msgspec
import pytest

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachineStatus
from nagaya.api.proxmox.proxmox_virtual_machine import (
    PROXMOX_VIRTUAL_MACHINES,
    NamespacedConnectionReference,
    ProxmoxVirtualMachineStatus,
)
from nagaya.infrastructure.proxmox.client import Phase, Proxmox, TaskState, upid
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.health import HEALTH_AGAIN, healthy, running, with_boot_data
from nagaya.infrastructure.proxmox.machine.memory import pause
from nagaya.infrastructure.proxmox.machine.seen import Objects, Seen
from nagaya.infrastructure.proxmox.machine.steps import Eject, Said
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence, Strays
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from support.builders import NOW, date
from support.builders import cluster as cluster_draft
from support.builders import machine as machine_draft

IMAGE = "local:iso/user-data-103.iso"
REMOVAL = "UPID:pve1:000003E9:00000010:6AE729CC:imgdel:103:nagaya@pve!nagaya:"


def seen(**status: Any) -> Seen:
    """A machine that runs, has its Node, and has its boot data lying about."""
    metadata = {"namespace": "fleet", "name": "a", "uid": "u-1"}
    told = {"initialization": {"provisioned": True}, "proxmoxNode": "pve1", **status}
    named = NamespacedConnectionReference(namespace="fleet", name="c")
    reservation = {
        "metadata": {"name": "demo-103"},
        "spec": {
            "datacenter": "demo",
            "vmid": 103,
            "machineRef": metadata,
            "connectionRef": {"namespace": "fleet", "name": "c"},
            "name": "a",
        },
    }
    objects = Objects(
        PROXMOX_MACHINES.convert({"metadata": metadata, "spec": {}, "status": told}),
        machine_draft("a").having(status={"nodeRef": {"name": "a"}}).made(),
        cluster_draft().made(),
        None,
        PROXMOX_VIRTUAL_MACHINES.convert(reservation),
    )
    found = Found(Presence.OURS, "pve1", MachineConfig({"name": "a"}), running=True, state="running")
    link = Link(cast(Proxmox, None), "demo", named)  # nothing here asks it anything
    return Seen(objects, NOW, link, found=found, leftovers=(IMAGE,))


def test_boot_data_that_lie_about_are_removed() -> None:
    assert isinstance(running(seen()).step, Eject)


def test_what_has_failed_is_not_tried_again_before_its_pause_is_over() -> None:
    """What is written of a failure brings the machine back at once: without a pause that would never end."""
    due = NOW + timedelta(seconds=20)
    made = running(seen(retryAfter=date(due)))
    assert made.step is None
    assert made.retry_after == due
    assert made.again_after == 20
    assert made.provisioned
    assert made.healthy.holds


def test_a_long_pause_keeps_nobody_from_looking_whether_the_vm_runs() -> None:
    made = running(seen(retryAfter=date(NOW + timedelta(seconds=500))))
    assert made.again_after == HEALTH_AGAIN


def test_when_the_pause_is_over_it_is_tried_again() -> None:
    assert isinstance(running(seen(retryAfter=date(NOW - timedelta(seconds=1)))).step, Eject)


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_a_task_that_failed_makes_a_pause_that_grows(failures: int) -> None:
    task = TaskState(upid(REMOVAL), Phase.FAILED, "unable to remove file")
    made = running(replace(seen(taskRef=REMOVAL), task=task, failures=failures))
    assert made.step is None
    assert made.failed
    assert made.clear_task
    assert made.again_after == pause(failures)
    assert made.retry_after == NOW + timedelta(seconds=pause(failures))


NOT_YET = Said(None, "NotRunningYet", "The VM has not been started yet.")


def ours(state: str) -> Found:
    return Found(Presence.OURS, "pve1", running=bool(state), state=state)


def stands_still(state: str) -> Said:
    return Said(False, "IOError", f"The VM on pve1 stands still ({state}): look at the storage of its disks.")


def suspended(state: str) -> Said:
    why = f"The VM on pve1 is {state}. It is told to go on, but not twice within ten minutes."
    return Said(False, "Suspended", why)


@pytest.mark.parametrize(
    ("found", "provisioned", "expected"),
    [
        (None, True, NOT_YET),
        (Found(Presence.ABSENT), True, NOT_YET),
        (Found(Presence.BEING_MADE, "pve1"), False, NOT_YET),
        (
            Found(Presence.UNREACHABLE, "pve1", why="Host pve1 is off."),
            True,
            Said(None, "HostUnreachable", "Host pve1 is off. Whether the VM runs is not known."),
        ),
        (
            Found(Presence.HIDDEN, "pve1", why="It may not be read.", forbidden=True),
            True,
            Said(None, "NotAuthorized", "It may not be read."),
        ),
        (Found(Presence.HIDDEN, "pve1", why="It moves."), True, Said(None, "HostUnreachable", "It moves.")),
        (
            Found(Presence.FOREIGN, "pve1", why="VM 103 is another one.", running=True),
            True,
            Said(False, "IdentityMismatch", "VM 103 is another one."),
        ),
        (ours(""), False, NOT_YET),
        (ours(""), True, Said(False, "Stopped", "The VM on pve1 is off.")),
        (ours("io-error"), True, stands_still("io-error")),
        (ours("internal-error"), True, stands_still("internal-error")),
        (ours("paused"), True, suspended("paused")),
        (ours("suspended"), True, suspended("suspended")),
        (ours("running"), True, Said(True, "Running")),
    ],
    ids=[
        "nothing reserved",
        "absent",
        "being made",
        "unreachable",
        "forbidden",
        "out of sight",
        "foreign",
        "not started yet",
        "off",
        "io-error",
        "internal-error",
        "paused",
        "suspended",
        "running",
    ],
)
def test_a_vm_is_healthy_only_if_it_is_ours_and_runs(found: Found | None, provisioned: bool, expected: Said) -> None:
    view = replace(seen(initialization={"provisioned": provisioned}), found=found)
    assert healthy(view) == expected


@pytest.mark.parametrize(("forbidden", "reason"), [(True, "NotAuthorized"), (False, "HostUnreachable")])
def test_a_vm_that_may_not_be_read_is_not_taken_for_one_whose_host_is_off(forbidden: bool, reason: str) -> None:
    hidden = Found(Presence.HIDDEN, "pve1", why="VM 103 on pve1 may not be read.", forbidden=forbidden)
    told = running(replace(seen(), found=hidden)).healthy
    assert (told.holds, told.reason) == (None, reason)


def test_boot_data_on_a_host_that_the_vm_has_left_are_removed_there() -> None:
    here = replace(seen(), leftovers=())
    assert here.found is not None
    left = replace(here.found, strays=Strays((("pve2", IMAGE),)))
    assert running(replace(here, found=left)).step == Eject("pve2", (), "")


def test_boot_data_on_a_host_that_is_off_are_told_and_not_forgotten() -> None:
    here = replace(seen(), leftovers=())
    assert here.found is not None
    off = replace(here.found, strays=Strays(unseen=(("pve2", "host pve2 is off"),)))
    made = running(replace(here, found=off))
    assert made.step is None
    assert not made.settled
    assert made.healthy.holds, "the machine is of use"
    assert "may still be on pve2" in made.healthy.message
    assert running(replace(here, found=replace(here.found, strays=Strays()))).settled


def test_who_is_called_does_not_wait_out_the_pause() -> None:
    waiting = seen(retryAfter=date(NOW + timedelta(seconds=300)))
    assert running(waiting).step is None
    assert isinstance(running(replace(waiting, called=True)).step, Eject)


def test_which_hosts_may_have_boot_data_is_known_from_before_the_upload_until_a_look_has_shown_otherwise() -> None:
    here = replace(seen(), leftovers=())
    found, reservation = here.found, here.objects.reservation
    assert found is not None
    assert reservation is not None
    status = ProxmoxVirtualMachineStatus(node="pve2", boot_data_on=("pve2",))
    told = replace(here.objects, reservation=msgspec.structs.replace(reservation, status=status))
    here = replace(here, objects=told)
    young = msgspec.structs.replace(here.machine, status=ProxmoxMachineStatus())
    assert with_boot_data(replace(here, objects=replace(told, machine=young)), found) == ("pve2", "pve1")
    assert with_boot_data(here, found) == ("pve2",), "nobody has looked"
    left = replace(found, strays=Strays((("pve2", IMAGE),), (("pve3", "host pve3 is off"),)))
    assert with_boot_data(here, left) == ("pve2", "pve3")
    assert with_boot_data(replace(here, leftovers=(IMAGE,)), replace(found, strays=Strays())) == ("pve1",)
    assert with_boot_data(here, replace(found, strays=Strays())) == ()
    assert with_boot_data(replace(here, settled=True), found) == ()
