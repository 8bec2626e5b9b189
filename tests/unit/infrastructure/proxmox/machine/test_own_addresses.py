"""Which addresses of a guest are the machine's own."""

from __future__ import annotations

import pytest

from nagaya.infrastructure.proxmox.client.agent import Interface
from nagaya.infrastructure.proxmox.machine.own_addresses import without_endpoint
from nagaya.infrastructure.proxmox.machine.seen import Guest

ADDRESSES = ("10.0.0.20/24", "10.0.0.7/32", "fd00::7/128")
GUEST = Guest(True, interfaces=(Interface("eth0", "bc:24:11:00:00:01", ADDRESSES),))


@pytest.mark.parametrize(
    ("endpoint", "left"),
    [
        ("10.0.0.7", ("10.0.0.20/24", "fd00::7/128")),
        ("fd00:0::7", ("10.0.0.20/24", "10.0.0.7/32")),
        ("api.example.org", ADDRESSES),
        ("", ADDRESSES),
    ],
)
def test_capmox_607_the_address_of_the_api_is_no_machines_own(endpoint: str, left: tuple[str, ...]) -> None:
    found = without_endpoint(GUEST, endpoint)
    assert found is not None
    assert found.interfaces[0].addresses == left


def test_a_guest_that_was_not_asked_says_nothing() -> None:
    assert without_endpoint(None, "10.0.0.7") is None
