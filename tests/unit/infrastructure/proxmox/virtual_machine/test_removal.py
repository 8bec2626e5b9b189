"""How a VM is taken away, from what is found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nagaya.infrastructure.proxmox.client import Phase, TaskState, upid
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence, Strays
from nagaya.infrastructure.proxmox.virtual_machine.removal import (
    Destroy,
    GiveUp,
    Gone,
    RemoveVolume,
    Stop,
    Wait,
    removal,
)

TASK = upid("UPID:pve1:0000ABCD:00112233:6543210F:qmdestroy:100:root@pam:")
OFF = Found(Presence.OURS, "pve1")
ON = Found(Presence.OURS, "pve1", running=True, state="running")


def test_capmox_742_a_vm_that_runs_is_stopped_before_it_is_destroyed() -> None:
    assert removal(100, ON, None).step == Stop("pve1")
    assert removal(100, OFF, None).step == Destroy("pve1")


def test_capmox_742_nothing_is_done_while_the_stop_is_not_over() -> None:
    made = removal(100, OFF, TaskState(TASK, Phase.RUNNING))
    assert isinstance(made.step, Wait)
    assert TASK.text in made.message


def test_a_vm_may_shut_down_by_itself_first() -> None:
    assert removal(100, ON, None, grace=60).step == Stop("pve1", 60)


def test_virtrigaud_262_a_destruction_that_failed_is_told_with_its_log_and_tried_again() -> None:
    log = ("trying to acquire lock...", "TASK ERROR: can't lock file - got timeout")
    made = removal(100, OFF, TaskState(TASK, Phase.FAILED, "can't lock file - got timeout", log))
    assert made.step == Wait(failed=True)
    assert made.reason == "DeletionFailed"
    assert "TASK ERROR: can't lock file" in made.message
    assert TASK.text in made.message


def test_warnings_are_a_success_and_disks_that_were_left_are_removed() -> None:
    ended = TaskState(TASK, Phase.SUCCEEDED, "WARNINGS: 1")
    gone = Found(Presence.ABSENT, "pve1")
    assert removal(100, gone, ended, ("local-lvm:vm-100-disk-0",)).step == RemoveVolume(
        "pve1", "local-lvm:vm-100-disk-0"
    )
    assert removal(100, gone, ended).step == Gone()


def test_capmox_856_a_vm_of_somebody_else_is_not_touched() -> None:
    foreign = Found(Presence.FOREIGN, "pve1", running=True, why="VMID 100 on pve1 is another one.")
    made = removal(100, foreign, None)
    assert made.step == GiveUp()
    assert made.message == foreign.why


@pytest.mark.parametrize("running", [True, False])
def test_a_vm_with_our_marker_and_another_name_or_pool_is_not_touched(running: bool) -> None:
    strange = Found(Presence.OURS, "pve1", running=running, stranger="it is called b and not a")
    made = removal(100, strange, None)
    assert isinstance(made.step, Wait)
    assert made.reason == "DeletionFailed"
    assert "it is called b and not a" in made.message


def test_a_vm_on_a_host_that_is_off_waits_for_the_host() -> None:
    made = removal(100, Found(Presence.UNREACHABLE, "pve1", why="Host pve1 is off."), None)
    assert isinstance(made.step, Wait)
    assert made.step.host_off
    assert made.reason == "WaitingForHost"


def test_a_locked_vm_is_told_how_it_is_unlocked() -> None:
    made = removal(100, Found(Presence.OURS, "pve1", lock="backup"), None)
    assert isinstance(made.step, Wait)
    assert "VM 100 on pve1 is locked (backup)" in made.message
    assert "`qm unlock 100` on the host" in made.message


def test_boot_data_that_a_vm_has_left_on_another_host_go_last() -> None:
    image = "local:iso/user-data-100.iso"
    gone = Found(Presence.ABSENT, "pve2", strays=Strays((("pve1", image),), (("pve3", "host pve3 is off"),)))
    assert removal(100, gone, None, ("local-lvm:vm-100-disk-0",)).step == RemoveVolume(
        "pve2", "local-lvm:vm-100-disk-0"
    )
    made = removal(100, gone, None)
    assert made.step == RemoveVolume("pve1", image)
    assert "removed from pve1" in made.message


def test_a_vm_whose_boot_data_may_be_where_nobody_can_look_is_not_called_gone() -> None:
    made = removal(100, Found(Presence.ABSENT, "pve2", strays=Strays(unseen=(("pve3", "host pve3 is off"),))), None)
    assert isinstance(made.step, Wait)
    assert made.step.remains
    assert not made.step.host_off, "no policy is asked: nothing but an image is left"
    assert "may still be on pve3 (host pve3 is off)" in made.message
    assert removal(100, Found(Presence.ABSENT, "pve2", strays=Strays()), None).step == Gone()


def test_what_cannot_be_seen_is_never_taken_for_gone() -> None:
    for presence in (Presence.HIDDEN, Presence.BEING_MADE, Presence.UNREACHABLE):
        assert isinstance(removal(100, Found(presence, "pve1"), None).step, Wait)


def test_capmox_212_a_vm_that_the_ha_manager_was_asked_to_stop_is_waited_for() -> None:
    asked = TaskState(upid("UPID:pve1:0000ABCD:00112233:6543210F:hastop:100:root@pam:"), Phase.SUCCEEDED, "OK")
    managed = replace(ON, ha_state="started")
    assert removal(100, managed, None).step == Stop("pve1")
    assert isinstance(removal(100, managed, asked).step, Wait)
    assert removal(100, ON, asked).step == Stop("pve1"), "it is not with the manager any more"
    assert removal(100, replace(OFF, ha_state="stopped"), asked).step == Destroy("pve1")


def test_what_is_left_of_a_clone_is_waited_for_with_what_to_do() -> None:
    made = removal(100, Found(Presence.BEING_MADE, "pve1"), None)
    assert isinstance(made.step, Wait)
    assert made.step.unfinished
    assert "qm destroy --purge" in made.message
