from __future__ import annotations

from nagaya.moving.belongings import Belongings, belongings
from nagaya.moving.item import MOVE, Item
from nagaya.moving.order import order
from support.moving import item

CLUSTER = item("Cluster", "shop")


def rounds(*items: Item) -> list[list[str]]:
    return [[each.metadata.name for each in made] for made in order(belongings(items))]


def test_owners_are_made_before_what_they_own() -> None:
    machine_set = item("MachineSet", "set", CLUSTER)
    machine = item("Machine", "machine", machine_set, CLUSTER)
    bound = item("Secret", "data", machine)
    assert rounds(bound, machine, machine_set, CLUSTER) == [["shop"], ["set"], ["machine"], ["data"]]


def test_secrets_that_nobody_owns_are_first_and_reservations_last() -> None:
    named = item("Secret", "pve")
    proxmox = item("ProxmoxCluster", "proxmox", CLUSTER, spec={"credentialsRef": {"name": "pve"}})
    reservation = item("Reservation", "a", namespace="", kind_labels=(MOVE,))
    assert rounds(reservation, CLUSTER, named, proxmox) == [["pve"], ["shop"], ["proxmox"], ["a"]]


def test_owners_in_a_circle_have_an_order_all_the_same() -> None:
    one, other = item("Thing", "one"), item("Thing", "other")
    found = order(Belongings((one, other), {one.uid: frozenset({other.uid}), other.uid: frozenset({one.uid})}))
    assert sorted(each.metadata.name for made in found for each in made) == ["one", "other"]


def test_nothing_has_no_rounds() -> None:
    assert rounds() == []
