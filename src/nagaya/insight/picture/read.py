"""A picture by asking once: one list for each kind, all at the same time, by the label of the Cluster.

What has no label yet and is named by something is found in a second round, by one list for each kind concerned. What
may not be read is left out and said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import ObjectMeta
from nagaya.api.untyped import Untyped
from nagaya.insight.picture.belonging import Gathered, pictured
from nagaya.insight.picture.discovery import discovered
from nagaya.insight.picture.event import EVENTS
from nagaya.insight.picture.kinds import DEFINITIONS, Found, Kinds
from nagaya.insight.picture.member import Member, member
from nagaya.insight.picture.picture import Picture
from nagaya.kube.client import Client
from nagaya.kube.errors import Forbidden, NotFound

AT_ONCE: Final = 6
"""Lists that are asked for at the same time: each needs a connection, and making one takes longer than an answer."""
ROUNDS: Final = 3
"""References lead from a claim to its pool, no further."""

_NAMED_ALIKE: Final = ("ClusterResourceSetBinding",)
"""Kinds whose objects have the name of their Cluster instead of its label."""


class SecretName(Resource):
    """A Secret of which only the metadata is kept."""


SECRET_NAMES: Final = Kind("", "v1", "Secret", "secrets", SecretName)


async def read_kinds(client: Client) -> Kinds:
    """Which kinds there are. Raises what the client does."""
    try:
        return Kinds((await client.list(DEFINITIONS)).items)
    except Forbidden:
        return Kinds(await discovered(client))


async def read_cluster(client: Client, kinds: Kinds, namespace: str, name: str) -> Member:
    """One Cluster. Raises NotFound, also if the API does not know the kind."""
    found = kinds.get("cluster.x-k8s.io", "Cluster")
    assert found is not None, "whoever reads a Cluster has seen that the kind exists"
    return member(await client.get(found.kind, namespace, name), found.contract)


async def read_picture(client: Client, kinds: Kinds, cluster: Member, *, events: bool = False) -> Picture:
    """All objects of a Cluster. Raises what the client does, except for what may not be read."""
    (picture,) = await _pictures(_Reader(client, cluster.namespace, cluster.name), kinds, [cluster], events)
    return picture


async def read_pictures(client: Client, kinds: Kinds, namespace: str = "", *, events: bool = False) -> list[Picture]:
    """All Clusters of a namespace, or of all of them, by as many requests as one of them takes."""
    clusters = await read_clusters(client, kinds, namespace)
    return await _pictures(_Reader(client, namespace), kinds, clusters, events) if clusters else []


async def _pictures(reader: _Reader, kinds: Kinds, clusters: Sequence[Member], events: bool) -> list[Picture]:
    await asyncio.gather(
        *(reader.objects(each) for each in kinds.owned() if each.kind.kind != "Cluster"),
        reader.secrets(),
        *([reader.events()] if events else []),
    )
    whole: set[Kind[Untyped]] = set()
    for _ in range(ROUNDS):
        pictures = [pictured(each, reader.gathered()) for each in clusters]
        missing = [each.reference for picture in pictures for each in picture.missing]
        wanted = [kinds.get(each.group, each.kind) for each in missing]
        needed = {each.kind: each for each in wanted if each is not None and each.kind not in whole}
        if not needed:
            return pictures
        whole.update(needed)
        await asyncio.gather(*(reader.objects(each, whole=True) for each in needed.values()))
    return [pictured(each, reader.gathered()) for each in clusters]


async def read_clusters(client: Client, kinds: Kinds, namespace: str = "") -> list[Member]:
    """All Clusters of a namespace, or of all of them, by namespace and name."""
    found = kinds.get("cluster.x-k8s.io", "Cluster")
    assert found is not None, "whoever reads Clusters has seen that the kind exists"
    listed = (await client.list(found.kind, namespace)).items
    return sorted((member(each, found.contract) for each in listed), key=lambda each: (each.namespace, each.name))


class _Reader:
    """What has been read so far."""

    def __init__(self, client: Client, namespace: str, name: str = "") -> None:
        """What belongs to the Cluster of a name; without one all that there is in the namespace, or anywhere."""
        self._client = client
        self._namespace = namespace
        self._name = name
        self._label = f"{CLUSTER_NAME}={name}" if name else ""
        self._objects: dict[str, tuple[Untyped, str]] = {}
        self._secrets: list[ObjectMeta] = []
        self._events: list[Untyped] = []
        self._unread: list[str] = []
        self._forbidden: dict[str, str] = {}
        self._hidden: set[tuple[str, str]] = set()
        self._turns = asyncio.Semaphore(AT_ONCE)

    def gathered(self) -> Gathered:
        """All of it."""
        return Gathered(
            tuple(self._objects.values()),
            tuple(self._secrets),
            tuple(self._events),
            tuple(self._told()),
            frozenset(self._hidden),
        )

    def _told(self) -> Iterator[str]:
        """What could not be read; what may not be is one sentence, with what the server said of the first."""
        yield from sorted(set(self._unread))
        if self._forbidden:
            first = next(iter(self._forbidden.values()))
            yield f"{', '.join(sorted(self._forbidden))} cannot be listed: {first}"

    async def objects(self, found: Found, *, whole: bool = False) -> None:
        """Those of a kind, `whole` also without the label."""
        labels, fields = "" if whole else self._label, ""
        if self._name and found.kind.kind in _NAMED_ALIKE:
            labels, fields = "", f"metadata.name={self._name}"
        for each in await self._list(found.kind, self._namespace, labels, fields):
            self._objects[each.metadata.uid] = (each, found.contract)

    async def secrets(self) -> None:
        """The names of Secrets."""
        try:
            listed = await self._client.list(SECRET_NAMES, self._namespace, labels=self._label or CLUSTER_NAME)
        except Forbidden as error:
            self._forbidden[str(SECRET_NAMES)] = error.message
            return
        self._secrets += [each.metadata for each in listed.items]

    async def events(self) -> None:
        """What was told lately. Of objects in no namespace it is told in `default`."""
        for namespace in dict.fromkeys((self._namespace, "default" if self._namespace else "")):
            self._events += await self._list(EVENTS, namespace)

    async def _list(self, kind: Kind[Untyped], namespace: str, labels: str = "", fields: str = "") -> Iterable[Untyped]:
        place = namespace if kind.namespaced else ""
        try:
            async with self._turns:
                return (await self._client.list(kind, place, labels=labels, fields=fields)).items
        except Forbidden as error:
            self._forbidden[str(kind)] = error.message
            self._hidden.add((kind.group, kind.kind))
        except NotFound:
            self._unread.append(f"{kind} cannot be listed: the API serves it no longer")
        return ()
