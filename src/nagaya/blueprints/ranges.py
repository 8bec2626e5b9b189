"""Addresses for the machines of one cluster, as somebody typed them: what is wrong with them, by the options. Pure.

The API refuses most of this, too, but by the field that a value ends up in, and some of it only when a machine wants an
address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.api.ipam.ranges import RangeSet, is_ipv4, network_of, number_of, parse, text_of

BITS: Final = 32
"""Of an IPv4 address: the pool that a cluster gets of its own is one of these."""


def problems(addresses: Sequence[str], prefix: int, endpoint: str) -> list[str]:
    """What is wrong with `--addresses` and `--prefix`, a sentence each. `endpoint` is the address of the API, if it is
    known."""
    if not addresses:
        return ["--addresses: there is none in it. Write them such as 10.0.0.20-10.0.0.39."]
    if prefix > BITS:
        return [f"--prefix: {prefix} is too long, as an IPv4 address has {BITS} bits. 24 is usual."]
    written = list(filter(None, map(_of_text, addresses)))
    if written:
        return written
    found = RangeSet.parse(addresses)
    if not is_ipv4(found.ranges[-1][1]):
        return ["--addresses: take addresses of IPv4. For IPv6 make an InClusterIPPool, and name it with --pool."]
    return [*_outside(addresses, found, prefix), *_endpoint(found, endpoint)]


def _of_text(text: str) -> str:
    try:
        parse(text)
    except ValueError:
        range_, slash, prefix = text.rpartition("/")
        if slash and "-" in range_:
            return (
                f"--addresses: {text!r} is a range with a prefix, which belongs to the whole network. Write "
                f"--addresses {range_} --prefix {prefix or 24}"
            )
        return (
            f"--addresses: {text!r} is no address and no range, or its last address is before its first. Write "
            "them such as 10.0.0.20-10.0.0.39, with commas between several."
        )
    return ""


def _outside(addresses: Sequence[str], found: RangeSet, prefix: int) -> Iterator[str]:
    first = found.ranges[0][0]
    network = network_of(first, prefix)
    for each in addresses:
        if RangeSet.parse([each]) - RangeSet.of([network]):
            yield (
                f"--addresses: {each!r} reaches out of {text_of(network[0])}/{prefix}, the network of "
                f"{text_of(first)}. Machines of a cluster are in one: give its prefix with --prefix, or take other "
                "addresses."
            )


def _endpoint(found: RangeSet, endpoint: str) -> Iterator[str]:
    number = number_of(endpoint)
    if number is not None and number in found:
        yield f"--endpoint: {endpoint} is one of --addresses, and a machine would get it. Take one that is not."
