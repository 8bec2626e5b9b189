"""The life of a machine step by step, in a world of plain values: what is decided, and which sentence is told.

Timelines are in testdata; NAGAYA_UPDATE_GOLDEN=1 writes them anew.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from nagaya.infrastructure.proxmox.client import Phase
from nagaya.infrastructure.proxmox.machine.plan import plan
from nagaya.infrastructure.proxmox.machine.seen import Guest, Managed
from nagaya.infrastructure.proxmox.machine.steps import (
    ClaimAddresses,
    CloneTemplate,
    GiveUpReservation,
    LeaveToReaper,
    Name,
    Plan,
    Reserve,
    Resize,
    Start,
    Upload,
)
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from support.builders import NOW
from support.builders import cluster as cluster_draft
from unit.infrastructure.proxmox.machine.imagined import UPIDS, beginning

HERE = Path(__file__).parent / "testdata"


def provisioned(made: Plan) -> bool:
    return made.provisioned


def golden(name: str, timeline: str) -> None:
    path = HERE / f"{name}.txt"
    if os.environ.get("NAGAYA_UPDATE_GOLDEN"):
        path.write_text(timeline)
    assert timeline == path.read_text()


def test_a_life() -> None:
    world = beginning()
    world.run(provisioned)
    world.node_joined()
    world.run(lambda made: made.settled)
    world.delete()
    golden("life", world.run(lambda made: made.release))


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (CloneTemplate, "unable to create image: got lock timeout"),
        (Resize, "shrinking disks is not supported"),
        (Upload, "disk full"),
        (Start, "no space left on device"),
    ],
)
def test_a_task_that_fails_is_told_with_its_log_and_tried_again(step: type, why: str) -> None:
    world = beginning()
    world.fail = {step: why}
    golden(f"{UPIDS[step]}-fails", world.run(provisioned))
    assert any(f"TASK ERROR: {why}" in line for line in world.lines)


def test_a_life_without_a_cd_image() -> None:
    world = beginning()
    world.uploads = False
    world.run(provisioned)
    world.node_joined()
    golden("native", world.run(lambda made: made.settled))
    assert world.erased


def test_a_life_with_the_ha_manager() -> None:
    world = beginning(ha={"enabled": True})
    world.managed = Managed(None)
    golden("managed", world.run(provisioned))


def test_a_guest_that_is_late_is_told_and_asked_on() -> None:
    world = beginning(timeouts={"bootSeconds": 600})
    world.run(lambda made: isinstance(made.step, Start))
    world.guest = Guest(False, "QEMU guest agent is not running.")
    assert world.task is not None
    world.task = None
    assert world.found is not None
    world.found = replace(world.found, uptime=599)
    early = world.step()
    world.found = replace(world.found, uptime=601)
    late = world.step()
    assert (early.made.reason, late.made.reason) == ("WaitingForGuestAgent", "WaitingForGuestAgent")
    assert "more than 10 min" not in early.made.message
    assert "more than 10 min" in late.made.message
    assert not late.failed
    world.guest = Guest(True, cloud_init="done")
    assert world.step().provisioned


def test_a_host_that_dies_keeps_its_machine() -> None:
    world = beginning()
    world.run(provisioned)
    assert world.found is not None
    here = world.found
    world.found = Found(Presence.UNREACHABLE, "pve1", why="Host pve1 is off.")
    made = world.step()
    assert made.step is None
    assert made.provisioned
    assert (made.healthy.holds, made.healthy.reason) == (None, "HostUnreachable")
    world.delete()
    made = world.step()
    assert made.deleting is not None
    assert made.deleting.reason == "WaitingForHost"
    assert made.step is None
    world.found = here
    golden("host-dies", world.run(lambda made: made.release))


def test_a_machine_is_let_go_from_a_dead_host_if_its_policy_says_so() -> None:
    world = beginning(deletionPolicy="Release")
    world.run(provisioned)
    world.found = Found(Presence.UNREACHABLE, "pve1", why="Host pve1 is off.")
    world.delete()
    golden("released", world.run(lambda made: made.release))
    assert world.objects.reservation is not None


def test_capmox_5_a_vm_of_an_earlier_life_is_found_and_not_cloned_again() -> None:
    world = beginning()
    world.run(lambda made: isinstance(made.step, CloneTemplate))
    world.task = None  # the process has ended before it could write down the task
    made = world.step()
    assert isinstance(made.step, Name)


def test_capmox_856_the_vm_of_another_machine_is_never_taken_for_ours() -> None:
    world = beginning()
    world.run(lambda made: isinstance(made.step, Reserve))
    world.found = Found(Presence.FOREIGN, "pve2", why="VMID 100 on pve2 is another one.")
    made = world.step()
    assert isinstance(made.step, GiveUpReservation)
    assert world.objects.reservation is None


def test_a_vm_that_is_gone_is_told_and_never_made_again() -> None:
    world = beginning()
    world.run(provisioned)
    world.found = Found(Presence.ABSENT, "pve1")
    made = world.step()
    assert made.step is None
    assert (made.healthy.holds, made.healthy.reason) == (False, "VMNotFound")


def test_half_a_clone_is_left_to_the_reaper_and_never_started() -> None:
    world = beginning()
    world.run(lambda made: isinstance(made.step, CloneTemplate))
    assert world.task is not None
    world.task = replace(world.task, phase=Phase.FAILED, exitstatus="unexpected status")
    made = world.step()
    assert isinstance(made.step, LeaveToReaper)
    assert "qm unlock 100" in made.made.message


def test_pauses_grow() -> None:
    world = beginning()
    rests = []
    for _ in range(9):
        world.fail = {CloneTemplate: "got timeout"}
        world.run(lambda made: made.failed)
        rests.append((world.objects.machine.status.retry_after or NOW) - NOW - timedelta(seconds=world.seconds))
        world.seconds += rests[-1].total_seconds()
    assert [each.total_seconds() for each in rests] == [10, 20, 40, 80, 160, 320, 600, 600, 600]


def test_a_vm_that_is_found_off_is_turned_on_again_but_not_twice_in_ten_minutes() -> None:
    world = beginning()
    world.run(provisioned)
    world.seconds += 700
    assert world.found is not None
    world.found = replace(world.found, running=False)
    assert isinstance(world.step().step, Start)
    world.task = None
    world.found = replace(world.found, running=False)
    made = world.step()
    assert made.step is None
    assert (made.healthy.holds, made.healthy.reason) == (False, "Stopped")
    world.seconds += 700
    assert isinstance(world.step().step, Start)


def test_a_guest_that_stands_still_is_told_and_makes_the_machine_unready() -> None:
    world = beginning()
    world.run(provisioned)
    assert world.found is not None
    world.found = replace(world.found, state="io-error")
    world.step()
    conditions = {each.type: (each.status, each.reason) for each in world.objects.machine.status.conditions}
    assert conditions["VirtualMachineHealthy"] == ("False", "IOError")
    assert conditions["Ready"] == ("False", "IOError")
    assert conditions["VirtualMachineProvisioned"] == ("True", "Provisioned")


def test_a_host_that_cannot_be_asked_makes_no_machine_unready() -> None:
    world = beginning()
    world.run(provisioned)
    world.found = Found(Presence.UNREACHABLE, "pve1", why="pve1 is unreachable: Connection timed out.")
    world.step()
    conditions = {each.type: (each.status, each.reason) for each in world.objects.machine.status.conditions}
    assert conditions["VirtualMachineHealthy"] == ("Unknown", "HostUnreachable")
    assert conditions["Ready"] == ("True", "Ready")


def test_nobody_knows_whether_a_machine_is_ready_whose_host_is_off() -> None:
    world = beginning()
    world.run(provisioned)
    here = world.found
    world.found = Found(Presence.UNREACHABLE, "pve1", why="Host pve1 is off.", host_off=True)
    world.step()
    conditions = {
        each.type: (each.status, each.reason, each.message) for each in world.objects.machine.status.conditions
    }
    why = "Host pve1 is off. Whether the VM runs is not known."
    assert conditions["VirtualMachineHealthy"] == ("Unknown", "HostUnreachable", why)
    assert conditions["Ready"] == ("Unknown", "HostUnreachable", why)
    world.found = here
    world.step()
    assert {each.type: each.status for each in world.objects.machine.status.conditions}["Ready"] == "True"


def test_a_machine_waits_for_those_whom_it_needs_and_says_for_whom() -> None:
    world = beginning()
    seen = world.seen()
    assert plan(replace(seen, objects=replace(seen.objects, owner=None))).made.reason == "WaitingForOwner"
    not_yet = {"initialization": {"infrastructureProvisioned": False}}
    unready = replace(seen.objects, cluster=cluster_draft().having(status=not_yet).made())
    assert plan(replace(seen, objects=unready)).made.reason == "WaitingForClusterInfrastructure"
    without = replace(seen.objects, infrastructure=None)
    assert "does not refer to a ProxmoxCluster" in plan(replace(seen, objects=without)).made.message
    said = plan(replace(seen, link=None, no_link="There is no connection.")).made
    assert (said.reason, said.message) == ("WaitingForProxmox", "There is no connection.")


def test_a_vm_without_boot_data_that_somebody_turned_on_is_not_taken_for_up() -> None:
    world = beginning()
    world.run(lambda made: isinstance(made.step, ClaimAddresses))
    assert world.found is not None
    world.task = None
    world.found = replace(world.found, running=True, state="running")
    made = world.step()
    assert made.step is None
    assert "qm stop 100" in made.made.message
