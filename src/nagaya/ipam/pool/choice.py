"""Which address a claim gets: the one that it asks for; else the lowest that was not given lately; else the one that
was given back the longest time ago.

Addresses are handed out one after the other from one choice, so that no two claims of a plan get the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from nagaya.api.ipam.group import WANTED_ADDRESS
from nagaya.api.ipam.ip_address_claim import ALLOCATION_FAILED, POOL_EXHAUSTED, IPAddressClaim
from nagaya.api.ipam.ranges import RangeSet, number_of, text_of
from nagaya.ipam.pool.names import cluster_of
from nagaya.ipam.pool.seen import Seen
from nagaya.ipam.pool.usage import exhausted, withheld
from nagaya.kube.key import Key

_RANGES_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a claim has no address yet."""

    reason: str
    message: str


class Choice:
    """The addresses that can be given at a moment."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._withheld = withheld(seen)
        self._given: set[int] = set()
        self._wanted = {
            number
            for each in seen.wishes
            if not each.claim.metadata.deleting
            and each.address is None
            and (number := number_of(each.claim.metadata.annotations.get(WANTED_ADDRESS, ""))) is not None
        }
        self._free: Iterator[int] | None = None
        self._exhausted: Wait | None = None

    def fits(self, claim: IPAddressClaim, number: int) -> bool:
        """Whether an address that was reserved for a claim can still be given to it."""
        wanted = claim.metadata.annotations.get(WANTED_ADDRESS)
        if wanted and number_of(wanted) != number:
            return False
        if number not in self._seen.ranges.giveable or number in self._seen.ledger.given:
            return False
        return not self._refusal(claim, number)

    def take(self, claim: IPAddressClaim) -> int | Wait:
        """An address for a claim, or why there is none."""
        wanted = claim.metadata.annotations.get(WANTED_ADDRESS)
        if wanted:
            return self._asked(claim, wanted)
        if self._free is None:
            self._free = self._in_order()
        for number in self._free:  # it goes on where it was left: what came before has been given
            if number not in self._given and number not in self._wanted:
                self._given.add(number)
                return number
        if self._exhausted is None:
            self._exhausted = Wait(POOL_EXHAUSTED, exhausted(self._seen))
        return self._exhausted

    def _in_order(self) -> Iterator[int]:
        """All addresses that can be given, the first to be given first."""
        seen = self._seen
        lately = RangeSet.single({*seen.ledger.occupied, *seen.ledger.by_number, *self._withheld})
        rested = (
            each.number
            for each in seen.ledger.rested
            if each.number in seen.ranges.giveable
            and each.number not in self._withheld
            and each.number not in seen.ledger.occupied
        )
        return chain((seen.ranges.giveable - lately).numbers, rested)

    def _asked(self, claim: IPAddressClaim, wanted: str) -> int | Wait:
        number = number_of(wanted)
        asked = f"The annotation {WANTED_ADDRESS} asks for {wanted}"
        if number is None:
            return Wait(ALLOCATION_FAILED, f"{asked}, which is no address. {self._correct()}")
        if number not in self._seen.ranges.giveable:
            return Wait(ALLOCATION_FAILED, f"{asked}, which {self._not_given(number)}. {self._correct()}")
        if why := self._refusal(claim, number):
            return Wait(ALLOCATION_FAILED, f"{asked}, which is {why}. {self._correct()}")
        if why := self._seen.ledger.occupied.get(number, "promised to an older claim" * (number in self._given)):
            return Wait(ALLOCATION_FAILED, f"{asked}, which is {why}. The claim gets it as soon as it is free.")
        self._given.add(number)
        return number

    def _not_given(self, number: int) -> str:
        """Why the pool gives an address to nobody."""
        ranges, name = self._seen.ranges, self._seen.name
        if number == ranges.gateway:
            return f"is the gateway of {name}"
        if number in ranges.listed:
            return f"{name} keeps back, as it stands for the network itself"
        return f"{name} does not list, or excludes"

    def _correct(self) -> str:
        """What to do about a wish that nobody can grant."""
        given = self._seen.ranges.giveable.ranges
        named = f"{RangeSet(given[:_RANGES_NAMED])}{', ...' if len(given) > _RANGES_NAMED else ''}" or "the pool"
        return f"Ask for another of {named}, or remove the annotation to get any."

    def _refusal(self, claim: IPAddressClaim, number: int) -> str:
        """Why an address is never given to a claim. A Cluster may have its own endpoint."""
        cluster = self._seen.endpoints.get(number)
        if cluster is not None and number not in self._seen.gateways:
            own = Key(claim.metadata.namespace, cluster_of(claim)) == cluster
            return "" if own else f"the control plane endpoint of Cluster {cluster}"
        return self._withheld.get(number, "")


def sentence(claim: IPAddressClaim, number: int, seen: Seen) -> str:
    """What is done when an address is given."""
    return f"IPAddressClaim {Key.of(claim)} gets {text_of(number)} from {seen.name}."
