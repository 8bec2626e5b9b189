"""Carries out a planned restore. Whatever ends it early, the same again goes on from there.

The order is what keeps a control plane from running on half of its data: it is paused, with its programs stopped, from
before the first key is touched until after the last object is made. Its annotation says so, and from which archive.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.secrets import TYPE, Purpose, secret_name
from nagaya.api.controlplane.data_store import DATA_STORES, ETCD, DataStore
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.api.controlplane.hosted_status import STOPPED
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.archive.backup import Moved, back_up
from nagaya.controlplane.hosted.archive.errors import ArchiveError
from nagaya.controlplane.hosted.archive.found import (
    RAW_CLUSTERS,
    RAW_PLANES,
    RAW_SECRETS,
    Found,
    Mark,
    mark_of,
    maybe,
)
from nagaya.controlplane.hosted.archive.objects import RESTORING
from nagaya.controlplane.hosted.archive.plan import Plan, Way
from nagaya.controlplane.hosted.archive.reader import Archive, Contents
from nagaya.controlplane.hosted.archive.waiting import until
from nagaya.controlplane.hosted.data_store.driver import Driver
from nagaya.controlplane.hosted.data_store.errors import StoreError
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError
from nagaya.kube.patches import Merge, difference
from nagaya.kube.transport import NoAnswer
from nagaya.world import World

PATIENCE: Final = 180.0
"""Seconds for which somebody else's part is waited for: that programs end, that a data store begins."""

Open = Callable[[DataStore], Awaitable[Driver]]
Kept = Callable[[str], Mapping[str, bytes]]


@dataclass(frozen=True, slots=True)
class Restorer:
    """One restore."""

    client: Client
    archive: Archive
    contents: Contents
    world: World
    open: Open
    """The store of a DataStore, from here. Raises StoreOutOfReach."""
    kept: Kept
    """Credentials of a tenant, by its identity, that its controller has and goes on to use; empty if there are none."""
    tell: Callable[[str], None]
    moved: Moved
    patience: float = PATIENCE

    async def run(self, planned: Plan, found: Found) -> HostedControlPlane:
        """Restore. Raises ArchiveError, and ApiError or NoAnswer if the management API refuses."""
        await self._expect_accepted(planned, found)
        driver = None
        if found.data_store is not None and found.data_store.status.ready:
            driver = await self.open(found.data_store)
        elif planned.control_plane is None:
            driver = await self._driver(planned)  # before anything is stopped
        plane = await self._hold(planned, found, driver)
        try:
            if driver is None:
                driver = await self._driver(planned)
            await self._put_data(driver, HOSTED_CONTROL_PLANES.convert(plane.raw).tenant_id)
            await self._put_objects(planned, found)
            return await self._let_go(planned, plane)
        except (ArchiveError, StoreError, ApiError, NoAnswer) as error:
            raise ArchiveError(
                f"{str(error).rstrip('.')}. HostedControlPlane {plane.metadata.namespace}/{plane.metadata.name} stays "
                "stopped and paused, because its data is not whole. Run the same command again to go on."
            ) from error

    async def _expect_accepted(self, planned: Plan, found: Found) -> None:
        """Ask the management API about all objects before the first one is made. Raises ApiError."""
        absent = [content for name, content in planned.secrets.items() if name not in found.secrets]
        for kind, content in (
            (RAW_PLANES, planned.control_plane),
            (RAW_CLUSTERS, planned.cluster),
            *((RAW_SECRETS, each) for each in absent),
        ):
            if content is not None:
                await self.client.create(kind, content, dry_run=True)

    async def _hold(self, planned: Plan, found: Found, driver: Driver | None) -> Untyped:
        """Have the control plane there, with no program running and nobody who starts one."""
        mark = msgspec.json.encode(Mark(self.contents.digest, planned.replicas)).decode()
        if planned.control_plane is not None:
            content = planned.control_plane
            metadata = content["metadata"]
            annotations = {**metadata.get("annotations", {}), PAUSED: "true", RESTORING: mark}
            self.tell(f"Making HostedControlPlane {metadata['namespace']}/{metadata['name']}, paused.")
            return await self.client.create(
                RAW_PLANES, {**content, "metadata": {**metadata, "annotations": annotations}}
            )
        plane = found.control_plane
        assert plane is not None  # the plan would make it otherwise
        assert driver is not None  # it was opened for what is to be stopped
        if mark_of(plane) is not None and PAUSED in plane.metadata.annotations:
            return await self._patch(plane, {"metadata": {"annotations": {RESTORING: mark}}})
        plane = await self._patch(plane, {"metadata": {"annotations": {RESTORING: mark}}, "spec": {"replicas": 0}})
        try:
            return await self._stop(plane, found, driver)
        except (ArchiveError, StoreError, ApiError, NoAnswer) as error:
            raise ArchiveError(
                f"{str(error).rstrip('.')}. Its data is as it was. Run the same command again to go on; or, to leave "
                f"it, remove the annotation {RESTORING} of HostedControlPlane {plane.metadata.namespace}/"
                f"{plane.metadata.name} and set its spec.replicas to {planned.replicas}."
            ) from error

    async def _stop(self, plane: Untyped, found: Found, driver: Driver) -> Untyped:
        self.tell("Stopping its programs.")
        plane = await self._stopped(plane)
        await self._set_aside(found, driver)
        return await self._patch(plane, {"metadata": {"annotations": {PAUSED: "true"}}})

    async def _stopped(self, plane: Untyped) -> Untyped:
        metadata = plane.metadata
        await until(
            self.client,
            HOSTED_CONTROL_PLANES,
            metadata.namespace,
            metadata.name,
            lambda each: is_stopped(each, metadata.generation),
            self.patience,
            f"Stopping the programs of HostedControlPlane {metadata.namespace}/{metadata.name} (are Nagaya's "
            "controllers running?)",
        )
        return await self.client.get(RAW_PLANES, metadata.namespace, metadata.name)

    async def _set_aside(self, found: Found, driver: Driver) -> None:
        """Copy what is there now: a restore is undone by restoring that."""
        moment = self.world.clock.now().strftime("%Y%m%dT%H%M%SZ")
        path = self.archive.path.with_name(f"{found.names.cluster}-before-restore-{moment}.tenant")
        made = await back_up(found, driver, Path(path), self.world, moved=self.moved)
        self.tell(f"What it has now ({made.contents.keys} keys) is in {path}.")

    async def _driver(self, planned: Plan) -> Driver:
        name = planned.data_store
        if await maybe(self.client, DATA_STORES, "", name) is None:
            self.tell(f"Making DataStore {name}.")
            await self.client.create(
                DATA_STORES, {"metadata": {"name": name}, "spec": {"driver": ETCD, "managed": True}}
            )
        store = await until(
            self.client,
            DATA_STORES,
            "",
            name,
            lambda each: bool(each.status.ready),
            self.patience,
            f"Waiting for DataStore {name} to be ready (see: kubectl get datastore {name} -o yaml)",
        )
        return await self.open(store)

    async def _put_data(self, driver: Driver, uid: str) -> None:
        tenant = Tenant(uid)
        self.tell(f"Restoring {self.contents.keys} keys.")
        await driver.deprovision(tenant)
        await driver.provision(tenant, await asyncio.to_thread(self.kept, uid))
        written = await driver.restore(tenant, self._data())
        if written != self.contents.keys:
            raise ArchiveError(f"{written} of {self.contents.keys} keys were restored: the file has changed meanwhile.")

    async def _data(self) -> AsyncIterator[bytes]:
        done = 0
        async for piece in self.archive.data():
            yield piece
            done += len(piece)
            self.moved(done)

    async def _put_objects(self, planned: Plan, found: Found) -> None:
        namespace = planned.names.namespace
        for name, content in planned.secrets.items():
            present = found.secrets.get(name)
            if present is None:
                await self.client.create(RAW_SECRETS, content)
                continue
            change = difference(present.raw.get("data") or {}, content.get("data") or {})
            patch = Merge({"data": change}, present.metadata.resource_version)
            await self.client.patch(RAW_SECRETS, namespace, name, patch)
        if secret_name(planned.names.cluster, Purpose.CLUSTER_AUTHORITY) in planned.secrets:
            await self._forget_kubeconfig(namespace, planned.names.cluster)
        if planned.cluster is not None:
            await self.client.create(RAW_CLUSTERS, planned.cluster)

    async def _forget_kubeconfig(self, namespace: str, cluster: str) -> None:
        """One that controllers made of another authority is of no use, and they make it anew."""
        secret = await maybe(self.client, RAW_SECRETS, namespace, secret_name(cluster, Purpose.KUBECONFIG))
        if secret is not None and secret.raw.get("type") == TYPE:
            await self.client.delete(RAW_SECRETS, namespace, secret.metadata.name, uid=secret.metadata.uid)

    async def _let_go(self, planned: Plan, plane: Untyped) -> HostedControlPlane:
        content: dict[str, Any] = {"metadata": {"annotations": {PAUSED: None, RESTORING: None}}}
        if planned.way is not Way.MAKE:
            content["spec"] = {"replicas": planned.replicas}
        changed = await self._patch(plane, content)
        return HOSTED_CONTROL_PLANES.convert(changed.raw)

    async def _patch(self, plane: Untyped, content: dict[str, Any]) -> Untyped:
        """Change this very control plane. Its controller tells its status all the time, which is no obstacle."""
        metadata = plane.metadata
        patch = Merge({**content, "metadata": {**content["metadata"], "uid": metadata.uid}})
        return await self.client.patch(RAW_PLANES, metadata.namespace, metadata.name, patch)


def is_stopped(plane: HostedControlPlane, generation: int) -> bool:
    """Whether no program of a control plane runs any more, as its controller says since it shall be so."""
    status = plane.status
    return (
        (status.observed_generation or 0) >= generation
        and not status.replicas
        and all(each.state == STOPPED for each in status.components)
    )


async def read_whole(path: Path) -> tuple[Archive, Contents]:
    """An archive, found whole. Raises ArchiveError, which names the file."""
    archive = await asyncio.to_thread(Archive, path)
    try:
        return archive, await archive.contents()
    except ArchiveError as error:
        archive.close()
        raise type(error)(f"{path}: {error}") from error
