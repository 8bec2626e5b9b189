"""The lock that lets one machine alone start a cluster: a ConfigMap `<cluster>-lock` that names the machine.

It is upstream's lock, in upstream's words, so that both never start a cluster twice. Whoever creates it has it, across
crashes; a machine that is gone has lost it. When the cluster runs it is of no more use and goes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.kind import Kind, Resource
from nagaya.foreign_answers import read_json
from nagaya.kube.client import Client
from nagaya.kube.errors import AlreadyExists, NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

_SUFFIX: Final = "-lock"
_INFORMATION: Final = "lock-information"
_MACHINE: Final = "machineName"
_NONE: Final[Mapping[str, str]] = {}


class LockMap(Resource):
    """A ConfigMap."""

    data: Mapping[str, str] = _NONE


_CONFIG_MAPS: Final = Kind("", "v1", "ConfigMap", "configmaps", LockMap)


class InitLock:
    """The locks of all clusters."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._released: set[str] = set()  # uids of Clusters; a hint that saves a call per machine

    @property
    def _client(self) -> Client:
        return self._rt.client

    async def acquire(self, cluster: Cluster, machine: str) -> str:
        """Take the lock for a machine. Returns the machine that has it, which may be another; empty if it has just
        become free and is to be tried again."""
        try:
            await self._client.create(_CONFIG_MAPS, _content(cluster, machine))
        except AlreadyExists:
            return await self._holder(cluster)
        return machine

    async def release(self, cluster: Cluster, machine: str | None = None) -> None:
        """Let the lock go: whoever has it, or only if `machine` has it. Again: no effect."""
        if machine is None and cluster.metadata.uid in self._released:
            return
        found = await self._find(cluster)
        if found is not None and (machine is None or _named(found) == machine):
            await self._delete(found)
        if machine is None:
            self._released.add(cluster.metadata.uid)

    async def _holder(self, cluster: Cluster) -> str:
        found = await self._find(cluster)
        if found is None:
            return ""
        holder = _named(found)
        if holder and self._rt.cache.get(MACHINES, Key(cluster.metadata.namespace, holder)) is not None:
            return holder
        await self._delete(found)
        return ""

    async def _find(self, cluster: Cluster) -> LockMap | None:
        metadata = cluster.metadata
        try:
            return await self._client.get(_CONFIG_MAPS, metadata.namespace, metadata.name + _SUFFIX)
        except NotFound:
            return None

    async def _delete(self, found: LockMap) -> None:
        metadata = found.metadata
        try:
            await self._client.delete(_CONFIG_MAPS, metadata.namespace, metadata.name, uid=metadata.uid)
        except NotFound:
            return


def _content(cluster: Cluster, machine: str) -> dict[str, Any]:
    metadata = cluster.metadata
    owner = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "name": metadata.name, "uid": metadata.uid}
    return {
        "metadata": {
            "name": metadata.name + _SUFFIX,
            "namespace": metadata.namespace,
            "labels": {labels.CLUSTER_NAME: metadata.name},
            "ownerReferences": [owner],
        },
        "data": {_INFORMATION: json.dumps({_MACHINE: machine})},
    }


def _named(found: LockMap) -> str:
    """The machine that a lock names; empty if it cannot be read, which nobody can hold."""
    try:
        information = read_json(found.data.get(_INFORMATION, ""))
    except ValueError:
        return ""
    name = information.get(_MACHINE) if isinstance(information, dict) else None
    return name if isinstance(name, str) else ""
