from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.pki.kubeadm.service_addresses import api_address, dns_address


def test_the_first_range_counts() -> None:
    assert api_address(["10.96.0.0/12", "fd00::/108"]) == "10.96.0.1"
    assert dns_address(["fd00:10::/112", "10.96.0.0/12"]) == "fd00:10::a"


@given(st.ip_addresses(v=4), st.integers(0, 28))
def test_the_address_is_counted_from_the_beginning_of_the_range(address: ipaddress.IPv4Address, bits: int) -> None:
    network = ipaddress.ip_network(f"{address}/{bits}", strict=False)
    assert ipaddress.ip_address(dns_address([f"{address}/{bits}"])) == network.network_address + 10


@pytest.mark.parametrize(
    ("cidrs", "words"),
    [([], "there is no service range"), (["10.96.0.0/33"], "'10.96.0.0/33' is not an address range")],
)
def test_what_is_no_range_is_named(cidrs: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        api_address(cidrs)


def test_a_range_may_be_too_small() -> None:
    assert api_address(["10.0.0.0/31"]) == "10.0.0.1"
    with pytest.raises(ValueError, match=r"the service range 10\.0\.0\.0/29 is too small: it has no address number 10"):
        dns_address(["10.0.0.0/29"])
