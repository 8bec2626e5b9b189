"""Why a move cannot begin, a sentence each with what to do. Pure.

Whoever moves half-made things loses them: what the source's controllers know and have not written down is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.untyped import Untyped
from nagaya.kube.definitions import missing
from nagaya.moving import hosted
from nagaya.moving.annotations import MOVING
from nagaya.moving.belongings import Belongings
from nagaya.moving.item import CONFIG_MAPS, SECRETS, Item


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
        *(each for item in moved.items for each in _item(item)),
        *(
            f"{owned} belongs to {owner}, which stays behind. Move all namespaces, or give it an owner that moves."
            for owner, owned in moved.left
        ),
        *hosted.problems(moved.items, moved.hosted_left, pods, there, definitions),
    ]


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
        yield f"{item} is being moved to another API already. Finish that with the same command and --to-kubeconfig."
    elif obj.at("spec", "paused") and not to:
        yield f"{item} is paused by somebody else. Let it go on first: spec.paused must not be true."
    begun = obj.at("status", "initialization") or {}
    for field, what in (("infrastructureProvisioned", "infrastructure"), ("controlPlaneInitialized", "control plane")):
        if not begun.get(field):
            yield f"The {what} of {item} is not there yet. Wait for it, or delete the Cluster."


def _item(item: Item) -> Iterator[str]:
    if item.metadata.deleting:
        yield f"{item} is being deleted. Wait until it is gone."
    if item.kind.kind == "Machine" and not item.object.at("status", "nodeRef"):
        yield f"{item} has no Node yet. Wait for it, or delete the Machine."
    annotations = item.metadata.annotations
    paused_alone = item.kind.kind == "ClusterClass" or hosted.is_data_store(item)
    if paused_alone and PAUSED in annotations and MOVING not in annotations:
        yield f"{item} is paused by somebody else. Take the annotation {PAUSED} away first."
