from __future__ import annotations

import pytest

from nagaya.controlplane.hosted.host import addresses


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:7f00:1",
        "127.64.0.2",
        "127.1",
        "::1%1",
        "fe80::1%\0",
        "localhost",
        "",
    ],
)
def test_ways_to_the_ports_of_others_are_no_addresses_of_this_machine(address: str) -> None:
    assert not addresses.is_own(address)


def test_loopback_is_an_address_of_this_machine() -> None:
    assert addresses.is_own("127.0.0.1")
    assert addresses.is_own("0:0:0:0:0:0:0:1") is addresses.is_own("::1")
