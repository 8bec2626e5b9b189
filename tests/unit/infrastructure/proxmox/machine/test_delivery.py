"""Boot data by the guest agent: what is done next, and what is said meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.infrastructure.proxmox.boot.network import Network, Nic
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.delivery import hand_over
from nagaya.infrastructure.proxmox.machine.hardware import Change
from nagaya.infrastructure.proxmox.machine.seen import Guest, Objects, Seen
from nagaya.infrastructure.proxmox.machine.steps import Configure, HandOver, Plan, Said, Start
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from support.builders import NOW

MAC = "BC:24:11:00:00:01"
NETWORK = Network((Nic("net0", MAC, dhcp4=True),))
CLONE = {"scsi0": "local-lvm:vm-100-disk-0,size=20G", "net0": f"virtio={MAC},bridge=vmbr0"}
DRIVE = {
    "ide2": "local-lvm:vm-100-cloudinit,media=cdrom",
    "citype": "nocloud",
    "ciupgrade": "0",
    "ipconfig0": "ip=dhcp",
}
TOLD = Plan(Said(None, "Before", "Nothing is known yet."), Said(None, "Before"), node="pve1")
"""What was decided before boot data were thought of."""
DATA = "WaitingForBootstrapDataReconciliation"


def seen(guest: Guest | None = None) -> Seen:
    """A machine that has five minutes to start."""
    content = {"metadata": {"namespace": "fleet", "name": "a"}, "spec": {"timeouts": {"bootSeconds": 300}}}
    return Seen(Objects(PROXMOX_MACHINES.convert(content), None, None, None, None), NOW, guest=guest)


def off(**options: str) -> Found:
    return Found(Presence.OURS, "pve1", MachineConfig({**CLONE, **options}, "digest"), state="stopped")


def up(uptime: int = 10) -> Found:
    return replace(off(**DRIVE), running=True, state="running", uptime=uptime)


def test_the_drive_of_a_vm_that_is_off_is_set_up_first() -> None:
    drive: dict[str, str | int | bool] = {
        "citype": "nocloud",
        "ciupgrade": 0,
        "ipconfig0": "ip=dhcp",
        "ide2": "local-lvm:cloudinit",
    }
    why = "The cloud-init drive of the VM is set up: citype, ciupgrade, ide2, ipconfig0, ipconfig1."
    assert hand_over(seen(), off(ipconfig1="ip=10.0.0.7/24"), NETWORK, TOLD) == replace(
        TOLD,
        made=Said(False, DATA, why),
        step=Configure("pve1", Change(drive, ("ipconfig1",), volumes=True), "digest"),
    )


def test_a_vm_whose_drive_is_set_up_is_started() -> None:
    why = "The VM is started on pve1 to get its boot data."
    assert hand_over(seen(), off(**DRIVE), NETWORK, TOLD) == replace(
        TOLD, made=Said(False, "WaitingForVMPowerUp", why), step=Start("pve1")
    )


@pytest.mark.parametrize(
    ("guest", "why"), [(None, "."), (Guest(answers=False, why="It is not running."), ": It is not running.")]
)
def test_the_agent_of_a_guest_is_waited_for(guest: Guest | None, why: str) -> None:
    said = Said(False, "WaitingForGuestAgent", f"The VM runs on pve1; waiting for its guest agent{why}")
    assert hand_over(seen(guest), up(), NETWORK, TOLD) == replace(TOLD, made=said, again_after=5.0)


@pytest.mark.parametrize(("why", "end"), [("Refused.", " Refused."), ("", "")])
def test_rights_are_asked_for_if_it_cannot_be_read_whether_the_first_start_has_ended(why: str, end: str) -> None:
    message = (
        "Whether cloud-init is done cannot be read in the guest, so it cannot be given its boot data. Grant "
        "VM.GuestAgent.Unrestricted (VM.Monitor before Proxmox VE 9), VM.Config.Cloudinit and VM.Config.CDROM on the "
        f"pool.{end}"
    )
    guest = Guest(answers=True, why=why, cloud_init="unknown")
    assert hand_over(seen(guest), up(), NETWORK, TOLD) == replace(
        TOLD, made=Said(False, "NotAuthorized", message), again_after=30.0
    )


def test_a_guest_that_starts_for_the_first_time_is_waited_for() -> None:
    why = "The guest on pve1 starts for the first time; then it gets its boot data."
    guest = Guest(answers=True, cloud_init="running")
    assert hand_over(seen(guest), up(300), NETWORK, TOLD) == replace(TOLD, made=Said(False, DATA, why), again_after=5.0)


def test_a_guest_that_does_not_end_its_first_start_in_time_is_told_to_restart() -> None:
    why = (
        "The VM has run for more than 5 min on pve1, and has not ended its first start. It waits for the network. It "
        "is told to restart."
    )
    guest = Guest(answers=True, cloud_init="running", evidence="It waits for the network.")
    assert hand_over(seen(guest), up(301), NETWORK, TOLD) == replace(
        TOLD,
        made=Said(False, DATA, why),
        step=HandOver("pve1", NETWORK, stuck=True),
        rests=True,
        again_after=60.0,
    )


@pytest.mark.parametrize("cloud_init", ["done", "error: a module failed", ""])
def test_a_guest_that_has_started_once_gets_its_boot_data(cloud_init: str) -> None:
    """Also if its first start has failed: with its boot data it starts as if for the first time."""
    why = "The boot data are written into the guest on pve1, which restarts with them."
    assert hand_over(seen(Guest(answers=True, cloud_init=cloud_init)), up(301), NETWORK, TOLD) == replace(
        TOLD, made=Said(False, DATA, why), step=HandOver("pve1", NETWORK), rests=True, again_after=10.0
    )
