"""What is left over: addresses without a claim, reservations without either, entries that are of no use any more.

A claim that the cache does not have may exist nevertheless, so whatever is given up here is given up only after a look
at the server. An address that has just appeared is left alone for a while, because a backup may restore it before its
claim. What a lost race left over rests for as long as a call can be under way, whatever the pool's grace.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.ipam.ip_address import IPAddress
from nagaya.api.ipam.ranges import number_of, text_of
from nagaya.ipam.pool.ledger import Entry, released
from nagaya.ipam.pool.names import shown_claim
from nagaya.ipam.pool.seen import Seen, Wish, claim_key
from nagaya.ipam.pool.steps import Errand, Forget, Record, Release, ReleaseOf, Step, Withdraw
from nagaya.kube.key import Key

STRAY_PATIENCE: Final = timedelta(minutes=10)
"""For how long an IPAddress is kept whose claim is not there yet, or not any more."""
LATE_CALL: Final = 60.0
"""Seconds after which no call is under way any more: a server gives up requests after a minute."""
REMEMBERED: Final = 256
"""Of how many addresses a pool remembers when they were given back, so that the latest are given last."""


def cleaning(seen: Seen) -> Iterator[Errand]:
    """Everything that is to be cleaned up."""
    for address in seen.strays:
        if errand := _stray(seen, address):
            yield errand
    wishes = {each.key: each for each in seen.wishes}
    strays = {(claim_key(each), number_of(each.spec.address)) for each in seen.strays}
    for each in seen.ledger.held.values():
        wish = wishes.get(each.claim)
        known = (each.claim, each.number) in strays or each.reservation.metadata.uid in seen.trusted
        if not known and (wish is None or not _accounts_for(wish, each)):
            yield _orphan(seen, each)
    yield from _useless(seen)


def stray_until(seen: Seen) -> list[float]:
    """In how many seconds stray addresses have been kept for long enough."""
    left = [_age_left(seen, each) for each in seen.strays]
    return [each for each in left if each > 0]


def _stray(seen: Seen, address: IPAddress) -> Errand | None:
    cluster = Key(address.metadata.namespace, address.metadata.labels.get(CLUSTER_NAME, ""))
    if cluster in seen.paused_clusters or _age_left(seen, address) > 0:
        return None
    number = number_of(address.spec.address)
    entry = None if number is None else seen.ledger.by_number.get(number)
    steps: list[Step] = []
    if number is not None and not _holds(entry, address):
        if entry is None or not entry.held:
            steps.append(Record(address, None, None if entry is None else entry.reservation))
        else:
            number = None  # somebody else has it; it is not this address's to give back
    steps.append(Withdraw(address, sure=True))
    if number is not None:
        steps.append(ReleaseOf(address, max(seen.grace, LATE_CALL)))
    why = f"{shown_claim(*claim_key(address))} is gone: {address.spec.address} is taken back to {seen.name}."
    return Errand(why, tuple(steps))


def _holds(entry: Entry | None, address: IPAddress) -> bool:
    return entry is not None and entry.held and entry.claim == claim_key(address)


def _age_left(seen: Seen, address: IPAddress) -> float:
    created = address.metadata.creation_timestamp
    if address.metadata.deleting or created is None:
        return 0.0
    return (created + STRAY_PATIENCE - seen.now).total_seconds()


def _accounts_for(wish: Wish, each: Entry) -> bool:
    """Whether a reservation is a claim's own affair: it is for this very claim, or the claim was restored with another
    uid and has the address."""
    if wish.claim.metadata.uid == each.reservation.spec.claim_ref.uid:
        return True
    return wish.address is not None and number_of(wish.address.spec.address) == each.number


def _orphan(seen: Seen, each: Entry) -> Errand:
    """A reservation that neither a claim nor an address accounts for."""
    why = f"{text_of(each.number)} of {seen.name} is reserved for {each.holder}, which is gone."
    return Errand(why, (Release(each.reservation, max(seen.grace, LATE_CALL), sure=True),))


def _useless(seen: Seen) -> Iterator[Errand]:
    """Entries that have rested and that nobody will ask for."""
    rested = sorted((each for each in seen.ledger.own if not each.held and not each.resting), key=released)
    useful = [] if seen.pool is None else [each for each in rested if each.number in seen.ranges.giveable]
    kept = {each.number for each in useful[-REMEMBERED:]}
    for each in rested:
        if each.number not in kept:
            why = f"{text_of(each.number)} of {seen.name} has rested and is as good as new."
            yield Errand(why, (Forget(each.reservation),))
