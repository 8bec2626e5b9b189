"""Hosted control planes and their data stores: what of a move is theirs alone. Pure.

Their programs and data stay on the machine that they are on, and are known there by the uid of the object that they
began with. The object at the target has another, and so is told which one to go on with. One machine's programs have
one keeper: so all that the source has move, or none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.controlplane.data_store import DATA_STORES, SQLITE
from nagaya.api.controlplane.hosted_control_plane import DEFAULT_DATA_STORE, HOSTED_CONTROL_PLANES
from nagaya.api.untyped import Untyped
from nagaya.moving.annotations import MOVED_FROM, MOVING
from nagaya.moving.item import Item

_IDENTITIES: Final = {HOSTED_CONTROL_PLANES.kind: "tenantID", DATA_STORES.kind: "storeID"}
_COPY: Final = "copy them with `nagaya tenant backup` and `nagaya tenant restore` instead"


def is_control_plane(item: Item) -> bool:
    """Whether it is a HostedControlPlane."""
    return (item.kind.group, item.kind.kind) == (HOSTED_CONTROL_PLANES.group, HOSTED_CONTROL_PLANES.kind)


def is_data_store(item: Item) -> bool:
    """Whether it is a DataStore."""
    return (item.kind.group, item.kind.kind) == (DATA_STORES.group, DATA_STORES.kind)


def identity(item: Item) -> dict[str, str]:
    """What its specification says at the target of what it goes on with; nothing for what leaves nothing behind."""
    if not is_control_plane(item) and not (is_data_store(item) and _is_kept_here(item)):
        return {}
    field = _IDENTITIES[item.kind.kind]
    return {field: str(item.object.at("spec", field) or item.uid)}


def stores(items: Iterable[Item], planes: Iterable[Item]) -> Iterator[Item]:
    """The DataStores that control planes have their data in, and those that a move has left when it ended early."""
    named = {each.object.at("spec", "dataStoreRef", "name") or DEFAULT_DATA_STORE for each in planes}
    for each in items:
        if is_data_store(each) and (each.metadata.name in named or MOVING in each.metadata.annotations):
            yield each


def same_store(item: Item, there: Untyped) -> bool:
    """Whether a DataStore of the target is the same store, which both reach at its endpoints."""
    return is_data_store(item) and not _is_kept_here(item) and item.object.at("spec") == there.at("spec")


def problems(
    moved: Collection[Item],
    staying: Collection[Item],
    pods: Collection[str],
    there: Collection[Item],
    definitions: Mapping[str, Untyped],
) -> Iterator[str]:
    """What stands in the way. `staying` are control planes that do not move, `pods` the uids of those that are pods,
    `there` is what the target has."""
    planes = [each for each in moved if is_control_plane(each)]
    if planes:
        for each in staying:
            yield (
                f"{each} would stay behind, and runs beside {planes[0]}, kept by the same process: all of them move, "
                "or none. Move all namespaces with -A, or delete it."
            )
    for each in planes:
        if each.uid in pods:
            yield f"{each} runs as pods of the source, which cannot leave it: {_COPY}."
        if PAUSED in each.metadata.annotations:
            yield f"{each} is paused by somebody else, or being restored. Let that end first."
    for each in moved:
        if identity(each) and not _is_known(each, definitions):
            field = _IDENTITIES[each.kind.kind]
            yield (
                f"The target's kinds are older than this command: {each.kind.kind} has no spec.{field} there. Renew "
                "them: `nagaya crds | kubectl apply --server-side -f -`."
            )
        if is_data_store(each):
            yield from _in_the_way(each, there)


def _in_the_way(item: Item, there: Collection[Item]) -> Iterator[str]:
    for each in there:
        if not is_data_store(each) or each.metadata.name != item.metadata.name:
            continue
        if each.metadata.annotations.get(MOVED_FROM) != item.uid and not same_store(item, each.object):
            yield (
                f"The target has another {item}, and control planes cannot change theirs. Delete it there if nobody "
                f"uses it; otherwise {_COPY}."
            )


def _is_kept_here(item: Item) -> bool:
    return bool(item.object.at("spec", "managed")) or item.object.at("spec", "driver") == SQLITE


def _is_known(item: Item, definitions: Mapping[str, Untyped]) -> bool:
    """Whether the target would keep the field: one that it does not know is dropped without a word."""
    definition = definitions.get(f"{item.kind.plural}.{item.kind.group}")
    versions: list[dict[str, Any]] = [] if definition is None else definition.at("spec", "versions") or []
    for each in versions:
        if each.get("name") == item.kind.version:
            schema = Untyped(each).at("schema", "openAPIV3Schema", "properties", "spec", "properties") or {}
            return _IDENTITIES[item.kind.kind] in schema
    return True  # that the kind itself is missing is told elsewhere
