"""Everything at a management API that a move may concern, read at one time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.kubernetes.kinds import DEPLOYMENTS
from nagaya.controlplane.hosted.kubernetes.names import CONTROL_PLANE
from nagaya.kube.client import Client
from nagaya.kube.definitions import DEFINITIONS
from nagaya.moving.item import CONFIG_MAPS, SECRETS, Item, MovableKind, movable_kinds


@dataclass(frozen=True, slots=True)
class Inventory:
    """One API."""

    definitions: Mapping[str, Untyped]
    items: tuple[Item, ...]


async def owners_of_pods(client: Client) -> frozenset[str]:
    """The uids of the HostedControlPlanes whose programs are pods of this API."""
    found = (await client.list(DEPLOYMENTS, labels=CONTROL_PLANE)).items
    return frozenset(owner.uid for each in found for owner in each.metadata.owner_references)


async def inventory(client: Client) -> Inventory:
    """All of it. Raises what the client does: who may not read everything cannot move anything."""
    definitions = {each.metadata.name: each for each in (await client.list(DEFINITIONS)).items}
    kinds = [*movable_kinds(definitions), MovableKind(SECRETS), MovableKind(CONFIG_MAPS)]
    listed = await asyncio.gather(*(client.list(each.kind) for each in kinds))
    items = [Item(kind, obj) for kind, found in zip(kinds, listed, strict=True) for obj in found.items]
    return Inventory(definitions, tuple(sorted(items, key=str)))
