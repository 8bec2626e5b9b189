"""A management cluster with Nagaya's controllers in Kubernetes mode, and the words of the kubelets that it lacks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.archive.found import RAW_CLUSTERS, RAW_PLANES, maybe
from nagaya.controlplane.hosted.data_store.managed_etcd import ManagedEtcd
from nagaya.controlplane.hosted.kubernetes import kinds
from nagaya.kube.client import Client
from nagaya.kube.patches import Merge

PATIENCE = 120.0


@dataclass
class Management:
    """A management cluster with Nagaya's controllers in Kubernetes mode."""

    client: Client
    namespace: str
    etcd: ManagedEtcd

    async def make(self, name: str, **spec: Any) -> None:
        reference = {"apiGroup": RAW_PLANES.group, "kind": RAW_PLANES.kind, "name": name}
        metadata = {"name": name, "namespace": self.namespace}
        await self.client.create(RAW_CLUSTERS, {"metadata": metadata, "spec": {"controlPlaneRef": reference}})
        given = {"version": "v1.36.3", "replicas": 2, "dataStoreRef": {"name": self.namespace}, **spec}
        await self.client.create(RAW_PLANES, {"metadata": metadata, "spec": given})

    async def plane(self, name: str) -> HostedControlPlane:
        return await self.client.get(HOSTED_CONTROL_PLANES, self.namespace, name)

    async def until(
        self, name: str, holds: Callable[[HostedControlPlane], bool], seconds: float = PATIENCE
    ) -> HostedControlPlane:
        async def look() -> HostedControlPlane | None:
            plane = await self.plane(name)
            return plane if holds(plane) else None

        found: HostedControlPlane = await eventually(look, seconds)
        return found

    async def said(self, name: str, type: str, words: str) -> HostedControlPlane:
        try:
            return await self.until(name, lambda plane: words in told(plane, type))
        except TimeoutError:
            raise AssertionError(told(await self.plane(name), type)) from None

    async def deployment(self, name: str, part: str) -> Untyped:
        return await self.client.get(kinds.DEPLOYMENTS, self.namespace, f"{name}-{part}")

    async def version(self, name: str, part: str) -> str:
        found = await self.deployment(name, part)
        return str(found.at("spec", "template", "metadata", "labels", "app.kubernetes.io/version"))

    async def has_version(self, name: str, part: str, version: str) -> None:
        async def check() -> bool:
            return await self.version(name, part) == version

        await eventually(check)

    async def play_kubelets(self, name: str, part: str, *, updated: int | None = None) -> None:
        """Say that the pods of a Deployment are there; so many of them as it wants them now."""
        where = (kinds.DEPLOYMENTS, self.namespace, f"{name}-{part}")
        found: Untyped = await eventually(lambda: maybe(self.client, *where))
        replicas = found.at("spec", "replicas")
        status = {
            "observedGeneration": found.metadata.generation,
            "replicas": replicas,
            "updatedReplicas": replicas if updated is None else updated,
            "readyReplicas": replicas,
            "availableReplicas": replicas,
        }
        patch = Merge({"status": status})
        await self.client.patch(kinds.DEPLOYMENTS, self.namespace, found.metadata.name, patch, subresource="status")

    async def objects(self, name: str) -> dict[str, Untyped]:
        selector = f"hosted.nagaya.dev/control-plane={name}"
        return {
            f"{kind.kind}/{each.metadata.name}": each
            for kind in kinds.ALL
            for each in (await self.client.list(kind, self.namespace, labels=selector)).items
        }


async def eventually(check: Callable[[], Awaitable[Any]], seconds: float = PATIENCE) -> Any:
    """What a check says, once it says something."""
    async with asyncio.timeout(seconds):
        while True:
            if found := await check():
                return found
            await asyncio.sleep(0.05)


def told(plane: HostedControlPlane, type: str) -> str:
    found = next((each for each in plane.status.conditions if each.type == type), None)
    return "" if found is None else f"{found.status} {found.reason} {found.message}"
