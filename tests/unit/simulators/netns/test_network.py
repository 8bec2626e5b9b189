from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from nagaya.simulators.netns.network import MACHINE_LIMIT, Plan, choose


def test_addresses_are_those_that_nobody_has() -> None:
    first = choose("0000ff", [])
    assert first.gateway.network == IPv4Network("198.18.255.0/24")
    assert choose("0000ff", [IPv4Network("198.18.255.0/24")]).slot == 0
    with pytest.raises(OSError, match="no network is left"):
        choose("0000ff", [IPv4Network("198.18.0.0/16")])


def test_no_two_machines_of_any_two_hosts_share_addresses_of_pods() -> None:
    ranges = [Plan(slot).pods(number) for slot in range(256) for number in range(MACHINE_LIMIT)]
    assert len({*ranges}) == len(ranges)
    assert all(each.subnet_of(IPv4Network("100.64.0.0/10")) for each in ranges)
