"""What belongs to a move, and who owns what: by owner references, and by names where nobody wrote a reference. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.infrastructure.proxmox.connection.grant import is_granted
from nagaya.moving.hosted import is_control_plane, stores
from nagaya.moving.item import CONFIG_MAPS, SECRETS, Item
from nagaya.moving.references import named, namespaces

_CLUSTER_SECRETS: Final = ("ca", "etcd", "proxy", "sa", "kubeconfig")
"""Secrets of a Cluster are called after it, with one of these behind: users may have made them without an owner."""
_CLAIM: Final = "IPAddressClaim"
_CALLED_ALIKE: Final = "ClusterResourceSetBinding"
"""A kind whose objects have the name of their Cluster."""


@dataclass(frozen=True, slots=True)
class Belongings:
    """What moves."""

    items: tuple[Item, ...]
    owners: Mapping[str, frozenset[str]]
    """The uids of an item's owners that move too, by its own uid."""
    left: tuple[tuple[Item, Item], ...] = ()
    """Owners that stay behind, each with what they own and what moves: that would be theirs no longer."""
    hosted_left: tuple[Item, ...] = ()
    """HostedControlPlanes that stay behind."""

    @property
    def clusters(self) -> tuple[Item, ...]:
        """The Clusters among them."""
        return tuple(each for each in self.items if each.is_cluster)

    @property
    def hosted(self) -> tuple[Item, ...]:
        """The HostedControlPlanes among them."""
        return tuple(each for each in self.items if is_control_plane(each))


def belongings(items: Iterable[Item], namespace: str = "") -> Belongings:
    """What moves of all that there is: that of a namespace, or everything.

    Objects without a namespace move with one if they are about no other, and own nothing elsewhere.
    """
    there = {each.uid: each for each in items}
    owners = {uid: frozenset(_owners(each, there)) for uid, each in there.items()}
    owned: defaultdict[str, set[str]] = defaultdict(set)
    for uid, whose in owners.items():
        for owner in whose:
            owned[owner].add(uid)
    chosen = {
        uid
        for uid, each in there.items()
        if (each.takes_along or each.moves_alone)
        and (not namespace or _is_of(each, namespace, [there[one] for one in owned[uid]]))
    }
    waiting = [uid for uid in chosen if there[uid].takes_along]
    while waiting:
        for uid in owned[waiting.pop()] - chosen:
            chosen.add(uid)
            waiting.append(uid)
    hosted = [each for each in there.values() if is_control_plane(each)]
    chosen |= {each.uid for each in stores(there.values(), [each for each in hosted if each.uid in chosen])}
    chosen |= set(_named(there, chosen, namespace))
    moved = tuple(each for uid, each in there.items() if uid in chosen)
    left = tuple((there[owner], each) for each in moved for owner in sorted(owners[each.uid] - chosen))
    hosted_left = tuple(each for each in hosted if each.uid not in chosen)
    return Belongings(moved, {each.uid: owners[each.uid] & chosen for each in moved}, left, hosted_left)


def _is_of(item: Item, namespace: str, owned: Iterable[Item]) -> bool:
    if item.metadata.namespace:
        return item.metadata.namespace == namespace
    elsewhere = {each.metadata.namespace for each in owned} - {"", namespace}
    return not elsewhere and namespaces(item.object) <= {namespace}


def _owners(item: Item, there: Mapping[str, Item]) -> Iterator[str]:
    """Those that the item names, or else those that it is called after."""
    references = [
        each.uid
        for each in item.metadata.owner_references
        if each.uid in there and there[each.uid].metadata.namespace in ("", item.metadata.namespace)
    ]
    yield from references
    if references or item.is_cluster:
        return
    if item.kind.kind == _CLAIM:
        yield from (uid for uid, each in there.items() if _is_claimed_from(item, each))
        return
    for uid, each in there.items():
        if each.is_cluster and each.metadata.namespace == item.metadata.namespace and _is_called_after(item, each):
            yield uid


def _is_claimed_from(claim: Item, pool: Item) -> bool:
    """Whether a claim that somebody made by hand is for an address of this pool."""
    wanted = claim.object.at("spec", "poolRef") or {}
    meant = (wanted.get("kind"), wanted.get("name")) == (pool.kind.kind, pool.metadata.name)
    return meant and pool.metadata.namespace in ("", claim.metadata.namespace)


def _is_called_after(item: Item, cluster: Item) -> bool:
    name, whose = item.metadata.name, cluster.metadata.name
    if item.kind is SECRETS or item.kind is CONFIG_MAPS:
        return item.metadata.labels.get(CLUSTER_NAME) == whose or name in (f"{whose}-{end}" for end in _CLUSTER_SECRETS)
    return item.kind.kind == _CALLED_ALIKE and name == whose


def _named(there: Mapping[str, Item], chosen: set[str], namespace: str) -> Iterator[str]:
    """Secrets and ConfigMaps that something of the move names. To name one of another namespace is not enough to have
    it taken away from there: it must be a Secret that allows its use, and everything must move."""
    by_name = {
        (each.kind.kind, each.metadata.namespace, each.metadata.name): uid
        for uid, each in there.items()
        if each.kind in (SECRETS, CONFIG_MAPS)
    }
    for uid in sorted(chosen):
        home = there[uid].metadata.namespace
        for reference in named(there[uid].object):
            found = by_name.get((reference.kind, reference.namespace, reference.name))
            if found is None:
                continue
            if home in ("", reference.namespace) or (not namespace and is_granted(there[found].object, home)):
                yield found
