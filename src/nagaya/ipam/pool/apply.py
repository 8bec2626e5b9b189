"""What a plan says, done: errands beside each other, the steps of one in order. Any call may be the last.

Every write to the ledger either makes an entry or changes it in the state in which it was read, so that of two who want
one address the server refuses one. Whoever is refused reads what is there now and looks again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeVar

import msgspec

from nagaya.api.ipam.group import PROTECT_ADDRESS, PROTECT_POOL, RELEASE_ADDRESS, RESERVED_ADDRESS
from nagaya.api.ipam.ip_address import IP_ADDRESSES, IPAddress, IPAddressSpec
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS, IPAddressClaim
from nagaya.api.ipam.ip_address_reservation import (
    IP_ADDRESS_RESERVATIONS,
    IPAddressReservation,
    IPAddressReservationSpec,
    ReservedClaim,
    label_value,
    reservation_name,
)
from nagaya.api.ipam.ranges import number_of, text_of
from nagaya.api.ipam.references import IPAddressClaimReference
from nagaya.api.kind import Kind, Object
from nagaya.api.meta import ObjectMeta
from nagaya.clusters.failures import worst
from nagaya.clusters.finalizer import release
from nagaya.ipam.pool.cleaning import LATE_CALL
from nagaya.ipam.pool.ledger import entry
from nagaya.ipam.pool.names import cluster_of, pool_of
from nagaya.ipam.pool.plan import Plan, labels_of, owners_of
from nagaya.ipam.pool.seen import Seen, claim_key
from nagaya.ipam.pool.steps import (
    Errand,
    Forget,
    Give,
    Hold,
    LetGo,
    Mend,
    Record,
    Release,
    ReleaseOf,
    Step,
    Withdraw,
)
from nagaya.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import NoAnswer

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-ipam"
T = TypeVar("T", bound=Object)
V = TypeVar("V")
AT_ONCE: Final = 16
"""Errands of one pool that may be under way at the same time."""


@dataclass(slots=True)
class Outcome:
    """How it went."""

    failures: list[Exception] = field(default_factory=list)
    unserved: dict[Key, str] = field(default_factory=dict)
    """Claims whose errand failed, and why."""
    again: bool = False
    """Whether somebody else was faster, so that the plan is out of date."""
    trusted: set[str] = field(default_factory=set)
    """Reservations, by uid, whose claim exists although the cache does not have it."""


class Superseded(Exception):
    """What the plan was made for is not so any more. The cache knows better by now, or will be told."""


class Apply:
    """Carries out plans for one kind of pools."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._api = rt.api(MANAGER)

    async def all(self, seen: Seen, plan: Plan) -> Outcome:
        """Do everything."""
        outcome = Outcome()
        if plan.protect and seen.pool is not None:
            finalizers = (*seen.pool.metadata.finalizers, PROTECT_POOL)
            await self._api.metadata(seen.kind, seen.pool, finalizers=finalizers)
        await bounded(self._errand(seen, each, outcome) for each in plan.errands)
        if plan.let_go and seen.pool is not None:
            await release(self._rt, self._api, seen.kind, seen.pool, PROTECT_POOL)
            log.info("%s: nothing of it is in use any more; it may go", seen.name)
        return outcome

    async def _errand(self, seen: Seen, errand: Errand, outcome: Outcome) -> None:
        try:
            for step in errand.steps:
                await self._step(seen, step, outcome)
        except (Superseded, Conflict) as error:
            log.debug("%s: not done, because %s", errand.why, error)
            outcome.again = True
            return
        except (ApiError, NoAnswer) as error:
            outcome.failures.append(error)
            if errand.claim is not None:
                outcome.unserved[errand.claim] = str(error)
            return
        log.info("%s", errand.why)

    async def _step(self, seen: Seen, step: Step, outcome: Outcome) -> None:
        match step:
            case Hold(claim=claim):
                await self._hold(claim)
            case Give():
                await self._give(seen, step)
            case Record():
                await self._record(seen, step)
            case Mend(address=address):
                await self._api.metadata(
                    IP_ADDRESSES, address, labels=step.labels, finalizers=step.finalizers, owners=step.owners
                )
            case Withdraw():
                await self._withdraw(seen, step)
            case Release():
                await self._release(step, outcome)
            case ReleaseOf():
                await self._release_of(seen, step)
            case Forget(entry=reservation):
                await self._forget(reservation)
            case LetGo(claim=claim):
                await release(self._rt, self._api, IP_ADDRESS_CLAIMS, claim, RELEASE_ADDRESS)

    async def _hold(self, claim: IPAddressClaim) -> None:
        finalizers = (*claim.metadata.finalizers, RELEASE_ADDRESS)
        try:
            await self._api.metadata(IP_ADDRESS_CLAIMS, claim, finalizers=finalizers)
        except NotFound:
            raise Superseded(f"IPAddressClaim {Key.of(claim)} is gone") from None

    async def _give(self, seen: Seen, step: Give) -> None:
        if RELEASE_ADDRESS in step.claim.metadata.finalizers:
            # Nothing was written to the claim just now, so it may have gone long ago.
            await self._require_claim(step.claim)
        if step.reserved:
            reservation = await self._require_reserved(seen, step)
        else:
            reservation = await self._reserve(seen, step.number, _claimed(step.claim), step.entry)
        other = await self._elsewhere(seen, step.number)
        if other is not None:
            await self._rest(reservation, LATE_CALL)
            raise Superseded(f"{text_of(step.number)} is reserved on the other side: {other.metadata.name}")
        assert seen.pool is not None
        spec = seen.pool.spec
        claim = step.claim.metadata
        made = IPAddress(
            metadata=ObjectMeta(
                name=claim.name,
                namespace=claim.namespace,
                labels=labels_of(step.claim),
                finalizers=(PROTECT_ADDRESS,),
                owner_references=owners_of(step.claim, seen.pool, seen.kind),
            ),
            spec=IPAddressSpec(
                claim_ref=IPAddressClaimReference(name=claim.name),
                pool_ref=step.claim.spec.pool_ref,
                address=text_of(step.number),
                prefix=spec.prefix,
                gateway=spec.gateway,
            ),
        )
        try:
            await self._api.create(IP_ADDRESSES, made)
        except AlreadyExists:
            await self._refresh(IP_ADDRESSES, claim.namespace, claim.name)
            raise Superseded("the claim has an IPAddress already") from None

    async def _require_claim(self, claim: IPAddressClaim) -> None:
        """Raises Superseded unless the server has the claim, and it is to stay."""
        found = await self._live_claim(Key.of(claim))
        if found is None or found.metadata.uid != claim.metadata.uid or found.metadata.deleting:
            raise Superseded(f"IPAddressClaim {Key.of(claim)} is gone, or goes")

    async def _require_reserved(self, seen: Seen, step: Give) -> IPAddressReservation:
        """The entry that a former life made for a claim. Raises Superseded if the server has it no longer so."""
        name = reservation_name(step.number, seen.identity.namespace)
        found = await self._refresh(IP_ADDRESS_RESERVATIONS, "", name)
        if found is None or found.spec.released_at or found.spec.claim_ref.uid != step.claim.metadata.uid:
            raise Superseded(f"the entry {name} is not the claim's any more")
        return found

    async def _reserve(
        self, seen: Seen, number: int, claim: ReservedClaim, over: IPAddressReservation | None
    ) -> IPAddressReservation:
        """Make the entry of an address, or take over the one there is. Raises Superseded if somebody was faster."""
        name = reservation_name(number, seen.identity.namespace)
        if over is not None:
            taken = {**msgspec.to_builtins(claim), "clusterName": claim.cluster_name or None}
            pool = msgspec.to_builtins(seen.identity)
            content = {"spec": {"poolRef": pool, "claimRef": taken, "releasedAt": None, "restsUntil": None}}
            try:
                return await self._api.merge(IP_ADDRESS_RESERVATIONS, over, content, locked=True)
            except (Conflict, NotFound) as error:
                await self._refresh(IP_ADDRESS_RESERVATIONS, "", name)
                raise Superseded(f"the entry {name} has changed") from error
        made = IPAddressReservation(
            metadata=ObjectMeta(name=name, labels={RESERVED_ADDRESS: label_value(number)}),
            spec=IPAddressReservationSpec(address=text_of(number), pool_ref=seen.identity, claim_ref=claim),
        )
        try:
            return await self._api.create(IP_ADDRESS_RESERVATIONS, made)
        except AlreadyExists:
            await self._refresh(IP_ADDRESS_RESERVATIONS, "", name)
            raise Superseded(f"there is an entry {name} already") from None

    async def _elsewhere(self, seen: Seen, number: int) -> IPAddressReservation | None:
        """Who has, or had a moment ago, the same address on the other side. Asked of the server: a cache may be behind,
        and whoever reserves on both sides at the same time must see at least one of the two."""
        side = seen.identity.namespace
        found: list[IPAddressReservation] = []
        if side:
            try:
                found = [await self._rt.client.get(IP_ADDRESS_RESERVATIONS, "", reservation_name(number, ""))]
            except NotFound:
                return None
        else:
            labels = f"{RESERVED_ADDRESS}={label_value(number)}"
            found = (await self._rt.client.list(IP_ADDRESS_RESERVATIONS, labels=labels)).items
        now = self._rt.world.clock.now()
        for each in found:
            read = entry(each, now)
            if each.spec.pool_ref.namespace != side and read is not None and (read.held or read.resting):
                self._rt.cache.wrote(IP_ADDRESS_RESERVATIONS, each)
                return each
        return None

    async def _record(self, seen: Seen, step: Record) -> None:
        number = number_of(step.address.spec.address)
        assert number is not None
        if step.claim is not None:
            claim = _claimed(step.claim)
        else:
            controller = step.address.metadata.controller
            namespace, name = claim_key(step.address)
            claim = ReservedClaim(namespace=namespace, name=name, uid="" if controller is None else controller.uid)
        await self._reserve(seen, number, claim, step.entry)

    async def _withdraw(self, seen: Seen, step: Withdraw) -> None:
        address = step.address
        if step.sure:
            claim = await self._live_claim(claim_key(address))
            if claim is not None and pool_of(claim) == seen.identity:
                raise Superseded("the claim is there")
        if not address.metadata.deleting:
            left = await self._api.delete(IP_ADDRESSES, address)
            if left is None:
                return
            address = left
        if PROTECT_ADDRESS in address.metadata.finalizers:
            await release(self._rt, self._api, IP_ADDRESSES, address, PROTECT_ADDRESS)
        if set(address.metadata.finalizers) - {PROTECT_ADDRESS}:
            raise Superseded(f"IPAddress {Key.of(address)} is held by {', '.join(address.metadata.finalizers)}")

    async def _release(self, step: Release, outcome: Outcome) -> None:
        spec = step.entry.spec
        if step.sure:
            key = Key(spec.claim_ref.namespace, spec.claim_ref.name)
            claim = await self._live_claim(key)
            if claim is not None and claim.metadata.uid == spec.claim_ref.uid:
                outcome.trusted.add(step.entry.metadata.uid)
                raise Superseded("the claim is there")
            address = await self._live_address(key)
            if address is not None and number_of(address.spec.address) == number_of(spec.address):
                outcome.trusted.add(step.entry.metadata.uid)
                raise Superseded("its IPAddress is there")
        await self._rest(step.entry, step.rest)

    async def _release_of(self, seen: Seen, step: ReleaseOf) -> None:
        number = number_of(step.address.spec.address)
        assert number is not None
        name = reservation_name(number, seen.identity.namespace)
        found = self._rt.cache.get(IP_ADDRESS_RESERVATIONS, Key("", name))
        if found is None or found.spec.released_at is not None:
            return
        if Key(found.spec.claim_ref.namespace, found.spec.claim_ref.name) == claim_key(step.address):
            await self._rest(found, step.rest)

    async def _rest(self, reservation: IPAddressReservation, seconds: float) -> None:
        now = self._rt.world.clock.now()
        until = now + timedelta(seconds=seconds)
        times = {"releasedAt": msgspec.to_builtins(now), "restsUntil": msgspec.to_builtins(until)}
        try:
            await self._api.merge(IP_ADDRESS_RESERVATIONS, reservation, {"spec": times}, locked=True)
        except NotFound:
            log.debug("the entry %s is gone already", reservation.metadata.name)

    async def _forget(self, reservation: IPAddressReservation) -> None:
        """Delete an entry, unless somebody has taken it over since it was read."""
        metadata = reservation.metadata
        try:
            await self._rt.client.delete(
                IP_ADDRESS_RESERVATIONS,
                "",
                metadata.name,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
            )
        except NotFound:
            log.debug("the entry %s is gone already", metadata.name)
        self._rt.cache.deleted(IP_ADDRESS_RESERVATIONS, reservation)

    async def _live_claim(self, key: Key) -> IPAddressClaim | None:
        return await self._refresh(IP_ADDRESS_CLAIMS, key.namespace, key.name)

    async def _live_address(self, key: Key) -> IPAddress | None:
        return await self._refresh(IP_ADDRESSES, key.namespace, key.name)

    async def _refresh(self, kind: Kind[T], namespace: str, name: str) -> T | None:
        """An object as the server has it now, for the cache, too; None if there is none."""
        try:
            found = await self._rt.client.get(kind, namespace, name)
        except NotFound:
            return None
        self._rt.cache.wrote(kind, found)
        return found


async def bounded(calls: Iterable[Awaitable[V]]) -> list[V]:
    """Await calls, so many at a time, and return what they return. All are made; raises the worst error then."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(call: Awaitable[V]) -> V:
        async with gate:
            return await call

    results = await asyncio.gather(*map(one, calls), return_exceptions=True)
    failures = [each for each in results if isinstance(each, Exception)]
    if failures:
        raise worst(failures, "several calls failed")
    return [each for each in results if not isinstance(each, BaseException)]


def _claimed(claim: IPAddressClaim) -> ReservedClaim:
    metadata = claim.metadata
    return ReservedClaim(
        namespace=metadata.namespace, name=metadata.name, uid=metadata.uid, cluster_name=cluster_of(claim)
    )
