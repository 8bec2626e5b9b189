"""Everything that a decision about a pool may depend on, at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.pause import why_paused
from nagaya.api.contract.provider import InfrastructureCluster
from nagaya.api.ipam.in_cluster_ip_pool import DEFAULT_GRACE
from nagaya.api.ipam.ip_address import IP_ADDRESSES, IPAddress
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS, IPAddressClaim
from nagaya.api.ipam.ip_address_reservation import IP_ADDRESS_RESERVATIONS, IPAddressReservation, ReservedPool
from nagaya.api.ipam.ranges import RangeSet, number_of
from nagaya.api.kind import Kind
from nagaya.clusters.external import look_up
from nagaya.ipam.pool.ledger import Ledger, ledger
from nagaya.ipam.pool.names import GLOBAL, KINDS, Pool, cluster_of, identity, place, pool_of, shown
from nagaya.ipam.pool.specs import Ranges, Specs
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

BY_POOL: Final = "pool"
"""The index of claims, addresses and reservations by their pool."""
BY_SIDE: Final = "side"
"""The index of addresses and reservations by the side that they are on: a namespace, or the global one."""
_NAMESAKES: Final = 3
GLOBAL_SIDE: Final = "(global)"  # no namespace is called that


@dataclass(frozen=True, slots=True)
class Wish:
    """A claim, and what keeps it from being served."""

    claim: IPAddressClaim
    address: IPAddress | None
    """The IPAddress of its name, from whichever pool."""
    left_alone: bool = False
    """Whether it, or its Cluster, is paused."""
    without_cluster: bool = False
    """Whether the Cluster that it is for does not exist."""

    @property
    def key(self) -> Key:
        """Where it is."""
        return Key.of(self.claim)


@dataclass(frozen=True, slots=True)
class Rival:
    """Another pool that has some of the same addresses."""

    pool: ReservedPool
    shared: RangeSet


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a pool."""

    kind: Kind[Any]
    identity: ReservedPool
    pool: Pool | None
    """None if there is none of this name: claims may refer to it nevertheless."""
    ranges: Ranges
    wishes: tuple[Wish, ...]
    """The oldest first."""
    strays: tuple[IPAddress, ...]
    """Addresses of this pool whose claim is not there, or wants one of another pool."""
    ledger: Ledger
    endpoints: Mapping[int, Key]
    """Addresses at which control planes are reached, and the Clusters that they are of."""
    gateways: Mapping[int, ReservedPool]
    """The routers of neighbouring pools."""
    rivals: tuple[Rival, ...]
    now: datetime
    paused_clusters: frozenset[Key] = frozenset()
    trusted: frozenset[str] = field(default_factory=frozenset)
    """Reservations, by uid, whose claim is there although the cache does not have it."""
    namesakes: tuple[str, ...] = ()
    """If there is no pool of this kind, namespace and name: those that have at least the name."""

    @property
    def grace(self) -> float:
        """For how many seconds addresses rest."""
        wanted = None if self.pool is None else self.pool.spec.address_reuse_grace_period_seconds
        return DEFAULT_GRACE if wanted is None else wanted

    @property
    def name(self) -> str:
        """The pool in a sentence."""
        return shown(self.identity)


def add_indexes(cache: Cache) -> None:
    """What a look at a pool needs to find things. Again: no effect."""
    kinds: tuple[Kind[Any], ...] = (*KINDS, CLUSTERS, IP_ADDRESS_CLAIMS, IP_ADDRESSES, IP_ADDRESS_RESERVATIONS)
    for kind in kinds:
        if not cache.has(kind):
            cache.start(kind)
    cache.add_index(IP_ADDRESS_CLAIMS, BY_POOL, lambda each: _place(pool_of(each)))
    cache.add_index(IP_ADDRESSES, BY_POOL, lambda each: _place(pool_of(each)))
    cache.add_index(IP_ADDRESSES, BY_SIDE, lambda each: (_side(each),))
    cache.add_index(IP_ADDRESS_RESERVATIONS, BY_POOL, lambda each: (place(each.spec.pool_ref),))
    cache.add_index(IP_ADDRESS_RESERVATIONS, BY_SIDE, lambda each: (each.spec.pool_ref.namespace or GLOBAL_SIDE,))


def observe(rt: Runtime, kind: Kind[Any], key: Key, specs: Specs, trusted: frozenset[str]) -> Seen:
    """A pool and what concerns it, by cached reads alone."""
    cache, own = rt.cache, identity(kind, key)
    pool: Pool | None = cache.get(kind, key)
    now = rt.world.clock.now()
    if pool is None:
        specs.forget(own)
    ranges = Ranges() if pool is None else specs.of(own, pool.spec)
    claims = cache.by(IP_ADDRESS_CLAIMS, BY_POOL, place(own))
    known = {Key.of(each) for each in claims}
    given = cache.by(IP_ADDRESSES, BY_POOL, place(own))
    neighbours = [*_neighbours(cache, own, specs)]
    clusters = cache.list(CLUSTERS)
    return Seen(
        kind,
        own,
        pool,
        ranges,
        tuple(sorted((_wish(cache, each) for each in claims), key=_age)),
        tuple(each for each in given if claim_key(each) not in known),
        ledger(own, _reservations(cache, own), _addresses(cache, own), now),
        {} if pool is None else _endpoints(rt, clusters),
        {found.gateway: other for other, found in neighbours if found.gateway is not None},
        tuple(Rival(other, shared) for other, found in neighbours if (shared := ranges.listed & found.listed)),
        now,
        frozenset(Key.of(each) for each in clusters if each.spec.paused),
        trusted,
        _namesakes(cache, own) if pool is None else (),
    )


def claim_key(address: IPAddress) -> Key:
    """The claim that an address was given to."""
    return Key(address.metadata.namespace, address.spec.claim_ref.name)


def endpoint_numbers(rt: Runtime, cluster: Cluster) -> Iterator[int]:
    """The addresses at which the control plane of a Cluster is, or will be, reached."""
    hosts = [cluster.spec.control_plane_endpoint.host]
    reference = cluster.spec.infrastructure_ref
    if reference is not None:
        found = look_up(rt, cluster.metadata.namespace, reference, InfrastructureCluster).provider
        if found is not None:
            hosts.append(found.control_plane_endpoint.host)
    for host in hosts:
        number = number_of(host) if host else None
        if number is not None:
            yield number


def _endpoints(rt: Runtime, clusters: Iterable[Cluster]) -> dict[int, Key]:
    return {number: Key.of(each) for each in clusters for number in endpoint_numbers(rt, each)}


def _wish(cache: Cache, claim: IPAddressClaim) -> Wish:
    address = cache.get(IP_ADDRESSES, Key.of(claim))
    name = cluster_of(claim)
    cluster = cache.get(CLUSTERS, Key(claim.metadata.namespace, name)) if name else None
    paused = bool(why_paused(cluster, claim, IP_ADDRESS_CLAIMS.kind))
    return Wish(claim, address, paused, bool(name) and cluster is None)


def _age(wish: Wish) -> tuple[str, Key]:
    created = wish.claim.metadata.creation_timestamp
    return ("" if created is None else created.isoformat(), wish.key)


def _neighbours(cache: Cache, own: ReservedPool, specs: Specs) -> Iterator[tuple[ReservedPool, Ranges]]:
    """Pools that must not have the same addresses: those of the namespace and the global ones; for a global one all."""
    for kind in KINDS:
        for each in cache.list(kind, own.namespace if kind.namespaced else ""):
            other = identity(kind, Key.of(each))
            if other != own and not each.metadata.deleting:
                yield other, specs.of(other, each.spec)


def _namesakes(cache: Cache, own: ReservedPool) -> tuple[str, ...]:
    found = (identity(kind, Key.of(each)) for kind in KINDS for each in cache.list(kind))
    return tuple(sorted(shown(each) for each in found if each.name == own.name and each != own))[:_NAMESAKES]


def _reservations(cache: Cache, own: ReservedPool) -> list[IPAddressReservation]:
    if own.kind == GLOBAL:
        return cache.list(IP_ADDRESS_RESERVATIONS)
    return [
        *cache.by(IP_ADDRESS_RESERVATIONS, BY_SIDE, GLOBAL_SIDE),
        *cache.by(IP_ADDRESS_RESERVATIONS, BY_SIDE, own.namespace),
    ]


def _addresses(cache: Cache, own: ReservedPool) -> list[IPAddress]:
    if own.kind == GLOBAL:
        return cache.list(IP_ADDRESSES)
    return [*cache.by(IP_ADDRESSES, BY_SIDE, GLOBAL_SIDE), *cache.by(IP_ADDRESSES, BY_SIDE, own.namespace)]


def _place(pool: ReservedPool | None) -> tuple[str, ...]:
    return () if pool is None else (place(pool),)


def _side(address: IPAddress) -> str:
    return GLOBAL_SIDE if address.spec.pool_ref.kind == GLOBAL else address.metadata.namespace
