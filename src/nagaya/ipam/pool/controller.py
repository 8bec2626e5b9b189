"""The controller of pools: look, plan, act, look again, tell.

The pool, not the claim, is the unit of work, so claims are served in their order and each look counts once. What always
holds: a paused pool is left alone, and so are claims of a paused Cluster; a pool that is deleted keeps its finalizer
until its last address is given back; and the status of a claim names an IPAddress only when that exists.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any, Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.ipam.ip_address_claim import (
    ALLOCATION_FAILED,
    IP_ADDRESS_CLAIMS,
    IPAddressClaim,
    IPAddressClaimStatus,
)
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.external import StillListing, listed, served
from nagaya.clusters.failures import worst
from nagaya.ipam.pool.apply import MANAGER, Apply, Outcome, bounded
from nagaya.ipam.pool.choice import Wait
from nagaya.ipam.pool.plan import Plan, plan, seconds_until_news
from nagaya.ipam.pool.seen import Seen, add_indexes, observe
from nagaya.ipam.pool.specs import Specs
from nagaya.ipam.pool.status import (
    CLAIM_CONDITIONS,
    CLAIM_FIELDS,
    CLAIM_NEWS,
    POOL_CONDITIONS,
    POOL_FIELDS,
    POOL_NEWS,
    claim_status,
    pool_status,
)
from nagaya.ipam.pool.watches import PoolsOfEndpoint, watches
from nagaya.kube.controller import SETTLE, Controller, Result
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

SUPERSEDED_RETRY: Final = 0.1
"""Seconds until a plan is made anew after somebody else was faster: the cache knows by then."""
TRUST: Final = 600.0
"""For how many seconds a claim counts as there that only the server has: another process watches its namespace."""


class Pools:
    """Looks after the pools of one kind."""

    def __init__(self, rt: Runtime, kind: Kind[Any]) -> None:
        self._rt = rt
        self._kind = kind
        self._api = rt.api(MANAGER)
        self._apply = Apply(rt)
        self._specs = Specs()
        self._trusted: dict[str, float] = {}
        self._unlisted: set[Kind[Untyped]] = set()
        add_indexes(rt.cache)
        name = kind.kind.lower()
        self.controller = Controller(
            name, kind, self.reconcile, watches=watches(rt.cache, kind, self._specs), settle=SETTLE
        )

    async def reconcile(self, key: Key) -> Result | None:
        """Look at one pool, or at what refers to one that is not there."""
        await self._follow_endpoints()
        seen = self._see(key)
        planned = plan(seen)
        outcome = await self._apply.all(seen, planned)
        for uid in outcome.trusted:
            self._trusted[uid] = self._rt.world.clock.monotonic() + TRUST
        after = self._see(key)
        tell_after = await self._tell(after, planned, outcome)
        if outcome.failures:
            raise worst(outcome.failures, f"{seen.name}: several errands failed")
        return Result(_soonest(planned, outcome, seconds_until_news(after)), tell_after)

    def _see(self, key: Key) -> Seen:
        now = self._rt.world.clock.monotonic()
        self._trusted = {uid: end for uid, end in self._trusted.items() if end > now}
        return observe(self._rt, self._kind, key, self._specs, frozenset(self._trusted))

    async def _tell(self, seen: Seen, planned: Plan, outcome: Outcome) -> float | None:
        """Tell claims and pool how they are. Returns after how many seconds the rest is to be told."""
        pool = seen.pool
        if pool is not None and PAUSED in pool.metadata.annotations:
            return None
        calls: list[Awaitable[float | None]] = []
        for wish in seen.wishes:
            wait = planned.waits.get(wish.key)
            if why := outcome.unserved.get(wish.key):
                wait = Wait(ALLOCATION_FAILED, why)
            told = claim_status(seen, wish, wait)
            if told is not None:
                calls.append(self._tell_claim(wish.claim, told))
        if pool is not None:
            status = pool_status(seen, pool)
            calls.append(
                self._api.news(self._kind, pool, status, POOL_NEWS, conditions=POOL_CONDITIONS, fields=POOL_FIELDS)
            )
        left = await bounded(calls)
        return min((each for each in left if each is not None), default=None)

    async def _tell_claim(self, claim: IPAddressClaim, told: IPAddressClaimStatus) -> float | None:
        return await self._api.news(
            IP_ADDRESS_CLAIMS, claim, told, CLAIM_NEWS, conditions=CLAIM_CONDITIONS, fields=CLAIM_FIELDS
        )

    async def _follow_endpoints(self) -> None:
        """Hear of the infrastructure of all Clusters: it knows first where a control plane will be reached. One that
        cannot be listed is waited for once, and holds up nobody after that."""
        rt = self._rt
        references = {each.spec.infrastructure_ref for each in rt.cache.list(CLUSTERS)}
        names = {(each.api_group, each.kind) for each in references if each is not None}
        kinds = {kind for group, name in names if (kind := served(rt.kinds, group, name)) is not None}
        for kind in kinds:
            self.controller.watch(kind, PoolsOfEndpoint(rt.cache, self._kind, self._specs, kind))
        waiting = {each for each in kinds if not rt.cache.is_synced(each)} - self._unlisted
        if waiting:
            try:
                await listed(rt.cache, waiting)
            except StillListing as error:
                self._unlisted |= waiting
                log.warning("endpoints of Clusters may be missed until then: %s", error)


def _soonest(planned: Plan, outcome: Outcome, again_after: float | None) -> float | None:
    if planned.more:
        return 0.0
    moments = [SUPERSEDED_RETRY] if outcome.again else []
    return min([*moments, *([again_after] if again_after is not None else [])], default=None)
