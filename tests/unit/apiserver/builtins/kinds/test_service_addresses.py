"""Which addresses and ports are free."""

from ipaddress import IPv4Network
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.apiserver.builtins.kinds.service_addresses import (
    NETWORK,
    RangeFull,
    Refused,
    Rehearsal,
    Reservation,
    ServiceAddresses,
)
from support.core_kinds import CoreKinds


def small() -> ServiceAddresses:
    return ServiceAddresses(IPv4Network("10.0.0.0/29"), range(30000, 30003))


def reservation(pool: ServiceAddresses, seed: int = 1) -> Reservation:
    return Reservation(pool, Random(seed))


def test_addresses_are_found_until_none_is_left() -> None:
    pool = small()
    mine = reservation(pool)
    assert {mine.ip("") for _ in range(6)} == {f"10.0.0.{host}" for host in range(1, 7)}
    with pytest.raises(RangeFull, match="range is full"):
        mine.ip("")
    mine.end()
    assert reservation(pool).ip("10.0.0.3") == "10.0.0.3"


def test_ports_are_found_until_none_is_left() -> None:
    mine = reservation(small())
    assert {mine.port(0) for _ in range(3)} == {30000, 30001, 30002}
    with pytest.raises(RangeFull, match="range is full"):
        mine.port(0)


def test_the_network_itself_and_its_broadcast_address_are_not_given_out() -> None:
    mine = reservation(small())
    for address in ("10.0.0.0", "10.0.0.7", "10.0.0.8", "::1"):
        with pytest.raises(Refused, match="the provided network does not match the current range"):
            mine.ip(address)


def test_a_wanted_port_must_be_in_the_range() -> None:
    with pytest.raises(Refused, match="The range of valid ports is 30000-30002"):
        reservation(small()).port(80)


def test_what_one_request_has_chosen_another_cannot_have() -> None:
    pool = small()
    first, second = reservation(pool), reservation(pool)
    first.ip("10.0.0.1")
    first.port(30000)
    with pytest.raises(Refused, match="provided IP is already allocated"):
        second.ip("10.0.0.1")
    with pytest.raises(Refused, match="provided port is already allocated"):
        second.port(30000)
    first.end()
    assert (second.ip("10.0.0.1"), second.port(30000)) == ("10.0.0.1", 30000)


def test_the_lower_part_of_the_range_is_left_to_those_who_ask() -> None:
    pool = ServiceAddresses()
    given_out = [
        int(NETWORK[0]) + 256 < int(NETWORK[0]) + _offset(reservation(pool, seed).ip("")) for seed in range(50)
    ]
    assert all(given_out)


def _offset(ip: str) -> int:
    return [int(part) for part in ip.split(".")][3] + 256 * (int(ip.split(".")[2]) + 256 * (int(ip.split(".")[1]) - 96))


def test_a_rehearsal_takes_nothing() -> None:
    pool = small()
    taken = reservation(pool)
    taken.port(30001)
    rehearsal = Rehearsal(pool, Random(1))
    assert rehearsal.ip("") == "10.0.0.0"
    assert rehearsal.ip("10.0.0.2") == "10.0.0.2"
    assert [rehearsal.port(0), rehearsal.port(0)] == [30004, 30005]
    with pytest.raises(Refused, match="already allocated"):
        rehearsal.port(30001)
    with pytest.raises(Refused, match=r"the provided IP \(1.2.3.4\) is not in the valid range"):
        rehearsal.ip("1.2.3.4")
    rehearsal.end()
    assert reservation(pool).ip("10.0.0.2") == "10.0.0.2"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "10.0.0.2", "10.0.0.5"])), max_size=20))
def test_no_address_is_ever_held_twice(steps: list[tuple[int, str]]) -> None:
    pool = small()
    holders = [reservation(pool, seed) for seed in range(4)]
    held: list[set[str]] = [set() for _ in holders]
    for holder, wanted in steps:
        try:
            ip = holders[holder].ip(wanted)
        except Refused:
            assert any(wanted in each for each in held)
            continue
        except RangeFull:
            holders[holder].end()
            held[holder] = set()
            continue
        assert not any(ip in each for each in held)
        held[holder].add(ip)


async def test_the_services_in_the_store_are_the_truth() -> None:
    kinds = CoreKinds()
    spec = {"clusterIP": "10.96.0.9", "type": "NodePort", "ports": [{"port": 80, "nodePort": 30009}]}
    await kinds.create("services", {"spec": spec})
    pool = ServiceAddresses()
    pool.refresh(kinds.store, "services")
    with pytest.raises(Refused):
        reservation(pool).ip("10.96.0.9")
    assert pool.has_port(30009)
    await kinds.change("services", "it", {"spec": {"ports": [{"port": 80, "nodePort": 30010}]}})
    pool.refresh(kinds.store, "services")
    assert (pool.has_port(30009), pool.has_port(30010)) == (False, True)
    await kinds.delete("services", "it")
    pool.refresh(kinds.store, "services")
    assert not pool.has_port(30010)
    assert reservation(pool).ip("10.96.0.9") == "10.96.0.9"


async def test_forgotten_changes_are_made_up_for_by_reading_everything_again() -> None:
    kinds = CoreKinds()
    pool = ServiceAddresses()
    pool.refresh(kinds.store, "services")
    for host in (1, 2, 3):
        spec = {"clusterIP": f"10.96.0.{host}", "ports": [{"port": 80}]}
        await kinds.create("services", {"metadata": {"name": f"s{host}"}, "spec": spec})
    kinds.store.compact(kinds.store.revision)
    pool.refresh(kinds.store, "services")
    mine = reservation(pool)
    for host in (1, 2, 3):
        with pytest.raises(Refused, match="already allocated"):
            mine.ip(f"10.96.0.{host}")
    await kinds.delete("services", "s2")
    pool.refresh(kinds.store, "services")
    assert mine.ip("10.96.0.2") == "10.96.0.2"
