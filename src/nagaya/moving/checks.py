"""Why a move cannot begin, a sentence each with what to do. Pure.

Whoever moves half-made things loses them: what the source's controllers know and have not written down is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS
from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.definition import DELETE_FOR_MOVE
from nagaya.api.ipam.global_in_cluster_ip_pool import GLOBAL_IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.untyped import Untyped
from nagaya.kube.definitions import missing
from nagaya.moving import hosted
from nagaya.moving.annotations import MOVED_FROM, MOVING
from nagaya.moving.belongings import Belongings
from nagaya.moving.item import CONFIG_MAPS, SECRETS, Item
from nagaya.moving.records import is_left

_PAUSED_ALONE: Final = frozenset(
    {"ClusterClass", CLUSTER_RESOURCE_SETS.kind, IN_CLUSTER_IP_POOLS.kind, GLOBAL_IN_CLUSTER_IP_POOLS.kind}
)
"""Or controllers of the target would make what is on its way: addresses for claims, records of what clusters got."""


def problems(
    moved: Belongings,
    target: str,
    definitions: Mapping[str, Untyped],
    there: Collection[Item] = (),
    pods: Collection[str] = (),
) -> list[str]:
    """What stands in the way. `target` is the identity of the other API, `definitions` are those that it has, `there`
    is what else it has, and `pods` are the uids of those at the source that own pods."""
    return [
        *_without_kind(moved.items, definitions),
        *(each for cluster in moved.clusters for each in _cluster(cluster, target)),
        *being_deleted(moved.items),
        *(each for item in moved.items for each in _item(item)),
        *(
            f"{owned} belongs to {owner}, which stays behind. Move all namespaces, or give it an owner that moves."
            for owner, owned in moved.left
        ),
        *hosted.problems(moved.items, moved.hosted_left, pods, there, definitions),
        *_taken(moved.items, there),
    ]


def is_same(item: Item, there: Untyped) -> bool:
    """Whether an object of the target, of the same kind and name, came from here, or is something that several clusters
    share and the target has just so already."""
    if there.metadata.annotations.get(MOVED_FROM) == item.uid or hosted.same_store(item, there):
        return True
    fields = ("data", "binaryData", "type", "immutable")
    return item.kind in (SECRETS, CONFIG_MAPS) and all(item.object.at(each) == there.at(each) for each in fields)


def in_the_way(item: Item) -> str:
    """What is said if it is not."""
    return (
        f"The target has another {item} already, which did not come from here. Rename or delete one of the two, and "
        "repeat the command."
    )


def _taken(items: Collection[Item], there: Collection[Item]) -> Iterator[str]:
    names = {(each.kind.group, str(each)): each for each in there}
    for each in items:
        found = names.get((each.kind.group, str(each)))
        if found is not None and not is_same(each, found.object) and not hosted.is_data_store(each):
            yield in_the_way(each)


def is_paused_alone(item: Item) -> bool:
    """Whether no Cluster pauses it: it gets an annotation of its own."""
    return item.kind.kind in _PAUSED_ALONE or hosted.is_data_store(item) or is_left(item)


def _without_kind(items: Collection[Item], definitions: Mapping[str, Untyped]) -> Iterator[str]:
    kinds = dict.fromkeys(each.kind for each in items if each.kind not in (SECRETS, CONFIG_MAPS))
    absent = missing(kinds, definitions)
    if absent:
        yield (
            f"The target does not serve {', '.join(absent)}. Install the same providers there first: "
            "`nagaya crds | kubectl apply --server-side -f -`, or start Nagaya's controllers there with --install-crds."
        )


def _cluster(item: Item, target: str) -> Iterator[str]:
    obj = item.object
    to = item.metadata.annotations.get(MOVING, "")
    if to and to != target:
        yield (
            f"{item} is being moved to another API already. Finish that with the same command and --to-kubeconfig; if "
            f"it was given up, take the annotation {MOVING} away."
        )
    begun = obj.at("status", "initialization") or {}
    for field, what in (("infrastructureProvisioned", "infrastructure"), ("controlPlaneInitialized", "control plane")):
        if not begun.get(field):
            asked = f"nagaya why cluster/{item.metadata.name} -n {item.metadata.namespace}"
            yield f"The {what} of {item} is not there yet. Wait for it; `{asked}` says what it waits for."


def being_deleted(items: Collection[Item]) -> Iterator[str]:
    """Those that somebody has deleted, and not a move that ended early."""
    for item in items:
        if item.metadata.deleting and DELETE_FOR_MOVE not in item.metadata.annotations:
            yield (
                f"{item} is being deleted. Wait until it is gone; of a paused Cluster nothing goes, so set its "
                "spec.paused back to false meanwhile."
            )


def _item(item: Item) -> Iterator[str]:
    if item.kind.kind == "Machine" and not item.object.at("status", "nodeRef"):
        yield f"{item} has no Node yet. Wait for it. If it was never part of the cluster, delete the Machine."
    annotations = item.metadata.annotations
    if is_paused_alone(item) and PAUSED in annotations and MOVING not in annotations:
        yield f"{item} is paused by somebody else. Take the annotation {PAUSED} away first."
