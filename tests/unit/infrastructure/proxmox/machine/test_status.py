"""Whether a machine says that it is of use, from what is planned for it."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.meta import Condition
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.infrastructure.proxmox.machine.seen import Objects, Seen
from nagaya.infrastructure.proxmox.machine.status import ready
from nagaya.infrastructure.proxmox.machine.steps import Plan, Said
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from nagaya.kube.conditions import condition
from support.builders import NOW, date

MADE = Said(True, "Provisioned")
RUNNING = Said(True, "Running")
UNKNOWN = Said(None, "HostUnreachable", "Host pve1 is off.")
CLONING = Said(False, "Cloning", "Template 9001 is cloned to pve1.")
STOPPED = Said(False, "Stopped", "The VM on pve1 is off.")
HERE = Found(Presence.OURS, "pve1", running=True)
OFF = Found(Presence.UNREACHABLE, "pve1", host_off=True)
UNREACHABLE = Found(Presence.UNREACHABLE, "pve1")


def machine(**metadata: Any) -> ProxmoxMachine:
    named = {"namespace": "fleet", "name": "a", "uid": "u-1", **metadata}
    return PROXMOX_MACHINES.convert({"metadata": named, "spec": {}})


def ready_condition(of: ProxmoxMachine, plan: Plan, found: Found | None = HERE) -> Condition:
    return ready(Seen(Objects(of, None, None, None, None), NOW, found=found), of, plan)


@pytest.mark.parametrize(
    ("deleting", "message"),
    [(None, ""), (Said(True, "WaitingForHost", "Host pve1 is off."), "Host pve1 is off.")],
    ids=["nothing-said", "said"],
)
@pytest.mark.parametrize(
    ("made", "healthy", "found"),
    [(MADE, RUNNING, HERE), (CLONING, STOPPED, HERE), (MADE, UNKNOWN, OFF)],
    ids=["well", "ill", "host-off"],
)
def test_a_machine_that_goes_away_is_not_ready_however_it_is(
    made: Said, healthy: Said, found: Found, deleting: Said | None, message: str
) -> None:
    going = machine(deletionTimestamp=date(NOW))
    assert ready_condition(going, Plan(made, healthy, deleting), found) == condition(
        "Ready", False, "Deleting", message
    )


@pytest.mark.parametrize(
    ("made", "healthy", "found", "expected"),
    [
        (MADE, RUNNING, HERE, condition("Ready", True, "Ready")),
        (MADE, UNKNOWN, UNREACHABLE, condition("Ready", True, "Ready")),
        (MADE, UNKNOWN, OFF, condition("Ready", "Unknown", "HostUnreachable", "Host pve1 is off.")),
        (MADE, STOPPED, HERE, condition("Ready", False, "Stopped", "The VM on pve1 is off.")),
        (MADE, STOPPED, OFF, condition("Ready", False, "Stopped", "The VM on pve1 is off.")),
        (CLONING, RUNNING, None, condition("Ready", False, "Cloning", "Template 9001 is cloned to pve1.")),
        (CLONING, STOPPED, HERE, condition("Ready", False, "Cloning", "Template 9001 is cloned to pve1.")),
        (CLONING, UNKNOWN, OFF, condition("Ready", False, "Cloning", "Template 9001 is cloned to pve1.")),
    ],
    ids=[
        "well",
        "cannot-be-asked",
        "host-off",
        "ill",
        "ill-and-off",
        "not-made",
        "not-made-and-ill",
        "not-made-and-off",
    ],
)
def test_a_machine_is_ready_if_it_is_made_and_not_known_to_be_ill(
    made: Said, healthy: Said, found: Found | None, expected: Condition
) -> None:
    assert ready_condition(machine(), Plan(made, healthy), found) == expected


def test_what_is_said_of_a_deletion_means_nothing_for_a_machine_that_stays() -> None:
    assert ready_condition(machine(), Plan(MADE, RUNNING, STOPPED)) == condition("Ready", True, "Ready")
