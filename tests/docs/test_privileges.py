"""The page of privileges lists what the code asks of Proxmox VE: all operations, paths and privileges, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from docs.page import ROOT, section
from nagaya.infrastructure.proxmox.privileges.image import IMAGE_OPERATIONS
from nagaya.infrastructure.proxmox.privileges.operations import Feature, Operation, Release, operations
from nagaya.infrastructure.proxmox.privileges.place import Place, Scope, spots
from nagaya.infrastructure.proxmox.privileges.roles import ROLES, privileges

PAGE = (ROOT / "docs/reference/privileges.md").read_text()
CONNECT = (ROOT / "docs/proxmox-connect.md").read_text()
NEWER: Release = (9, 2)
OLDER: Release = (8, 4)
SECTIONS = {
    Feature.ALWAYS: "## Every machine",
    Feature.ISO: "## Boot data on a CD",
    Feature.NATIVE: "## Boot data by the guest agent",
    Feature.HIGH_AVAILABILITY: "## High availability",
    Feature.DEVICES: "## Devices",
    Feature.IMAGES: "## Images",
}
_NAMED = Scope(
    pool="POOL",
    templates=(0,),
    storages=("STORAGE",),
    iso_storage="MEDIA",
    bridges=("ZONE/BRIDGE",),
    hosts=("HOST",),
    devices=("MAPPING",),
)

Told = dict[tuple[str, str], tuple[set[frozenset[str]], set[frozenset[str]]]]
"""By operation and path: what Proxmox VE 9 and 8 ask for, each a choice of privileges."""


@pytest.mark.parametrize("feature", Feature)
def test_every_operation_is_listed_with_its_paths_and_privileges(feature: Feature) -> None:
    needed = IMAGE_OPERATIONS if feature is Feature.IMAGES else operations(feature)

    assert _told(section(PAGE, SECTIONS[feature])) == _asked(needed)


def test_every_path_is_explained() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ", section(PAGE, "## Paths"), re.MULTILINE)

    assert sorted(rows) == sorted(map(_path, Place))


def test_what_roles_have_beyond_that_is_told() -> None:
    features = (Feature.ALWAYS, Feature.ISO, Feature.DEVICES, Feature.HIGH_AVAILABILITY)
    asked = _asked(operations(*features))
    needed = {(path, name) for (_, path), (newer, _) in asked.items() for choice in newer for name in choice}
    granted = {(_path(place), name) for place in Place for name in privileges(place, NEWER, features)}
    told = re.findall(r"^\| `([\w.]+)` \| `([^`]+)` \| ", section(PAGE, "## What is better to have"), re.MULTILINE)

    assert granted - needed <= {(path, name) for name, path in told}


def test_every_role_that_is_always_granted_is_told_where_connecting_is() -> None:
    usual = [place for place in Place if privileges(place, NEWER, (Feature.ALWAYS, Feature.ISO))]

    assert {ROLES[each] for each in usual} == set(re.findall(r"^\| `(Nagaya\w+)` \|", CONNECT, re.MULTILINE))


def _path(place: Place) -> str:
    (spot,) = spots(place, _NAMED)
    return spot.path.replace("/vms/0", "/vms/VMID")


def _asked(needed: Iterable[Operation]) -> Told:
    found: Told = {}
    for operation in needed:
        for each in operation.requirements:
            newer, older = found.setdefault((operation.name, _path(each.place)), (set(), set()))
            newer.add(frozenset(each.on(NEWER).any_of))
            older.add(frozenset(each.on(OLDER).any_of))
    return found


def _told(text: str) -> Told:
    rows = re.findall(r"^\| ([^`|]+) \| `([^`]+)` \| (.+) \| (.+) \|$", text, re.MULTILINE)
    assert len({row[:2] for row in rows}) == len(rows), "a row is there twice"
    return {
        (name, path): (_choices(newer), _choices(newer if older == "the same" else older))
        for name, path, newer, older in rows
    }


def _choices(cell: str) -> set[frozenset[str]]:
    return {frozenset(re.findall(r"`([\w.]+)`", each)) for each in cell.split(", ")}
