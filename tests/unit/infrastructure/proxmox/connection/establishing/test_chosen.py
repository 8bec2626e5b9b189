"""What a connection works with, where nobody said it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nagaya.infrastructure.proxmox.client import Snapshot
from nagaya.infrastructure.proxmox.client.cluster import Version
from nagaya.infrastructure.proxmox.client.rows import Host, MachineRow, Status, StorageRow
from nagaya.infrastructure.proxmox.connection.establishing.chosen import Unseen, Unsuitable, chosen
from nagaya.infrastructure.proxmox.connection.establishing.site import Site
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Place, Scope, spots
from nagaya.infrastructure.proxmox.privileges.setup import USUAL

DISKS = ("fast", "images", False)
ASKED = Scope(pool="nagaya")


def site(
    *storages: tuple[str, str, bool], networks: dict[str, str] | None = None, templates: dict[int, str] | None = None
) -> Site:
    hosts = {name: Host(name, True) for name in ("pve1", "pve2")}
    rows = {
        (host, name): StorageRow(
            name,
            host,
            True,
            shared,
            contents=frozenset(contents.split(",")),
            type="dir" if "iso" in contents else "lvm",
        )
        for name, contents, shared in storages
        for host in hosts
    }
    machines = {
        vmid: MachineRow(vmid, "pve1", Status.STOPPED, name="t", template=True, pool=pool)
        for vmid, pool in (templates or {}).items()
    }
    snapshot = Snapshot(datetime(2026, 11, 1, tzinfo=UTC), 0.0, "c", True, hosts, machines, {}, rows)
    return Site(Version("9.2.1", (9, 2)), snapshot, {"vmbr0": "localnetwork"} if networks is None else networks)


def test_who_sees_no_storage_at_all_is_told_of_rights_and_not_of_storages() -> None:
    with pytest.raises(Unseen, match=r"no right to see one \(Datastore.Audit\).*--print-commands"):
        chosen(ASKED, site())
    with pytest.raises(Unsuitable, match="add `images`"):
        chosen(ASKED, site(("local", "iso", False)))


def test_a_shared_storage_is_taken_for_cds_so_that_machines_can_move() -> None:
    found = chosen(ASKED, site(DISKS, ("local", "iso", False), ("nfs", "iso,backup", True)))
    assert found.scope.iso_storage == "nfs"
    assert (found.scope.storages, found.storage, found.bridge) == (("fast",), "fast", "vmbr0")


def test_where_nothing_can_be_uploaded_boot_data_goes_by_the_agent() -> None:
    found = chosen(ASKED, site(DISKS), (*USUAL, Feature.HIGH_AVAILABILITY))
    assert found.features == (Feature.ALWAYS, Feature.NATIVE, Feature.HIGH_AVAILABILITY)
    assert any("by the cloud-init drive and the guest agent" in each for each in found.notes)


def test_several_storages_for_disks_are_all_granted_and_none_is_the_default() -> None:
    found = chosen(ASKED, site(DISKS, ("slow", "images,iso", True)))
    assert (found.scope.storages, found.storage) == (("fast", "slow"), "")


def test_without_a_storage_for_disks_nothing_can_be_done() -> None:
    with pytest.raises(Unsuitable, match="pvesm set"):
        chosen(ASKED, site(("local", "iso", False)))


def test_without_a_storage_for_images_the_command_is_told_that_makes_one() -> None:
    with pytest.raises(Unsuitable, match=r"content import\): make one that keeps files .*`pvesm add dir"):
        chosen(ASKED, site(DISKS), (*USUAL, Feature.IMAGES))
    with pytest.raises(Unsuitable, match=r"run `pvesm set nfs --content backup,import,iso` on any host"):
        chosen(ASKED, site(DISKS, ("local", "iso", False), ("nfs", "iso,backup", True)), (*USUAL, Feature.IMAGES))


def test_virtual_networks_are_granted_in_their_zones() -> None:
    there = site(DISKS, networks={"vmbr0": "localnetwork", "blue": "lan", "green": "lan"})
    found = chosen(Scope(bridges=("blue", "vmbr0")), there)
    assert (found.scope.bridges, found.bridge) == (("lan/blue", "localnetwork/vmbr0"), "blue")
    assert [spot.path for spot in spots(Place.NETWORK, found.scope)] == [
        "/sdn/zones/lan/blue",
        "/sdn/zones/localnetwork/vmbr0",
    ]
    zones = chosen(Scope(zones=("lan",)), there)
    assert [spot.path for spot in spots(Place.NETWORK, zones.scope)] == ["/sdn/zones/lan"]
    every = chosen(ASKED, there)
    assert [spot.path for spot in spots(Place.NETWORK, every.scope)] == ["/sdn/zones/localnetwork"]
    with pytest.raises(Unsuitable, match=r"virtual network other/blue. There are: lan/blue"):
        chosen(Scope(bridges=("other/blue",)), there)


def test_templates_in_the_pool_need_no_grant_of_their_own() -> None:
    there = site(DISKS, templates={9001: "nagaya", 9002: "", 9003: "others"})
    assert chosen(ASKED, there).scope.templates == (9002, 9003)
    assert chosen(Scope(pool="nagaya", template_pool="others"), there).scope.templates == ()
    assert chosen(Scope(pool="nagaya", templates=(9001,)), there).scope.templates == (9001,)
