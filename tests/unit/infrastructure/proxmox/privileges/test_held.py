"""What /access/permissions says, read as PVE means it."""

from __future__ import annotations

from nagaya.infrastructure.proxmox.privileges.held import Held


def test_what_is_passed_on_holds_below_and_what_is_not_does_not() -> None:
    held = Held({"/": {"Sys.Audit": False}, "/vms": {"VM.Audit": True}})
    assert held.holds("/", "Sys.Audit")
    assert not held.holds("/nodes/pve1", "Sys.Audit")
    assert held.holds("/vms/100", "VM.Audit")
    assert not held.holds("/vms/100", "VM.Clone")


def test_a_lower_entry_replaces_what_comes_from_above() -> None:
    held = Held({"/": {"VM.Audit": True, "VM.Clone": True}, "/vms/200": {"VM.Audit": True}})
    assert held.holds("/vms/100", "VM.Clone")
    assert not held.holds("/vms/200", "VM.Clone")


def test_nothing_is_told_from_something() -> None:
    assert Held().nothing
    assert Held({"/": {}}).nothing
    assert not Held({"/vms/1": {"VM.Audit": False}}).nothing
