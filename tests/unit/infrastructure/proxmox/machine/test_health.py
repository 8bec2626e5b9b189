"""Machines that are made, and something about them that fails."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, NamespacedConnectionReference
from nagaya.infrastructure.proxmox.client import Phase, Proxmox, TaskState, upid
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.health import HEALTH_AGAIN, running
from nagaya.infrastructure.proxmox.machine.memory import pause
from nagaya.infrastructure.proxmox.machine.seen import Objects, Seen
from nagaya.infrastructure.proxmox.machine.steps import Eject
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
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


@pytest.mark.parametrize(("forbidden", "reason"), [(True, "NotAuthorized"), (False, "HostUnreachable")])
def test_a_vm_that_may_not_be_read_is_not_taken_for_one_whose_host_is_off(forbidden: bool, reason: str) -> None:
    hidden = Found(Presence.HIDDEN, "pve1", why="VM 103 on pve1 may not be read.", forbidden=forbidden)
    told = running(replace(seen(), found=hidden)).healthy
    assert (told.holds, told.reason) == (None, reason)
