"""The data store of a tenant, from where this process runs.

Stores with endpoints are reached over the network, with the credentials in the Secrets that the DataStore names. Those
that Nagaya keeps itself are files and processes of the machine that its controllers run on: there, and nowhere else,
they can be reached.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from nagaya.api.controlplane.data_store import SQLITE, DataStore
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.controlplane.hosted.archive.errors import Refused, StoreOutOfReach
from nagaya.controlplane.hosted.data_store.driver import Driver
from nagaya.controlplane.hosted.data_store.managed_etcd import PROCESS, ManagedEtcd
from nagaya.controlplane.hosted.data_store.sqlite import SqliteDriver
from nagaya.controlplane.hosted.data_store_controller.credentials import NotUsable, external_driver
from nagaya.controlplane.hosted.host import ownership
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.kube.client import Client
from nagaya.world import World


async def reach(client: Client, store: DataStore, tenants_dir: Path, world: World) -> Driver:
    """The store, which answered. Raises StoreOutOfReach."""
    name = store.metadata.name
    try:
        driver = await _driver(client, store, tenants_dir, world)
    except NotUsable as problem:
        raise StoreOutOfReach(f"DataStore {name}: {problem}") from problem
    except OSError as error:
        raise StoreOutOfReach(f"DataStore {name}: {error}.") from error
    health = await driver.probe()
    if not health.is_ready:
        raise StoreOutOfReach(f"DataStore {name} cannot be used from this machine: {health.message}")
    return driver


def expect_own(plane: HostedControlPlane, tenants_dir: Path) -> None:
    """Raises Refused if a control plane names a tenant that nobody says is its own. Reads a file: to be called in a
    thread."""
    if not plane.spec.tenant_id or plane.status.data_store is not None:
        return  # its controller has looked
    folder = TenantFolder.of(HostSettings(tenants_dir).tenants, plane.tenant_id).path
    found = ownership.claim(plane.metadata, plane.tenant_id, ownership.read(folder))
    if found.refused:
        raise Refused(
            f"HostedControlPlane {plane.metadata.namespace}/{plane.metadata.name} was moved, and its programs and data "
            f"(tenant {plane.tenant_id}) are not in {tenants_dir}, or are somebody else's. Run this command on the "
            "machine that they are on, and name their folder with --tenants-dir."
        )


def kept(tenants_dir: Path, uid: str) -> dict[str, bytes]:
    """The credentials that a tenant of this machine has for its store; none if it is not of this machine. Reads files:
    to be called in a thread."""
    return TenantFolder.of(HostSettings(tenants_dir).tenants, uid).kept()


async def _driver(client: Client, store: DataStore, tenants_dir: Path, world: World) -> Driver:
    if not store.is_kept_here:
        return await external_driver(client, store, world)
    folder = TenantFolder.of(HostSettings(tenants_dir).stores, store.store_id).path
    if not await asyncio.to_thread(folder.is_dir):
        raise StoreOutOfReach(
            f"The data of DataStore {store.metadata.name} is on the machine that Nagaya's controllers run on, and "
            f"{folder} does not exist here. Run this command there, as the same user, and name the controllers' folder "
            "with --tenants-dir if it is another one."
        )
    if store.spec.driver == SQLITE:
        return SqliteDriver(folder, world)
    etcd = await asyncio.to_thread(ManagedEtcd.prepare, folder, Path(PROCESS), world)
    return etcd.driver()
