from __future__ import annotations

import pytest

from nagaya.moving.checks import is_paused_alone
from nagaya.moving.item import Item
from nagaya.moving.records import is_kept, is_left, record
from support.moving import item


def reservation(**status: object) -> Item:
    return item("ProxmoxVirtualMachine", "lab-100", namespace="", status=status)


def test_a_reservation_takes_along_where_its_boot_data_may_be() -> None:
    told = {"node": "pve2", "phase": "Present", "bootDataOn": ["pve1"]}
    assert record(reservation(**told, task="UPID:pve2:1", message="waiting")) == told
    assert record(reservation()) == {}


def test_no_other_status_is_carried() -> None:
    assert record(item("ProxmoxMachine", "m", status={"node": "pve1", "phase": "Running"})) == {}
    assert record(item("Secret", "s")) == {}


def test_the_target_has_it_when_it_says_the_same_whatever_else_it_says() -> None:
    moved = reservation(bootDataOn=["pve1"])
    assert not is_kept(moved, reservation().object)
    assert not is_kept(moved, reservation(bootDataOn=["pve2"]).object)
    assert is_kept(moved, reservation(bootDataOn=["pve1"], message="waiting").object)
    assert is_kept(item("Machine", "m", status={"phase": "Running"}), item("Machine", "m").object)


@pytest.mark.parametrize("phase", ["Orphaned", "Destroying"])
def test_one_whose_machine_is_gone_is_paused_by_itself(phase: str) -> None:
    """No Cluster does it, and both planes would destroy the VM at the same time."""
    assert is_left(reservation(phase=phase))
    assert is_paused_alone(reservation(phase=phase))
    assert not is_paused_alone(reservation(phase="Present"))
    assert not is_left(item("Machine", "m", status={"phase": phase}))


@pytest.mark.parametrize("kind", ["InClusterIPPool", "GlobalInClusterIPPool", "ClusterResourceSet", "ClusterClass"])
def test_what_no_cluster_pauses_is_paused_by_itself_so_that_the_target_makes_nothing_meanwhile(kind: str) -> None:
    assert is_paused_alone(item(kind, "any"))
