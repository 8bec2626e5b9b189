"""What `clusterctl move` (v1.14) does to two management APIs, call by call, so that it can be played on virtual time
and interrupted. `tests/real/test_clusterctl_move.py` compares it with the real one.

Objects without a namespace are made at the target if they are not there, and never taken away at the source.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nagaya.api.definition import DELETE_FOR_MOVE
from nagaya.kube.client import Client
from nagaya.kube.errors import AlreadyExists, NotFound
from nagaya.kube.patches import JsonPatch, Merge
from nagaya.moving.inventory import inventory
from nagaya.moving.item import Item

_SOFT = ("kubeconfig", "ca", "etcd", "sa", "proxy", "apiserver-etcd-client")
NAMESPACE_KIND = "Namespace"


class Interrupted(Exception):
    """It was told to stop before a step."""


@dataclass(slots=True)
class Clusterctl:
    """Somebody who types `clusterctl move`."""

    source: Client
    target: Client
    namespace: str = "default"
    pause: float = 0.0
    """Seconds between making all and taking it away, and again until clusters go on."""

    async def move(self, stop_before: str = "") -> None:
        """`stop_before` is `create`, `delete` or `resume`."""
        here = [
            each
            for each in (await inventory(self.source)).items
            if each.metadata.namespace in ("", self.namespace)
        ]  # fmt: skip
        groups = _groups(here)
        clusters = [each for each in here if each.is_cluster]
        for each in clusters:
            await self._patch(self.source, each, {"spec": {"paused": True}})
        self._stop("create", stop_before)
        uids: dict[str, str] = {}
        for group in groups:
            for each in group:
                uids[each.uid] = await self._create(each, uids)
        await asyncio.sleep(self.pause)
        self._stop("delete", stop_before)
        for group in reversed(groups):
            for each in group:
                if each.kind.namespaced:
                    await self._delete(each)
        await asyncio.sleep(self.pause)
        self._stop("resume", stop_before)
        for each in clusters:
            await self._patch(self.target, each, {"spec": {"paused": None}})

    def _stop(self, step: str, stop_before: str) -> None:
        if step == stop_before:
            raise Interrupted

    async def _patch(self, client: Client, item: Item, content: dict[str, Any]) -> None:
        await client.patch(item.kind, item.metadata.namespace, item.metadata.name, Merge(content))

    async def _create(self, item: Item, uids: dict[str, str]) -> str:
        there = await self.source.get(item.kind, item.metadata.namespace, item.metadata.name)
        metadata = {name: value for name, value in there.raw["metadata"].items() if name != "resourceVersion"}
        metadata["ownerReferences"] = [
            {**each, "uid": uids[each["uid"]]} for each in metadata.get("ownerReferences", ()) if each["uid"] in uids
        ]
        managed = metadata.pop("managedFields", [])
        try:
            made = await self.target.create(item.kind, {**there.raw, "metadata": metadata})
        except AlreadyExists:
            return (await self.target.get(item.kind, item.metadata.namespace, item.metadata.name)).metadata.uid
        await self._patch(self.target, item, {"metadata": {"managedFields": managed}})
        return made.metadata.uid

    async def _delete(self, item: Item) -> None:
        place, name = item.metadata.namespace, item.metadata.name
        annotated = JsonPatch([{"op": "add", "path": "/metadata/annotations", "value": {DELETE_FOR_MOVE: ""}}])
        try:
            await self.source.patch(item.kind, place, name, annotated)
            await self.source.delete(item.kind, place, name)
            await self._patch(self.source, item, {"metadata": {"finalizers": []}})
        except NotFound:
            return


def _groups(items: Iterable[Item]) -> list[list[Item]]:
    """What moves, owners first."""
    there = {each.uid: each for each in items}
    clusters = {each.metadata.name: each.uid for each in there.values() if each.is_cluster}
    owners = {
        uid: {one.uid for one in each.metadata.owner_references if one.uid in there} or _soft(each, clusters)
        for uid, each in there.items()
    }
    moved = {uid for uid, each in there.items() if each.moves_alone or each.takes_along}
    owned: defaultdict[str, set[str]] = defaultdict(set)
    for uid, whose in owners.items():
        for owner in whose:
            owned[owner].add(uid)
    waiting = [uid for uid in moved if there[uid].takes_along]
    while waiting:
        new = owned[waiting.pop()] - moved
        moved |= new
        waiting += new
    done: set[str] = set()
    groups: list[list[Item]] = []
    while group := [uid for uid in there if uid in moved - done and owners[uid] & moved <= done]:
        groups.append([there[uid] for uid in group])
        done |= {*group}
    return groups


def _soft(item: Item, clusters: dict[str, str]) -> set[str]:
    if item.kind.kind == "ClusterResourceSetBinding":
        return {clusters[item.metadata.name]} & {*clusters.values()} if item.metadata.name in clusters else set()
    cluster, _, purpose = item.metadata.name.rpartition("-")
    known = item.kind.kind == "Secret" and purpose in _SOFT and cluster in clusters
    return {clusters[cluster]} if known else set()
