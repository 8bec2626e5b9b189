"""Addresses as they are typed: what is wrong with them is told by the option, with how to write it."""

from __future__ import annotations

import pytest

from nagaya.blueprints.ranges import problems
from support.subtest_cases import subtest_cases


@pytest.mark.parametrize(
    ("addresses", "prefix", "endpoint"),
    [
        (["10.0.0.20-10.0.0.39"], 24, "10.0.0.10"),
        (["10.0.0.20", "10.0.0.30-10.0.0.39"], 24, ""),
        (["10.0.0.64/26"], 24, ""),
        (["10.0.0.20-10.0.1.39"], 16, "api.example"),
    ],
)
def test_addresses_ranges_and_networks_of_one_network_are_taken(
    addresses: list[str], prefix: int, endpoint: str
) -> None:
    assert problems(addresses, prefix, endpoint) == []


@subtest_cases(
    ("addresses", "prefix", "told"),
    [
        (["10.0.0.20-10.0.0.40/24"], 24, "Write --addresses 10.0.0.20-10.0.0.40 --prefix 24"),
        (["10.0.0.20-10.0.0.40/"], 24, "Write --addresses 10.0.0.20-10.0.0.40 --prefix 24"),
        (["10.0.0.20-40"], 24, "'10.0.0.20-40' is no address and no range"),
        (["10.0.0.40-10.0.0.20"], 24, "or its last address is before its first"),
        (["10.0.0.x"], 24, "Write them such as 10.0.0.20-10.0.0.39, with commas between several."),
        ([], 24, "--addresses: there is none in it."),
        (["10.0.0.20"], 64, "--prefix: 64 is too long"),
        (["fd00::20-fd00::39"], 24, "make an InClusterIPPool, and name it with --pool"),
        (["10.0.0.20", "fd00::20"], 24, "take addresses of IPv4"),
        (["10.0.0.20", "10.1.0.20"], 24, "'10.1.0.20' reaches out of 10.0.0.0/24, the network of 10.0.0.20."),
        (["10.1.0.0/16"], 24, "give its prefix with --prefix"),
        (["10.0.0.5-10.0.0.15"], 24, "--endpoint: 10.0.0.10 is one of --addresses"),
    ],
)
def test_what_is_wrong_is_one_sentence_that_names_the_option(addresses: list[str], prefix: int, told: str) -> None:
    (sentence,) = problems(addresses, prefix, "10.0.0.10")
    assert told in sentence
    assert sentence.startswith("--")
