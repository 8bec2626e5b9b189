"""What is told of pools and of claims, one function per condition. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from nagaya.api.ipam import in_cluster_ip_pool as words
from nagaya.api.ipam.in_cluster_ip_pool import MOST, AddressCounts, InClusterIPPoolStatus
from nagaya.api.ipam.ip_address_claim import READY, IPAddressClaimStatus
from nagaya.api.ipam.ranges import number_of, text_of
from nagaya.api.ipam.references import IPAddressReference
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.ipam.pool.choice import Wait
from nagaya.ipam.pool.names import Pool, cluster_of, pool_of, shown, shown_claim
from nagaya.ipam.pool.seen import Seen, Wish
from nagaya.ipam.pool.usage import Usage, exclusions, exhausted, holders, usage
from nagaya.kube.conditions import condition
from nagaya.kube.key import Key
from nagaya.kube.status_change import News

POOL_CONDITIONS: Final = (words.READY, words.DISJOINT)
POOL_FIELDS: Final = ("ipAddresses",)
POOL_NEWS: Final = News(conditions=POOL_CONDITIONS)
CLAIM_CONDITIONS: Final = (READY,)
CLAIM_FIELDS: Final = ("addressRef",)
CLAIM_NEWS: Final = News(fields=CLAIM_FIELDS, conditions=CLAIM_CONDITIONS)
"""Providers wait for the address; why there is none yet is for people, and need not be written at every change."""


def pool_status(seen: Seen, pool: Pool) -> InClusterIPPoolStatus:
    """The status of a pool."""
    counts = usage(seen)
    told = (ready(seen, pool, counts), disjoint(seen))
    return InClusterIPPoolStatus(
        ip_addresses=AddressCounts(
            total=min(counts.total, MOST),
            free=min(counts.free, MOST),
            used=counts.used,
            out_of_range=counts.out_of_range,
        ),
        conditions=with_conditions(pool.status.conditions, told, now=seen.now, generation=pool.metadata.generation),
    )


def ready(seen: Seen, pool: Pool, counts: Usage) -> Condition:
    """Whether claims are given addresses."""
    if pool.metadata.deleting:
        number = f"{counts.used} {'is' if counts.used == 1 else 'are'} in use ({holders(seen)})"
        message = f"The pool goes when its last address is given back: {number}." if counts.used else ""
        return condition(words.READY, False, words.DELETING, message)
    if seen.ranges.problem:
        return condition(words.READY, False, words.INVALID_SPEC, seen.ranges.problem)
    if not counts.free:
        return condition(words.READY, False, words.EXHAUSTED, exhausted(seen))
    return condition(words.READY, True, words.FREE)


def disjoint(seen: Seen) -> Condition:
    """Whether the addresses are this pool's alone, and which are kept back because they are not."""
    kept = exclusions(seen)
    for reason, found in (
        (words.GIVEN_TWICE, _given_twice(seen)),
        (words.ENDPOINT_GIVEN, _endpoint_given(seen)),
        (words.OVERLAPS_POOL, _overlapping(seen)),
    ):
        if found:
            return condition(words.DISJOINT, False, reason, " ".join([*found, *([kept] if kept else [])]))
    return condition(words.DISJOINT, True, words.EXCLUDED if kept else words.NO_OVERLAP, kept)


def _given_twice(seen: Seen) -> list[str]:
    """Addresses that two had before there was a ledger: from another provider, or written by hand."""
    found = []
    for wish in seen.wishes:
        number = _number(seen, wish)
        entry = None if number is None else seen.ledger.by_number.get(number)
        if entry is not None and entry.held and entry.claim != wish.key:
            twins = f"{shown_claim(*wish.key)} and {entry.holder}"
            found.append(f"{text_of(entry.number)} is held by {twins}. Delete one of the two.")
    return found


def _endpoint_given(seen: Seen) -> list[str]:
    found = []
    for wish in seen.wishes:
        number = _number(seen, wish)
        cluster = None if number is None else seen.endpoints.get(number)
        if number is not None and cluster is not None and _cluster(wish) != cluster:
            holder = shown_claim(*wish.key)
            found.append(
                f"{text_of(number)} is the control plane endpoint of Cluster {cluster}, and {holder} had it before. "
                f"Give the Cluster another endpoint, or delete what uses the claim."
            )
    return found


def _overlapping(seen: Seen) -> list[str]:
    return [
        f"{each.shared} is in {shown(each.pool)}, too. Each address is given by one of the two only; "
        f"take it out of one of them."
        for each in seen.rivals
    ]


def _number(seen: Seen, wish: Wish) -> int | None:
    """The address that a claim has of this pool."""
    if wish.address is None or pool_of(wish.address) != seen.identity:
        return None
    return number_of(wish.address.spec.address)


def _cluster(wish: Wish) -> Key:
    return Key(wish.key.namespace, cluster_of(wish.claim))


def claim_status(seen: Seen, wish: Wish, wait: Wait | None) -> IPAddressClaimStatus | None:
    """The status of a claim. None if there is nothing to tell: it goes, is left alone, or its turn comes next."""
    claim = wish.claim
    if wish.left_alone or claim.metadata.deleting:
        return None
    reference = None
    if wish.address is not None and pool_of(wish.address) == seen.identity:
        reference = IPAddressReference(name=wish.address.metadata.name)
        kept = "The IPAddress is to be deleted, which waits for the claim." if wish.address.metadata.deleting else ""
        told = condition(READY, True, READY, kept)
    elif wait is not None:
        told = condition(READY, False, wait.reason, wait.message)
    else:
        return None
    conditions = with_conditions(claim.status.conditions, (told,), now=seen.now, generation=claim.metadata.generation)
    return msgspec.structs.replace(claim.status, address_ref=reference, conditions=conditions)
