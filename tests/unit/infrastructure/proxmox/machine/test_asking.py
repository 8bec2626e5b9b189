"""What the guests of an emulated data center are asked, and what their answers mean."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.infrastructure.proxmox.machine.asking import ask
from nagaya.infrastructure.proxmox.machine.seen import Guest, Objects
from support.builders import machine as machine_draft
from support.virtual_run import run
from unit.infrastructure.proxmox.machine.booted import OFF, STARTING, UP, VMID, booted

SAYS = "cloud-init says: status: "


def asked(seconds: float, limit: int, *, provisioned: bool = False, joined: bool = False) -> Guest | None:
    """What is known of a guest so long after it was turned on, of a machine that has `limit` seconds to start."""
    spec: dict[str, Any] = {"virtualMachineID": VMID, "timeouts": {"bootSeconds": limit}}
    status = {"initialization": {"provisioned": provisioned}}
    metadata = {"namespace": "fleet", "name": "a", "uid": "u-1"}
    machine = PROXMOX_MACHINES.convert({"metadata": metadata, "spec": spec, "status": status})
    owner = machine_draft("a").having(status={"nodeRef": {"name": "a"}} if joined else {}).made()

    async def main() -> Guest | None:
        async with booted(seconds) as vm:
            return await ask(vm.proxmox, Objects(machine, owner, None, None, None), vm.found)

    return run(main())


def test_a_guest_that_is_up_tells_its_interfaces_and_that_cloud_init_is_done() -> None:
    guest = asked(UP, 600)
    assert guest is not None
    assert (guest.answers, guest.cloud_init, guest.evidence) == (True, "done", "")
    assert {"lo", "eth0"} == {interface.name for interface in guest.interfaces}


def test_a_guest_without_an_agent_tells_why_it_does_not_answer() -> None:
    guest = asked(OFF, 600)
    assert guest is not None
    assert not guest.answers
    assert "guest agent is not running" in guest.why


@pytest.mark.parametrize(("limit", "says"), [(600, ""), (60, f"{SAYS}running")], ids=["in time", "late"])
def test_a_guest_at_work_is_asked_what_cloud_init_says_only_once_it_is_late(limit: int, says: str) -> None:
    guest = asked(STARTING, limit)
    assert guest is not None
    assert (guest.answers, guest.cloud_init) == (True, "running")
    assert guest.evidence.partition(" /")[0] == says


def test_a_machine_that_is_made_and_has_no_node_in_time_is_told_what_its_guest_says() -> None:
    guest = asked(UP, 60, provisioned=True)
    assert guest is not None
    assert guest.answers
    assert guest.evidence.startswith(f"{SAYS}done")
    assert not guest.gave_up


def test_a_machine_that_is_made_and_has_no_node_in_time_is_told_that_its_guest_does_not_answer() -> None:
    guest = asked(OFF, 20, provisioned=True)
    assert guest is not None
    assert not guest.answers
    assert "guest agent is not running" in guest.why


def test_the_guest_of_a_machine_with_a_node_is_asked_nothing() -> None:
    assert asked(UP, 60, provisioned=True, joined=True) is None
