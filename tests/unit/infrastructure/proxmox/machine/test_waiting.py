"""What takes longer than it may."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.infrastructure.proxmox.machine.seen import Objects, Seen
from nagaya.infrastructure.proxmox.machine.waiting import clone_is_late
from support.builders import NOW, date


def observe_after(seconds: int, **timeouts: int) -> Seen:
    """A machine, so many seconds after a VMID was reserved for it."""
    machine = {"namespace": "fleet", "name": "a", "uid": "u-1"}
    reserved: dict[str, Any] = {
        "datacenter": "demo",
        "vmid": 100,
        "machineRef": machine,
        "connectionRef": {"namespace": "fleet", "name": "c"},
        "name": "a",
    }
    begun = {"name": "demo-100", "creationTimestamp": date(NOW - timedelta(seconds=seconds))}
    spec = {"timeouts": timeouts} if timeouts else {}
    objects = Objects(
        PROXMOX_MACHINES.convert({"metadata": machine, "spec": spec}),
        None,
        None,
        None,
        PROXMOX_VIRTUAL_MACHINES.convert({"metadata": begun, "spec": reserved}),
    )
    return Seen(objects, NOW)


@pytest.mark.parametrize(
    ("seconds", "timeouts", "late"),
    [
        (3600, {}, False),
        (3601, {}, True),
        (600, {"cloneSeconds": 600}, False),
        (601, {"cloneSeconds": 600}, True),
        (3601, {"cloneSeconds": 7200}, False),
        (601, {"bootSeconds": 600}, False),
    ],
)
def test_a_clone_is_late_once_it_has_taken_longer_than_the_machine_allows(
    seconds: int, timeouts: dict[str, int], late: bool
) -> None:
    assert clone_is_late(observe_after(seconds, **timeouts)) is late


def test_a_clone_that_nobody_has_begun_is_not_late() -> None:
    begun = observe_after(3601)
    assert not clone_is_late(replace(begun, objects=replace(begun.objects, reservation=None)))
