"""The one form of Endpoints."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.controllers.endpoint_subsets import entries, packed

ADDRESSES = st.builds(lambda last: {"ip": f"10.0.0.{last}"}, st.integers(1, 4))
PORTS = st.builds(lambda number: {"port": number, "protocol": "TCP"}, st.integers(80, 83))
ENTRIES = st.lists(st.tuples(ADDRESSES, st.booleans(), PORTS), max_size=12)


def facts(subsets: list[dict[str, Any]]) -> dict[tuple[str, int | None], bool]:
    return {
        (address["ip"], None if port is None else port["port"]): is_ready
        for address, is_ready, port in entries(subsets)
    }


def test_ports_of_the_same_addresses_are_in_one_subset() -> None:
    one, two = {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}
    http, admin = {"name": "http", "port": 80, "protocol": "TCP"}, {"name": "admin", "port": 90, "protocol": "TCP"}
    given_entries = [(one, True, http), (one, True, admin), (two, False, http), (two, False, admin)]
    assert packed(given_entries) == [{"addresses": [one], "notReadyAddresses": [two], "ports": [admin, http]}]


def test_addresses_without_ports_are_kept() -> None:
    assert packed([({"ip": "10.0.0.1"}, True, None)]) == [{"addresses": [{"ip": "10.0.0.1"}]}]
    assert list(entries([{"addresses": [{"ip": "10.0.0.1"}]}])) == [({"ip": "10.0.0.1"}, True, None)]


def test_a_port_that_only_some_addresses_serve_is_in_a_subset_of_its_own() -> None:
    one, two = {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}
    shared, own = {"port": 80, "protocol": "TCP"}, {"port": 90, "protocol": "TCP"}
    found = packed([(one, True, shared), (two, True, shared), (two, True, own)])
    assert found == [{"addresses": [one, two], "ports": [shared]}, {"addresses": [two], "ports": [own]}]


@given(ENTRIES)
def test_packing_says_the_same_and_not_ready_wins(given_entries: list[Any]) -> None:
    expected: dict[tuple[str, int | None], bool] = {}
    for address, is_ready, port in given_entries:
        place = (address["ip"], None if port is None else port["port"])
        expected[place] = expected.get(place, True) and is_ready
    assert facts(packed(given_entries)) == expected


@given(ENTRIES, st.randoms())
def test_the_order_of_what_is_packed_does_not_matter(given_entries: list[Any], random: Any) -> None:
    # Readiness is joined with "and", so the order cannot matter there either.
    shuffled = list(given_entries)
    random.shuffle(shuffled)
    assert packed(shuffled) == packed(given_entries)
    assert packed(entries(packed(given_entries))) == packed(given_entries)
