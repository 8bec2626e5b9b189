"""What to do for a pool: every claim gets an address or a sentence that says why not, the oldest first; and whoever
goes gives its address back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.ipam.group import PROTECT_ADDRESS, PROTECT_POOL, RELEASE_ADDRESS
from nagaya.api.ipam.ip_address import IPAddress
from nagaya.api.ipam.ip_address_claim import ALLOCATION_FAILED, IP_ADDRESS_CLAIMS, POOL_NOT_READY, IPAddressClaim
from nagaya.api.ipam.ranges import number_of
from nagaya.api.kind import Kind
from nagaya.api.meta import OwnerReference
from nagaya.clusters.owners import controller, owner, with_owner
from nagaya.ipam.pool.choice import Choice, Wait, sentence
from nagaya.ipam.pool.cleaning import LATE_CALL, cleaning, stray_until
from nagaya.ipam.pool.ledger import Entry
from nagaya.ipam.pool.names import Pool, cluster_of, pool_of, shown_claim
from nagaya.ipam.pool.seen import Seen, Wish
from nagaya.ipam.pool.steps import Errand, Give, Hold, LetGo, Mend, Record, Release, ReleaseOf, Step, Withdraw
from nagaya.kube.key import Key

AT_A_TIME: Final = 100
"""How many addresses one look gives: the next look gives the next ones, so that none takes too long."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done."""

    errands: tuple[Errand, ...] = ()
    waits: Mapping[Key, Wait] = field(default_factory=dict)
    """Claims that get nothing, and why."""
    protect: bool = False
    """Whether the pool is to be kept from vanishing while it is used."""
    let_go: bool = False
    """Whether the pool may vanish."""
    more: bool = False
    """Whether claims are left that the next look can serve."""


def plan(seen: Seen) -> Plan:
    """Everything that a pool needs at a moment. A paused one is left alone."""
    pool = seen.pool
    if pool is not None and PAUSED in pool.metadata.annotations:
        return Plan()
    servant = _Servant(seen)
    for wish in seen.wishes:
        if not wish.left_alone:
            servant.serve(wish)
    errands = (*servant.errands, *cleaning(seen))
    going = pool is not None and pool.metadata.deleting
    used = bool(seen.ledger.held or seen.strays or any(_given(seen, each) for each in seen.wishes))
    protected = pool is not None and PROTECT_POOL in pool.metadata.finalizers
    return Plan(
        errands,
        servant.waits,
        protect=pool is not None and not going and not protected,
        let_go=going and protected and not used,
        more=servant.more,
    )


def seconds_until_news(seen: Seen) -> float | None:
    """When the passing of time alone makes a difference: a rest ends, or the patience with a stray address."""
    rests = [(each.until - seen.now).total_seconds() for each in seen.ledger.resting]
    return min([*rests, *stray_until(seen)], default=None)


class _Servant:
    """Serves claims one by one."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._choice = Choice(seen)
        self._held: dict[tuple[Key, str], list[Entry]] = {}
        for each in seen.ledger.held.values():
            self._held.setdefault((each.claim, each.reservation.spec.claim_ref.uid), []).append(each)
        self.errands: list[Errand] = []
        self.waits: dict[Key, Wait] = {}
        self.more = False
        self._gifts = 0

    def serve(self, wish: Wish) -> None:
        """One claim that is not left alone."""
        pool = self._seen.pool
        if wish.claim.metadata.deleting:
            self._end(wish)
        elif wish.without_cluster:
            cluster = f"Cluster {wish.key.namespace}/{cluster_of(wish.claim)}"
            message = f"{cluster} does not exist. The claim is served as soon as it does and is not paused."
            self.waits[wish.key] = Wait(ALLOCATION_FAILED, message)
        elif pool is None:
            message = f"{self._seen.name} does not exist. Create it, or make a claim for another pool."
            if self._seen.namesakes:
                message += f" There is {', '.join(self._seen.namesakes)}, which serves other claims."
            self.waits[wish.key] = Wait(POOL_NOT_READY, message)
        elif _given(self._seen, wish):
            self._keep(wish, pool)
        elif wish.address is not None:
            other = wish.address.spec.pool_ref
            source = f"{other.kind} {other.name}"
            message = f"There is an IPAddress {wish.key} from {source} already; waiting until it is gone."
            self.waits[wish.key] = Wait(ALLOCATION_FAILED, message)
        elif pool.metadata.deleting:
            message = f"{self._seen.name} is being deleted. Make a claim for another pool, or the pool anew."
            self.waits[wish.key] = Wait(POOL_NOT_READY, message)
        elif self._seen.ranges.problem:
            message = f"The spec of {self._seen.name} cannot be used: {self._seen.ranges.problem}"
            self.waits[wish.key] = Wait(POOL_NOT_READY, message)
        else:
            self._begin(wish)

    def _own(self, wish: Wish) -> list[Entry]:
        found = self._held.get((wish.key, wish.claim.metadata.uid), [])
        return sorted(found, key=lambda each: each.number)

    def _begin(self, wish: Wish) -> None:
        """A claim without an address."""
        if self._gifts >= AT_A_TIME:
            self.more = True
            return
        claim = wish.claim
        own = self._own(wish)
        fitting = next((each for each in own if self._choice.fits(claim, each.number)), None)
        steps: list[Step] = [
            Release(each.reservation, max(self._seen.grace, LATE_CALL)) for each in own if each is not fitting
        ]
        if RELEASE_ADDRESS not in claim.metadata.finalizers:
            steps.append(Hold(claim))
        if fitting is not None:
            steps.append(Give(claim, fitting.number, fitting.reservation, reserved=True))
            number = fitting.number
        else:
            chosen = self._choice.take(claim)
            if isinstance(chosen, Wait):
                self.waits[wish.key] = chosen
                if own:
                    why = f"{shown_claim(*wish.key)} cannot have what was reserved for it."
                    self.errands.append(Errand(why, tuple(steps), wish.key))
                return
            entry = self._seen.ledger.by_number.get(chosen)
            steps.append(Give(claim, chosen, None if entry is None else entry.reservation))
            number = chosen
        self._gifts += 1
        self.errands.append(Errand(sentence(claim, number, self._seen), tuple(steps), wish.key))

    def _keep(self, wish: Wish, pool: Pool) -> None:
        """A claim that has its address."""
        claim, address = wish.claim, wish.address
        assert address is not None
        steps: list[Step] = []
        if RELEASE_ADDRESS not in claim.metadata.finalizers:
            steps.append(Hold(claim))
        number = number_of(address.spec.address)
        if number is not None:
            entry = self._seen.ledger.by_number.get(number)
            if unrecorded(entry, wish):
                steps.append(Record(address, claim, None if entry is None else entry.reservation))
        steps += [
            Release(each.reservation, max(self._seen.grace, LATE_CALL))
            for each in self._own(wish)
            if each.number != number
        ]
        if mend := self._mend(wish, address, pool):
            steps.append(mend)
        if steps:
            why = f"{shown_claim(*wish.key)} has {address.spec.address}; what belongs to it is put right."
            self.errands.append(Errand(why, tuple(steps), wish.key))

    def _mend(self, wish: Wish, address: IPAddress, pool: Pool) -> Mend | None:
        metadata = address.metadata
        owners = owners_of(wish.claim, pool, self._seen.kind, metadata.owner_references)
        finalizers = metadata.finalizers
        if PROTECT_ADDRESS not in finalizers and not metadata.deleting:
            finalizers = (*finalizers, PROTECT_ADDRESS)
        labels = labels_of(wish.claim)
        same = all(metadata.labels.get(name) == value for name, value in labels.items())
        if owners == metadata.owner_references and finalizers == metadata.finalizers and same:
            return None
        return Mend(address, owners, finalizers, labels)

    def _end(self, wish: Wish) -> None:
        """A claim that goes: its address is taken back before anybody can have it, then the claim is let go."""
        claim, steps, number = wish.claim, list[Step](), None
        if wish.address is not None and _given(self._seen, wish):
            number = number_of(wish.address.spec.address)
            entry = None if number is None else self._seen.ledger.by_number.get(number)
            if number is not None and unrecorded(entry, wish):
                steps.append(Record(wish.address, claim, None if entry is None else entry.reservation))
            steps += [Withdraw(wish.address), ReleaseOf(wish.address, self._seen.grace)]
        steps += [
            Release(each.reservation, max(self._seen.grace, LATE_CALL))
            for each in self._own(wish)
            if each.number != number
        ]
        if RELEASE_ADDRESS in claim.metadata.finalizers:
            steps.append(LetGo(claim))
        if steps:
            given = "" if wish.address is None else f" and gives {wish.address.spec.address} back"
            self.errands.append(Errand(f"{shown_claim(*wish.key)} goes{given}.", tuple(steps)))


def unrecorded(entry: Entry | None, wish: Wish) -> bool:
    """Whether the ledger does not say yet that a claim has the address that it has. What it says of somebody else
    stands."""
    if entry is None or not entry.held:
        return True
    return entry.claim == wish.key and entry.reservation.spec.claim_ref.uid != wish.claim.metadata.uid


def owners_of(
    claim: IPAddressClaim, pool: Pool, kind: Kind[Any], present: tuple[OwnerReference, ...] = ()
) -> tuple[OwnerReference, ...]:
    """Whom an address goes with: its claim, which controls it, and its pool."""
    of_pool = msgspec.structs.replace(owner(kind, pool), controller=False, block_owner_deletion=True)
    return with_owner(with_owner(present, controller(IP_ADDRESS_CLAIMS, claim)), of_pool)


def labels_of(claim: IPAddressClaim) -> dict[str, str]:
    """What ties an address to a Cluster."""
    name = cluster_of(claim)
    return {CLUSTER_NAME: name} if name else {}


def _given(seen: Seen, wish: Wish) -> bool:
    """Whether a claim has an address of this pool."""
    return wish.address is not None and pool_of(wish.address) == seen.identity
