from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.access.paths import ancestors, known, normalised


@pytest.mark.parametrize(
    ("written", "stored"),
    [("/vms/100/", "/vms/100"), ("vms//100", "/vms/100"), ("/", "/"), ("//", "/"), ("", None), ("/vms/a b", None)],
)
def test_paths_are_stored_in_one_form(written: str, stored: str | None) -> None:
    assert normalised(written) == stored


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/vms",
        "/vms/100",
        "/pool/a/b/c",
        "/sdn/zones/localnetwork/vmbr0/7",
        "/mapping/pci/gpu",
        "/access/realm/pve",
    ],
)
def test_rights_can_be_given_on(path: str) -> None:
    assert known(path)


@pytest.mark.parametrize("path", ["/foo", "/vms/99", "/vms/100/x", "/pool/a/b/c/d", "/nodes/pve1/x", "/vms/0100"])
def test_rights_cannot_be_given_on(path: str) -> None:
    assert not known(path)


def test_the_way_to_a_path_begins_at_the_root() -> None:
    assert ancestors("/vms/100") == ["/", "/vms", "/vms/100"]
    assert ancestors("/") == ["/"]


def test_to_a_path_without_a_slash_in_front_the_root_does_not_count() -> None:
    assert ancestors("vms/100") == ["/vms", "/vms/100"]
    assert ancestors("/vms//100/") == ["/", "/vms", "/vms/100"]
