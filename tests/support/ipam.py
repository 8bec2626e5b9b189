"""Pools, claims and addresses as tests write them: manifests for servers, and what is seen of a pool for plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from nagaya.api.ipam.global_in_cluster_ip_pool import GLOBAL_IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.group import GROUP, PROTECT_ADDRESS, PROTECT_POOL, RELEASE_ADDRESS, WANTED_ADDRESS
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.ip_address import IP_ADDRESSES, IPAddress
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS, IPAddressClaim
from nagaya.api.ipam.ip_address_reservation import (
    IP_ADDRESS_RESERVATIONS,
    IPAddressReservation,
    ReservedPool,
    reservation_name,
)
from nagaya.api.ipam.ranges import RangeSet, number_of
from nagaya.ipam.pool.ledger import ledger
from nagaya.ipam.pool.names import Pool
from nagaya.ipam.pool.seen import Rival, Seen, Wish, claim_key
from nagaya.ipam.pool.specs import Ranges, ranges_of
from nagaya.kube.key import Key

Manifest = dict[str, Any]
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
NAMESPACE = "default"


def pool(name: str, *addresses: str, namespace: str = NAMESPACE, prefix: int = 24, **spec: Any) -> Manifest:
    """An InClusterIPPool."""
    metadata = {"name": name, "namespace": namespace}
    return {"kind": "InClusterIPPool", "metadata": metadata, "spec": _spec(addresses, prefix, spec)}


def global_pool(name: str, *addresses: str, prefix: int = 24, **spec: Any) -> Manifest:
    """A GlobalInClusterIPPool."""
    return {"kind": "GlobalInClusterIPPool", "metadata": {"name": name}, "spec": _spec(addresses, prefix, spec)}


def claim(
    name: str,
    pool: str,
    *,
    namespace: str = NAMESPACE,
    kind: str = "InClusterIPPool",
    cluster: str = "",
    wants: str = "",
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """An IPAddressClaim."""
    metadata: Manifest = {"name": name, "namespace": namespace}
    if wants:
        metadata["annotations"] = {WANTED_ADDRESS: wants}
    if labels:
        metadata["labels"] = {**labels}
    spec: Manifest = {"poolRef": {"apiGroup": GROUP, "kind": kind, "name": pool}}
    if cluster:
        spec["clusterName"] = cluster
    return {"kind": "IPAddressClaim", "metadata": metadata, "spec": spec}


def cluster(name: str, *, namespace: str = NAMESPACE, host: str = "", paused: bool = False) -> Manifest:
    """A Cluster, of which only its endpoint and whether it is paused matter."""
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "TestCluster", "name": name}
    spec: Manifest = {"infrastructureRef": reference}
    if host:
        spec["controlPlaneEndpoint"] = {"host": host, "port": 6443}
    if paused:
        spec["paused"] = True
    return {"kind": "Cluster", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _spec(addresses: tuple[str, ...], prefix: int, more: Mapping[str, Any]) -> Manifest:
    return {"addresses": [*addresses], "prefix": prefix, **more}


@dataclass(frozen=True)
class Scene:
    """What is seen of a pool, built up step by step. Claims are as old as they come."""

    manifest: Manifest | None
    claims: tuple[IPAddressClaim, ...] = ()
    addresses: tuple[IPAddress, ...] = ()
    entries: tuple[IPAddressReservation, ...] = ()
    endpoints: Mapping[str, Key] = field(default_factory=dict)
    gateways: Mapping[str, ReservedPool] = field(default_factory=dict)
    rivals: tuple[Rival, ...] = ()
    paused: frozenset[str] = frozenset()
    clusterless: frozenset[str] = frozenset()
    name: str = "pool"
    namespace: str = NAMESPACE

    @property
    def identity(self) -> ReservedPool:
        kind = "InClusterIPPool" if self.namespace else "GlobalInClusterIPPool"
        return ReservedPool(kind=kind, name=self.name, namespace=self.namespace)

    def wanting(self, *names: str, **more: Any) -> Scene:
        """With claims that nothing was done for."""
        made = [self.a_claim(name, held=False, **more) for name in names]
        return replace(self, claims=(*self.claims, *made))

    def holding(self, *, recorded: bool = True, **addresses: str) -> Scene:
        """With claims that have an address, and entries of it in the ledger."""
        scene = self
        for name, address in addresses.items():
            made = scene.a_claim(name, held=True)
            scene = replace(
                scene,
                claims=(*scene.claims, made),
                addresses=(*scene.addresses, scene._address(name, address)),
            )
            if recorded:
                scene = scene.reserved(name, address)
        return scene

    def reserved(self, name: str, address: str, *, uid: str = "", pool: ReservedPool | None = None) -> Scene:
        """With an entry that holds an address for a claim, which need not be there."""
        return replace(self, entries=(*self.entries, self._entry(name, address, uid or f"{name}-uid", pool=pool)))

    def released(self, address: str, ago: float, *, rest: float = 60.0) -> Scene:
        """With an address that was given back."""
        moment = NOW - timedelta(seconds=ago)
        made = self._entry("gone", address, "gone-uid", moment, moment + timedelta(seconds=rest))
        return replace(self, entries=(*self.entries, made))

    def stray(self, name: str, address: str, *, age: float = 3600.0, deleting: bool = False) -> Scene:
        """With an address whose claim is not there."""
        made = self._address(name, address, age=age, deleting=deleting)
        return replace(self, addresses=(*self.addresses, made))

    def deleting(self, *names: str) -> Scene:
        """With some of the claims deleted."""
        return replace(self, claims=tuple(_gone(each) if each.metadata.name in names else each for each in self.claims))

    def seen(self) -> Seen:
        """The value that plans are made from."""
        kind = IN_CLUSTER_IP_POOLS if self.namespace else GLOBAL_IN_CLUSTER_IP_POOLS
        found: Pool | None = None if self.manifest is None else kind.convert(_stored(self.manifest))
        by_key = {Key.of(each): each for each in self.addresses}
        wishes = tuple(
            Wish(
                each,
                by_key.get(Key.of(each)),
                each.metadata.name in self.paused,
                each.metadata.name in self.clusterless,
            )
            for each in self.claims
        )
        known = {each.key for each in wishes}
        return Seen(
            kind,
            self.identity,
            found,
            Ranges() if found is None else ranges_of(found.spec),
            wishes,
            tuple(each for each in self.addresses if claim_key(each) not in known),
            ledger(self.identity, self.entries, self.addresses, NOW),
            {_number(host): key for host, key in self.endpoints.items()},
            {_number(host): other for host, other in self.gateways.items()},
            self.rivals,
            NOW,
        )

    def a_claim(self, name: str, *, held: bool, wants: str = "", cluster: str = "") -> IPAddressClaim:
        """A claim for the pool, with its finalizer if it is held."""
        content = claim(name, self.name, kind=self.identity.kind, cluster=cluster, wants=wants)
        content["metadata"].update(uid=f"{name}-uid", creationTimestamp=NOW.isoformat())
        if held:
            content["metadata"]["finalizers"] = [RELEASE_ADDRESS]
        return IP_ADDRESS_CLAIMS.convert(content)

    def _address(self, name: str, address: str, *, age: float = 3600.0, deleting: bool = False) -> IPAddress:
        owners = [
            _owner("ipam.cluster.x-k8s.io/v1beta2", "IPAddressClaim", name, controller=True),
            _owner("ipam.cluster.x-k8s.io/v1alpha2", self.identity.kind, self.name, controller=False),
        ]
        metadata: Manifest = {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"{name}-address-uid",
            "finalizers": [PROTECT_ADDRESS],
            "ownerReferences": owners,
            "creationTimestamp": (NOW - timedelta(seconds=age)).isoformat(),
        }
        if deleting:
            metadata["deletionTimestamp"] = NOW.isoformat()
        reference = {"apiGroup": GROUP, "kind": self.identity.kind, "name": self.name}
        spec = {"address": address, "prefix": 24, "claimRef": {"name": name}, "poolRef": reference}
        return IP_ADDRESSES.convert({"metadata": metadata, "spec": spec})

    def _entry(
        self,
        name: str,
        address: str,
        uid: str,
        released: datetime | None = None,
        until: datetime | None = None,
        pool: ReservedPool | None = None,
    ) -> IPAddressReservation:
        owner = pool or self.identity
        spec: Manifest = {
            "address": address,
            "poolRef": {"kind": owner.kind, "name": owner.name, "namespace": owner.namespace},
            "claimRef": {"namespace": NAMESPACE, "name": name, "uid": uid},
        }
        if released is not None and until is not None:
            spec |= {"releasedAt": released.isoformat(), "restsUntil": until.isoformat()}
        named = reservation_name(_number(address), owner.namespace)
        metadata = {"name": named, "uid": f"{named}-uid", "resourceVersion": "7"}
        return IP_ADDRESS_RESERVATIONS.convert({"metadata": metadata, "spec": spec})


def scene(*addresses: str, **spec: Any) -> Scene:
    """A pool with some addresses."""
    return Scene(pool("pool", *addresses, **spec))


def rival(name: str, *addresses: str) -> Rival:
    """Another pool with some of the addresses."""
    return Rival(ReservedPool(kind="InClusterIPPool", name=name, namespace=NAMESPACE), RangeSet.parse(addresses))


def _stored(manifest: Manifest) -> Manifest:
    metadata = {"uid": "pool-uid", "generation": 1, "finalizers": [PROTECT_POOL], **manifest["metadata"]}
    return {**manifest, "metadata": metadata}


def _owner(api_version: str, kind: str, name: str, *, controller: bool) -> Manifest:
    uid = f"{name}-uid"
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": controller,
        "blockOwnerDeletion": True,
    }


def _gone(obj: IPAddressClaim) -> IPAddressClaim:
    content = IP_ADDRESS_CLAIMS.content(obj)
    content["metadata"]["deletionTimestamp"] = NOW.isoformat()
    return IP_ADDRESS_CLAIMS.convert(content)


def _number(address: str) -> int:
    found = number_of(address)
    assert found is not None, address
    return found
