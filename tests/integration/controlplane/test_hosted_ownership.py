"""Tenants and stores that somebody only says are its own: nothing of them is used, started, changed or deleted.

On the embedded API with the real controllers and a folder of its own. No program has to run for any of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.controlplane.data_store import DATA_STORES
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.api.kind import Kind, Object
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import Plane
from nagaya.controlplane.hosted.archive.found import maybe
from nagaya.controlplane.hosted.control_plane.names import ABANDON_DATA
from nagaya.controlplane.hosted.host import ownership
from nagaya.controlplane.hosted.host.ownership import Owner
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.pods.settings import PodSettings
from nagaya.kube.client import Client
from nagaya.kube.http import HttpTransport
from nagaya.kube.patches import Merge
from nagaya.world import World
from support.management import eventually
from support.prepared import start_prepared

T = TypeVar("T", bound=Object)
TENANT = "355ba8b8-c8fd-40d6-92d6-8e90aaaf6302"
NOWHERE = "9f1c2d3e-0000-4000-8000-000000000002"


@dataclass
class Here:
    """A management API, its controllers, and their folder."""

    client: Client
    settings: HostSettings

    async def plane(self, name: str, tenant: str) -> None:
        """Declare a control plane that claims a tenant."""
        spec = {"version": "v1.36.3", "tenantID": tenant}
        metadata = {"name": name, "namespace": "default"}
        await self.client.create(HOSTED_CONTROL_PLANES, {"metadata": metadata, "spec": spec})

    async def store(self, name: str, **spec: Any) -> None:
        """Declare a store of files."""
        await self.client.create(DATA_STORES, {"metadata": {"name": name}, "spec": {"driver": "SQLite", **spec}})

    async def annotate(self, kind: Kind[T], namespace: str, name: str, annotation: str, value: str | None) -> None:
        """Give an annotation, or take it away."""
        await self.client.patch(kind, namespace, name, Merge({"metadata": {"annotations": {annotation: value}}}))

    async def told(self, kind: Kind[T], namespace: str, name: str, type: str, reason: str) -> str:
        """The message of a condition, once it has a reason."""

        async def look() -> str:
            found: Any = await self.client.get(kind, namespace, name)
            return next((c.message or "-" for c in found.status.conditions if (c.type, c.reason) == (type, reason)), "")

        said: str = await eventually(look)
        return said

    async def gone(self, kind: Kind[T], namespace: str, name: str) -> None:
        """Wait until an object is gone."""

        async def look() -> bool:
            return await maybe(self.client, kind, namespace, name) is None

        await eventually(look)


@asynccontextmanager
async def here(folder: Path, pods: PodSettings | None = None) -> AsyncIterator[Here]:
    world, settings = World(), HostSettings(folder / "hosted", "127.0.0.1")
    server = await start_prepared(world)
    plane = Plane(
        InProcessTransport(server),
        world,
        lambda tenant: HttpTransport(tenant, world=world),
        parts=("core", "controlplane-hosted"),
        hosting=settings,
        pods=pods,
    )
    client = Client(InProcessTransport(server), world=world, field_manager="test")
    await plane.start()
    try:
        yield Here(client, settings)
    finally:
        await plane.stop()
        await client.close()
        await server.stop()


async def test_who_claims_the_tenant_of_another_gets_nothing_and_takes_nothing_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "hosted" / "tenants" / TENANT
    ownership.write(folder, Owner("one", TENANT, "team"))
    (folder / "ports.json").write_text('{"slot":1}')
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    async with here(tmp_path) as at:
        await at.plane("thief", TENANT)
        message = await at.told(HOSTED_CONTROL_PLANES, "default", "thief", "Available", "NotOwner")
        assert f"Tenant {TENANT} belongs to team/one." in message

        await at.client.delete(HOSTED_CONTROL_PLANES, "default", "thief")
        await at.gone(HOSTED_CONTROL_PLANES, "default", "thief")
        assert [each.metadata.name for each in (await at.client.list(DATA_STORES)).items] == []
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before


async def test_a_tenant_that_is_elsewhere_is_not_begun_anew_and_goes_only_if_its_user_leaves_it(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        await at.plane("lost", NOWHERE)
        message = await at.told(HOSTED_CONTROL_PLANES, "default", "lost", "Available", "DataElsewhere")
        assert str(at.settings.folder) in message
        finalizer = {"metadata": {"finalizers": ["controlplane.cluster.x-k8s.io/hostedcontrolplane"]}}
        await at.client.patch(HOSTED_CONTROL_PLANES, "default", "lost", Merge(finalizer))  # as a move carries it

        await at.client.delete(HOSTED_CONTROL_PLANES, "default", "lost")
        waits = await at.told(HOSTED_CONTROL_PLANES, "default", "lost", "Deleting", "RemovingData")
        assert ABANDON_DATA in waits
        assert not at.settings.tenants.exists()
        await at.annotate(HOSTED_CONTROL_PLANES, "default", "lost", ABANDON_DATA, "")
        await at.gone(HOSTED_CONTROL_PLANES, "default", "lost")


async def test_where_control_planes_are_pods_nobody_gets_a_tenant_of_another(tmp_path: Path) -> None:
    async with here(tmp_path, PodSettings(management_cidrs=())) as at:
        await at.plane("thief", TENANT)
        message = await at.told(HOSTED_CONTROL_PLANES, "default", "thief", "Available", "DataElsewhere")
        assert "do not become pods" in message

        await at.client.delete(HOSTED_CONTROL_PLANES, "default", "thief")
        await at.gone(HOSTED_CONTROL_PLANES, "default", "thief")


async def test_files_of_a_store_are_its_owners(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        await at.store("files")
        await at.told(DATA_STORES, "", "files", "Ready", "Ready")
        own = await at.client.get(DATA_STORES, "", "files")
        folder = at.settings.stores / own.metadata.uid
        assert ownership.read(folder) == Owner.of(own.metadata)

        await at.store("stolen", storeID=own.metadata.uid)
        assert "belongs to files" in await at.told(DATA_STORES, "", "stolen", "Ready", "NotOwner")
        await at.client.delete(DATA_STORES, "", "stolen")
        await at.gone(DATA_STORES, "", "stolen")
        assert ownership.read(folder) == Owner.of(own.metadata)

        await at.store("away", storeID=NOWHERE)
        assert str(at.settings.folder) in await at.told(DATA_STORES, "", "away", "Ready", "DataElsewhere")
        assert [each.name for each in at.settings.stores.iterdir()] == [own.metadata.uid]

        await at.annotate(DATA_STORES, "", "files", PAUSED, "")
        await at.told(DATA_STORES, "", "files", "Paused", "Paused")
        assert ownership.read(folder) == Owner.of(own.metadata, paused=True)
        await at.client.delete(DATA_STORES, "", "files")
        await at.annotate(DATA_STORES, "", "files", PAUSED, None)
        await at.gone(DATA_STORES, "", "files")
        assert not folder.exists()


async def test_a_store_that_was_moved_here_is_taken_over_with_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "hosted" / "stores" / NOWHERE
    ownership.write(folder, Owner("files", NOWHERE, paused=True))
    (folder / "kept").write_text("data")
    async with here(tmp_path) as at:
        await at.store("files", storeID=NOWHERE)
        await at.told(DATA_STORES, "", "files", "Ready", "Ready")
        own = await at.client.get(DATA_STORES, "", "files")
        assert ownership.read(folder) == Owner.of(own.metadata)
        assert (folder / "kept").read_text() == "data"
