"""Which changes of other objects concern which pools of a kind. A starving claim is served because something happened:
nobody asks again and again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.contract.provider import InfrastructureCluster
from nagaya.api.ipam.ip_address import IP_ADDRESSES, IPAddress
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS, IPAddressClaim
from nagaya.api.ipam.ip_address_reservation import IP_ADDRESS_RESERVATIONS, IPAddressReservation, ReservedPool
from nagaya.api.ipam.ranges import RangeSet, number_of
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.news import is_news
from nagaya.ipam.pool.names import KINDS, Pool, cluster_of, identity, pool_of
from nagaya.ipam.pool.specs import Specs, ranges_of
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.controller import Watch
from nagaya.kube.key import Key

BY_CLUSTER: Final = "claims of a cluster"


def watches(cache: Cache, kind: Kind[Any], specs: Specs) -> tuple[Watch, ...]:
    """What the pools of a kind hear of."""
    cache.add_index(IP_ADDRESS_CLAIMS, BY_CLUSTER, _of_cluster)
    return (
        Watch(IP_ADDRESS_CLAIMS, PoolOf(kind)),
        Watch(IP_ADDRESSES, PoolOf(kind)),
        Watch(IP_ADDRESS_RESERVATIONS, PoolsOfEntry(cache, kind, specs)),
        Watch(CLUSTERS, PoolsOfCluster(cache, kind, specs)),
        *(Watch(each, Overlapping(cache, kind, specs)) for each in KINDS),
    )


@dataclass(frozen=True, slots=True)
class PoolOf:
    """A claim or an address is the affair of the pool that it refers to."""

    kind: Kind[Any]

    def __call__(self, change: Change[IPAddressClaim] | Change[IPAddress]) -> Iterable[Key]:
        """The key of that pool."""
        return _keys(self.kind, {pool_of(each) for each in (change.old, change.new) if each is not None})


@dataclass(frozen=True)
class PoolsOfEntry:
    """An entry of the ledger is the affair of its pool, and if the address is free again, of all that have it."""

    cache: Cache
    kind: Kind[Any]
    specs: Specs

    def __call__(self, change: Change[IPAddressReservation]) -> Iterable[Key]:
        """The keys of those pools."""
        pools = {each.spec.pool_ref for each in (change.old, change.new) if each is not None}
        keys = [*_keys(self.kind, pools)]
        number = number_of(change.object.spec.address)
        if number is not None and (change.new is None or change.new.spec.released_at is not None):
            keys += _having(self.cache, self.kind, self.specs, RangeSet.single([number]))
        return dict.fromkeys(keys)


@dataclass(frozen=True)
class PoolsOfCluster:
    """A Cluster pauses the claims that are for it, and has an endpoint that nobody else is to get."""

    cache: Cache
    kind: Kind[Any]
    specs: Specs

    def __call__(self, change: Change[Cluster]) -> Iterable[Key]:
        """The keys of the pools that its claims refer to, and of those that have its endpoint."""
        keys: list[Key] = []
        if is_news(change, lambda each: (each.spec.paused, PAUSED in each.metadata.annotations)):
            found = change.object.metadata
            claims = self.cache.by(IP_ADDRESS_CLAIMS, BY_CLUSTER, f"{found.namespace}/{found.name}")
            keys += _keys(self.kind, {pool_of(each) for each in claims})
        if is_news(change, lambda each: (each.spec.control_plane_endpoint.host, each.spec.infrastructure_ref)):
            hosts = [each.spec.control_plane_endpoint.host for each in (change.old, change.new) if each is not None]
            keys += _having(self.cache, self.kind, self.specs, _numbers(hosts))
        if change.old is None and change.new is not None and change.new.spec.infrastructure_ref is not None:
            # The first Cluster of a provider: from now on its endpoints count, and somebody has to follow them.
            keys += [Key.of(each) for each in self.cache.list(self.kind)][:1]
        return dict.fromkeys(keys)


@dataclass(frozen=True)
class PoolsOfEndpoint:
    """The infrastructure of a Cluster says where its control plane will be reached, before the Cluster does."""

    cache: Cache
    kind: Kind[Any]
    specs: Specs
    provider: Kind[Untyped]

    def __call__(self, change: Change[Untyped]) -> Iterable[Key]:
        """The keys of the pools that have that address."""
        if not is_news(change, _host):
            return ()
        hosts = [_host(each) for each in (change.old, change.new) if each is not None]
        return _having(self.cache, self.kind, self.specs, _numbers(hosts))


@dataclass(frozen=True)
class Overlapping:
    """A pool that comes, goes or changes matters to those that have some of its addresses, or its gateway."""

    cache: Cache
    kind: Kind[Any]
    specs: Specs

    def __call__(self, change: Change[Pool]) -> Iterable[Key]:
        """The keys of those pools."""
        if not is_news(change, lambda each: (each.spec, each.metadata.deleting)):
            return ()
        found: list[Key] = []
        for each in (change.old, change.new):
            if each is not None:
                ranges = ranges_of(each.spec)
                gateway = () if ranges.gateway is None else ((ranges.gateway, ranges.gateway),)
                found += _having(self.cache, self.kind, self.specs, RangeSet.of((*ranges.listed.ranges, *gateway)))
        return dict.fromkeys(found)


def _having(cache: Cache, kind: Kind[Any], specs: Specs, addresses: RangeSet) -> list[Key]:
    """The pools of a kind that list any of some addresses."""
    if not addresses:
        return []
    found = []
    for each in cache.list(kind):
        key = Key.of(each)
        if specs.of(identity(kind, key), each.spec).listed & addresses:
            found.append(key)
    return found


def _keys(kind: Kind[Any], pools: Iterable[ReservedPool | None]) -> list[Key]:
    return [Key(each.namespace, each.name) for each in pools if each is not None and each.kind == kind.kind]


def _numbers(hosts: Iterable[str]) -> RangeSet:
    return RangeSet.single(number for host in hosts if host and (number := number_of(host)) is not None)


def _host(cluster: Untyped) -> str:
    return InfrastructureCluster(cluster, "").control_plane_endpoint.host


def _of_cluster(claim: IPAddressClaim) -> tuple[str, ...]:
    name = cluster_of(claim)
    return (f"{claim.metadata.namespace}/{name}",) if name else ()
