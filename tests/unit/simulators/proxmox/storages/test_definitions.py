from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.storages.definitions import change, created, digest_of, shown


def test_a_storage_holds_what_its_type_does_unless_said_otherwise() -> None:
    assert created("a", "dir", {"path": "/srv"}).contents == ["images", "rootdir"]
    assert created("a", "nfs", {"server": "192.0.2.5", "export": "/x"}).contents == ["images"]


def test_a_mounted_storage_gets_a_folder_and_is_shared() -> None:
    storage = created("far", "nfs", {"server": "192.0.2.5", "export": "/x"})
    assert storage.options["path"] == "/mnt/pve/far"
    assert storage.shared
    assert shown(storage, "d")["shared"] == 1


@pytest.mark.parametrize(
    ("type", "given", "refusal"),
    [
        ("dir", {}, "missing value for required option 'path'\n"),
        ("dir", {"path": "/srv", "vgname": "pve"}, "unexpected property 'vgname'\n"),
        ("dir", {"path": "/srv", "content": "images,none"}, "unable to combine 'none' with other content types\n"),
        ("lvmthin", {"vgname": "a", "thinpool": "b", "content": "iso"},
         "storage does not support configured content type(s)\n"),
        ("nfs", {"server": "a", "export": "/b", "format": "subvol"}, "storage does not support format 'subvol'\n"),
    ],
)  # fmt: skip
def test_an_entry_that_makes_no_sense_is_refused(type: str, given: dict[str, str], refusal: str) -> None:
    with pytest.raises(Failure) as refused:
        created("a", type, given)
    assert refused.value.message == refusal


def test_content_that_a_type_cannot_hold_is_left_out() -> None:
    assert created("a", "lvmthin", {"vgname": "v", "thinpool": "t", "content": "images,iso"}).contents == ["images"]


@pytest.mark.parametrize(
    ("given", "deleted", "refusal"),
    [
        ({"path": "/elsewhere"}, [], "can't change value of fixed parameter 'path'\n"),
        ({"snapshot-as-volume-chain": True}, [], "can't change value of fixed parameter 'snapshot-as-volume-chain'\n"),
        ({}, ["snapshot-as-volume-chain"], "unable to delete fixed option 'snapshot-as-volume-chain'\n"),
        ({}, ["path"], "unable to delete required option 'path'\n"),
        ({}, ["vgname"], "no such option 'vgname'\n"),
        ({"nodes": "pve1"}, ["nodes"], "cannot set and delete property 'nodes' at the same time!\n"),
    ],
)
def test_a_change_that_is_not_allowed_changes_nothing(given: dict[str, str], deleted: list[str], refusal: str) -> None:
    storage = created("a", "dir", {"path": "/srv", "nodes": "pve2"})
    before = dict(storage.options)
    with pytest.raises(Failure) as refused:
        change(storage, given, deleted)
    assert refused.value.message == refusal
    assert storage.options == before


def test_the_digest_follows_the_file() -> None:
    storage = created("a", "dir", {"path": "/srv"})
    before = digest_of([storage])
    assert digest_of([storage]) == before
    change(storage, {"disable": True}, [])
    assert digest_of([storage]) != before
    assert not storage.enabled


def test_a_path_is_kept_without_what_changes_nothing() -> None:
    assert created("a", "dir", {"path": "/srv//./a/"}).options["path"] == "/srv/a"
