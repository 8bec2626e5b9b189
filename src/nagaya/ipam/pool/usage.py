"""How much of a pool is used, and by whom: the numbers in its status, and what starving claims are told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from nagaya.api.ipam.ranges import RangeSet, number_of, text_of
from nagaya.ipam.pool.names import cluster_of, pool_of, shown
from nagaya.ipam.pool.seen import Seen

HOLDERS_NAMED: Final = 3
"""How many of those who hold most of a pool are named."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The addresses of a pool, counted."""

    total: int
    free: int
    used: int
    resting: int
    out_of_range: int


def held(seen: Seen) -> dict[int, str]:
    """Addresses of the pool that are in use, and whom they serve: a Cluster, or claims that are for none."""
    found: dict[int, str] = {}
    for number, entry in seen.ledger.held.items():
        claim = entry.reservation.spec.claim_ref
        found[number] = _holder(claim.namespace, claim.cluster_name)
    for wish in seen.wishes:
        if wish.address is None or pool_of(wish.address) != seen.identity:
            continue
        given = number_of(wish.address.spec.address)
        if given is not None:
            found[given] = _holder(wish.key.namespace, cluster_of(wish.claim))
    for stray in seen.strays:
        given = number_of(stray.spec.address)
        if given is not None:
            found.setdefault(given, _holder(stray.metadata.namespace, ""))
    return found


def usage(seen: Seen) -> Usage:
    """Count."""
    used = held(seen)
    endpoints = RangeSet.single(each for each in withheld(seen) if each not in used)
    giveable = seen.ranges.giveable - endpoints
    free = giveable - RangeSet.single(seen.ledger.occupied)
    return Usage(
        giveable.count,
        free.count,
        len(used),
        sum(each.number in giveable for each in seen.ledger.resting),
        sum(each not in seen.ranges.giveable for each in used),
    )


def withheld(seen: Seen) -> dict[int, str]:
    """Addresses of the pool that are never given although its spec lists them, and what they are."""
    found = {
        number: f"the control plane endpoint of Cluster {cluster}"
        for number, cluster in seen.endpoints.items()
        if number in seen.ranges.giveable
    }
    found.update(
        (number, f"the gateway of {shown(other)}")
        for number, other in seen.gateways.items()
        if number in seen.ranges.giveable
    )
    return found


def exhausted(seen: Seen) -> str:
    """What a claim is told that gets nothing: which pool, how many of how many are used, by whom, what to do."""
    counts, who = usage(seen), holders(seen)
    sentences = [
        f"{seen.name} has no free address: {counts.used} of {counts.total} are in use{f' ({who})' if who else ''}."
    ]
    if counts.resting:
        first = min(each.until for each in seen.ledger.resting)
        sentences.append(f"{counts.resting} rest after their release; the first can be given at {first:%H:%M:%S} UTC.")
    sentences.append("Add a range to spec.addresses of the pool, or delete machines or claims.")
    return " ".join(sentences)


def holders(seen: Seen) -> str:
    """Who has addresses of the pool, and how many: those who have most are named."""
    found = Counter(held(seen).values()).most_common()
    named = [f"{count} by {holder}" for holder, count in found[:HOLDERS_NAMED]]
    rest = sum(count for _, count in found[HOLDERS_NAMED:])
    return ", ".join([*named, *([f"{rest} by others"] if rest else [])])


def exclusions(seen: Seen) -> str:
    """Which addresses are kept back by themselves, in one sentence; empty if there are none."""
    used = held(seen)
    kept = [f"{text_of(number)} is {why}" for number, why in sorted(withheld(seen).items()) if number not in used]
    return f"Never given: {', '.join(kept)}." if kept else ""


def _holder(namespace: str, cluster: str) -> str:
    return f"Cluster {namespace}/{cluster}" if cluster else f"claims of namespace {namespace} without a Cluster"
