"""The state of single addresses, as far as they concern a pool: held, resting, or given before and free again.

Entries of the pool's own side (its namespace, or the global one) can be taken over when they have rested; those of the
other side only say what is not to be given. An IPAddress counts as held also if its entry is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from nagaya.api.ipam.ip_address import IPAddress
from nagaya.api.ipam.ip_address_reservation import IPAddressReservation, ReservedPool
from nagaya.api.ipam.ranges import number_of
from nagaya.ipam.pool.names import pool_of, shown, shown_claim
from nagaya.kube.key import Key


@dataclass(frozen=True, slots=True)
class Entry:
    """A reservation at one moment."""

    reservation: IPAddressReservation
    number: int
    held: bool
    resting: bool

    @property
    def claim(self) -> Key:
        """The claim that has the address, or had it last."""
        reference = self.reservation.spec.claim_ref
        return Key(reference.namespace, reference.name)

    @property
    def until(self) -> datetime:
        """When the rest ends, of one that rests."""
        moment = self.reservation.spec.rests_until
        assert moment is not None
        return moment

    @property
    def holder(self) -> str:
        """Who has the address, in a sentence."""
        return shown_claim(*self.claim)


def entry(reservation: IPAddressReservation, now: datetime) -> Entry | None:
    """Read a reservation. None if what it reserves is no address."""
    spec = reservation.spec
    number = number_of(spec.address)
    if number is None:
        return None
    held = spec.released_at is None
    return Entry(reservation, number, held, not held and spec.rests_until is not None and now < spec.rests_until)


@dataclass(frozen=True, slots=True)
class Ledger:
    """All entries and addresses that concern a pool."""

    own: tuple[Entry, ...]
    """Those of the pool itself."""
    by_number: Mapping[int, Entry]
    """Those of the pool's side, whichever pool they are from: the ones that can be made or taken over."""
    given: frozenset[int]
    """Addresses of which there is an IPAddress, on either side."""
    occupied: Mapping[int, str]
    """Addresses that are held or rest, on either side, and with whom."""

    @property
    def held(self) -> dict[int, Entry]:
        """The pool's entries that claims hold."""
        return {each.number: each for each in self.own if each.held}

    @property
    def resting(self) -> list[Entry]:
        """The pool's entries that rest."""
        return [each for each in self.own if each.resting]

    @property
    def rested(self) -> list[Entry]:
        """Entries of the pool's side that can be taken over, the least recently released first."""
        free = [each for each in self.by_number.values() if not each.held and not each.resting]
        return sorted(free, key=released)


def released(each: Entry) -> tuple[datetime, int]:
    """When an address was given back, for sorting."""
    moment = each.reservation.spec.released_at
    assert moment is not None
    return moment, each.number


def ledger(
    pool: ReservedPool,
    reservations: Iterable[IPAddressReservation],
    addresses: Iterable[IPAddress],
    now: datetime,
) -> Ledger:
    """The state of all addresses, from the reservations and IPAddresses of both sides."""
    entries = [found for each in reservations if (found := entry(each, now)) is not None]
    side = {each.number: each for each in entries if each.reservation.spec.pool_ref.namespace == pool.namespace}
    occupied: dict[int, str] = {}
    for each in entries:
        if each.resting:
            occupied[each.number] = f"resting after {each.holder}"
    for each in entries:
        if each.held:
            occupied[each.number] = f"held by {each.holder}"
    given: set[int] = set()
    for address in addresses:
        number = number_of(address.spec.address)
        if number is not None:
            given.add(number)
            owner = pool_of(address)
            source = f" from {shown(owner)}" if owner is not None and owner != pool else ""
            occupied[number] = f"held by {shown_claim(*Key.of(address))}{source}"
    own = tuple(each for each in entries if each.reservation.spec.pool_ref == pool)
    return Ledger(own, side, frozenset(given), occupied)
