"""All objects of Cluster API's kinds, of one namespace or of all: one list for each kind."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.kind import Kind, Object
from nagaya.insight.picture.kinds import Found, Kinds
from nagaya.insight.picture.member import Member, member
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError

AT_ONCE: Final = 6
T = TypeVar("T", bound=Object)


@dataclass(slots=True)
class Objects:
    """What was read."""

    members: list[Member] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """What could not be, a sentence each."""

    def of_kind(self, kind: str) -> list[Member]:
        """Those of a kind, by namespace and name."""
        found = [each for each in self.members if each.kind == kind]
        return sorted(found, key=lambda each: (each.namespace, each.name))

    def of_cluster(self, cluster: Member) -> list[Member]:
        """The Cluster and what bears its label."""
        return [
            each
            for each in self.members
            if each is cluster
            or (each.namespace in (cluster.namespace, "") and each.metadata.labels.get(CLUSTER_NAME) == cluster.name)
        ]

    def named(self, kind: str, namespace: str, name: str) -> Member | None:
        """One of them."""
        return next((each for each in self.of_kind(kind) if (each.namespace, each.name) == (namespace, name)), None)


async def read_objects(client: Client, kinds: Kinds, namespace: str = "") -> Objects:
    """Read. Raises NoAnswer; what may not be read is told."""
    found, turns = Objects(), asyncio.Semaphore(AT_ONCE)

    async def one(each: Found) -> None:
        try:
            async with turns:
                listed = (await client.list(each.kind, namespace if each.kind.namespaced else "")).items
        except ApiError as error:
            found.unread.append(f"{each.kind} cannot be listed: {error}")
            return
        found.members += [member(obj, each.contract) for obj in listed]

    await asyncio.gather(*(one(each) for each in kinds))
    found.unread.sort()
    return found


def typed(kind: Kind[T], found: Member) -> T | None:
    """An object as its type has it; None for one that is not as that: it was written by another version."""
    try:
        return kind.convert(found.object.raw)
    except msgspec.ValidationError:
        return None
