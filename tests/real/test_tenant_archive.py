"""Backup and restore of one tenant, by the command, with the real things: a management API, an etcd that tenants share,
and kube-apiservers on it."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.secrets import TYPE
from nagaya.api.controlplane.data_store import DATA_STORES, DataStore
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.cli.plane import Plane, install
from nagaya.cli.tenant import tenant as command
from nagaya.controlplane.hosted.archive.errors import ArchiveError
from nagaya.controlplane.hosted.archive.found import RAW_CLUSTERS, RAW_PLANES, RAW_SECRETS, look, maybe
from nagaya.controlplane.hosted.archive.objects import RESTORING, Names
from nagaya.controlplane.hosted.archive.plan import Asked, plan
from nagaya.controlplane.hosted.archive.restore import Restorer, read_whole
from nagaya.controlplane.hosted.data_store.driver import Driver
from nagaya.controlplane.hosted.data_store.errors import StoreUnavailable
from nagaya.controlplane.hosted.data_store.etcd import EtcdDriver
from nagaya.controlplane.hosted.data_store.etcd_access import keys_of
from nagaya.controlplane.hosted.data_store.managed_etcd import ManagedEtcd
from nagaya.controlplane.hosted.data_store.snapshots import Reader
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client
from nagaya.kube.conditions import is_true
from nagaya.kube.http import HttpTransport
from nagaya.kube.patches import Merge
from nagaya.world import World
from support.data_stores import CONFIG_MAPS, api_server_on
from support.etcd_data_store import clear, make_data_store, started_etcd
from support.ports import free_range
from support.real import RealControlPlane, installed_binaries
from support.real_processes import Processes

pytestmark = pytest.mark.long("starts real control planes, and stops and starts them again around a restore")

WORLD = World()
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
AUTHORITIES = ("ca", "proxy", "sa")


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    started = Processes("nagaya-archives-")
    yield started
    started.close()


@pytest.fixture(scope="module")
def etcd(processes: Processes) -> ManagedEtcd:
    return started_etcd(processes)


@dataclass
class Management:
    """A management API without controllers, in a namespace of its own."""

    plane: RealControlPlane
    client: Client
    namespace: str
    etcd: ManagedEtcd
    store: str

    @property
    def driver(self) -> EtcdDriver:
        return self.etcd.driver()

    async def make_tenant(self, name: str) -> Tenant:
        reference = {"apiGroup": RAW_PLANES.group, "kind": RAW_PLANES.kind, "name": name}
        metadata = {"name": name, "namespace": self.namespace}
        await self.client.create(RAW_CLUSTERS, {"metadata": metadata, "spec": {"controlPlaneRef": reference}})
        labels = {"cluster.x-k8s.io/cluster-name": name}
        spec = {"version": "v1.36.3", "replicas": 2, "dataStoreRef": {"name": self.store}}
        made = await self.client.create(RAW_PLANES, {"metadata": {**metadata, "labels": labels}, "spec": spec})
        for each in AUTHORITIES:
            secret = {**metadata, "name": f"{name}-{each}", "labels": labels}
            data = {"tls.crt": _encoded(f"{name} {each}"), "tls.key": _encoded("key")}
            await self.client.create(RAW_SECRETS, {"metadata": secret, "type": TYPE, "data": data})
        return Tenant(made.metadata.uid)

    async def forget(self, name: str) -> None:
        await self.client.delete(RAW_CLUSTERS, self.namespace, name)
        await self.client.delete(RAW_PLANES, self.namespace, name)
        for each in AUTHORITIES:
            await self.client.delete(RAW_SECRETS, self.namespace, f"{name}-{each}")

    async def control_plane(self, name: str) -> Untyped:
        return await self.client.get(RAW_PLANES, self.namespace, name)

    async def entries(self, tenant: Tenant, revision: int = 0) -> dict[bytes, bytes]:
        prefix = keys_of(tenant)
        async with self.driver.connected() as client:
            pages = client.kv.pages(prefix, revision=revision)
            return {each.key.removeprefix(prefix): each.value async for page in pages for each in page.kvs}

    async def put(self, tenant: Tenant, **values: str) -> None:
        async with self.driver.connected() as client:
            for name, value in values.items():
                await client.kv.put(keys_of(tenant) + name.encode(), value.encode())

    async def run(self, *arguments: str | Path) -> Result:
        """`nagaya tenant ...`, as a user types it."""
        words = [str(each) for each in arguments]
        words += ["--kubeconfig", str(self.plane.kubeconfig)] if words[0] != "verify" else []
        return await asyncio.to_thread(CliRunner().invoke, command, words)

    async def ran(self, *arguments: str | Path) -> str:
        result = await self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result.output


@pytest.fixture
async def management(real_control_plane: RealControlPlane, etcd: ManagedEtcd) -> AsyncIterator[Management]:
    connection = kubeconfig.load(real_control_plane.kubeconfig)
    client = Client(HttpTransport(connection, world=WORLD), world=WORLD)
    await install(client, ["core", "controlplane-hosted"])
    namespace = (await client.create(NAMESPACES, {"metadata": {"generateName": "archives-"}})).metadata.name
    await make_data_store(client, namespace, namespace, etcd)
    await client.patch(DATA_STORES, "", namespace, Merge({"status": {"ready": True}}), subresource="status")
    try:
        yield Management(real_control_plane, client, namespace, etcd, namespace)
    finally:
        await clear(client, namespace)
        await client.close()


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def _read(path: Path) -> tuple[int, dict[bytes, bytes]]:
    archive, _ = await read_whole(path)
    try:
        reader = Reader(archive.data())
        revision = (await reader.head()).revision
        return revision, {entry.key: entry.value async for page in reader.pages() for entry in page}
    finally:
        archive.close()


# ---------------------------------------------------------------------------------------------------------------- tests


async def test_a_tenant_is_copied_at_one_revision_while_it_is_written_and_lives_on_under_another_name(
    management: Management, tmp_path: Path
) -> None:
    first, neighbour = await management.make_tenant("shop"), await management.make_tenant("neighbour")
    await management.put(neighbour, secret="of another")
    file = tmp_path / "shop.tenant"
    async with api_server_on(management.driver, first, tmp_path) as api:
        for number in range(40):
            api.ask("POST", CONFIG_MAPS, {"metadata": {"name": f"before-{number}"}, "data": {"x": "y" * 5000}})
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                api.ask("POST", CONFIG_MAPS, {"metadata": {"name": f"during-{number}"}})
                number += 1

        writing = asyncio.create_task(asyncio.to_thread(write))
        said = await management.ran("backup", "shop", "-n", management.namespace, "--to", file)
        stop.set()
        await writing
        revision, archived = await _read(file)
        assert archived == await management.entries(first, revision)
        assert archived != await management.entries(first)
        assert f"{len(archived)} keys of revision {revision}" in said
        assert file.stat().st_mode & 0o777 == 0o600
        # What is in the archive is compressed, so that a search for the neighbour's bytes must read it.
        assert not any(b"of another" in value for value in archived.values())

    plan_of_it = await management.ran("restore", file, "--as", "trial", "--dry-run")
    assert "Nothing was done" in plan_of_it
    assert await maybe(management.client, RAW_PLANES, management.namespace, "trial") is None
    said = await management.ran("restore", file, "--as", "trial")
    assert f"Restored {len(archived)} keys" in said

    trial = await management.control_plane("trial")
    second = Tenant(trial.metadata.uid)
    assert trial.metadata.annotations.keys().isdisjoint({PAUSED, RESTORING})
    assert await management.entries(second) == archived
    for each in AUTHORITIES:
        secret = await management.client.get(RAW_SECRETS, management.namespace, f"trial-{each}")
        assert secret.at("data", "tls.crt") == _encoded(f"shop {each}")
        assert secret.metadata.labels["cluster.x-k8s.io/cluster-name"] == "trial"
    cluster = await management.client.get(RAW_CLUSTERS, management.namespace, "trial")
    assert cluster.at("spec", "controlPlaneRef", "name") == "trial"
    async with api_server_on(management.driver, second, tmp_path) as api:
        listing: Any = await asyncio.to_thread(api.ask, "GET", CONFIG_MAPS)
        names = {each["metadata"]["name"] for each in listing["items"]}
        assert {f"before-{number}" for number in range(40)} <= names
        await asyncio.to_thread(api.ask, "POST", CONFIG_MAPS, {"metadata": {"name": "lives-on"}})
    assert "lives-on" not in str(await management.entries(first))


async def test_a_damaged_archive_is_refused_with_the_reason_before_anything_is_done(
    management: Management, tmp_path: Path
) -> None:
    tenant = await management.make_tenant("broken")
    await management.put(tenant, a="1" * 5000, b="2")
    file = tmp_path / "broken.tenant"
    await management.ran("backup", "broken", "-n", management.namespace, "--to", file)
    again = await management.run("backup", "broken", "-n", management.namespace, "--to", file)
    assert again.exit_code == 1
    assert "exists. Name another file, or replace it with --force." in again.output

    whole = file.read_bytes()
    for content in (whole[:-20], whole[:400] + b"\0\0\0" + whole[403:]):
        file.write_bytes(content)
        for words in (("restore", file, "--as", "other"), ("verify", file)):
            result = await management.run(*words)
            assert result.exit_code == 1
            assert "broken.tenant: the archive is damaged" in result.output
    assert await maybe(management.client, RAW_PLANES, management.namespace, "other") is None
    file.write_bytes(whole)
    assert "2 keys of revision" in await management.ran("verify", file)


async def test_a_tenant_that_is_lost_comes_back_under_its_name(management: Management, tmp_path: Path) -> None:
    tenant = await management.make_tenant("lost")
    await management.put(tenant, a="1", b="2")
    file = tmp_path / "lost.tenant"
    await management.ran("backup", "lost", "-n", management.namespace, "--to", file)
    await management.forget("lost")
    await management.driver.deprovision(tenant)

    await management.ran("restore", file)
    plane = await management.control_plane("lost")
    assert plane.metadata.uid != tenant.uid
    assert await management.entries(Tenant(plane.metadata.uid)) == {b"a": b"1", b"b": b"2"}
    assert plane.at("spec", "replicas") == 2
    assert PAUSED not in plane.metadata.annotations
    again = await management.run("restore", file)
    assert again.exit_code == 1
    assert "say --force if that is what you want" in again.output


async def test_data_is_put_back_in_place_by_force_and_what_was_there_is_kept(
    management: Management, tmp_path: Path
) -> None:
    tenant = await management.make_tenant("rolled")
    await management.put(tenant, kept="old", changed="old")
    file = tmp_path / "rolled.tenant"
    await management.ran("backup", "rolled", "-n", management.namespace, "--to", file)
    await management.put(tenant, changed="new", added="new")

    stopping = asyncio.create_task(_play_controller(management, "rolled"))
    said = await management.ran("restore", file, "--force")
    seen_while_stopped = await stopping
    assert seen_while_stopped == {b"kept": b"old", b"changed": b"new", b"added": b"new"}
    assert await management.entries(tenant) == {b"kept": b"old", b"changed": b"old"}
    plane = await management.control_plane("rolled")
    assert plane.metadata.uid == tenant.uid
    assert plane.at("spec", "replicas") == 2
    assert plane.metadata.annotations.keys().isdisjoint({PAUSED, RESTORING})
    [aside] = tmp_path.glob("rolled-before-restore-*.tenant")
    assert (await _read(aside))[1] == seen_while_stopped
    assert aside.stat().st_mode & 0o777 == 0o600
    assert "Stop all programs" in said


async def _play_controller(management: Management, name: str) -> dict[bytes, bytes]:
    """Say that programs are stopped, once they shall be. Returns the data of that moment."""
    plane = await management.control_plane(name)
    while plane.at("spec", "replicas") != 0:
        await asyncio.sleep(0.05)
        plane = await management.control_plane(name)
    assert RESTORING in plane.metadata.annotations
    data = await management.entries(Tenant(plane.metadata.uid))
    stopped = {"observedGeneration": plane.metadata.generation, "replicas": 0, "components": []}
    await management.client.patch(
        RAW_PLANES, management.namespace, name, Merge({"status": stopped}), subresource="status"
    )
    return data


class DiesHalfWay:
    """A store that goes away in the middle of a restore."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    async def restore(self, tenant: Tenant, copy: AsyncIterable[bytes]) -> int:
        async def part() -> AsyncIterator[bytes]:
            async for piece in copy:
                yield piece[: len(piece) // 2]
                raise StoreUnavailable("etcd does not answer.")

        return await self._driver.restore(tenant, part())


async def test_an_interrupted_restore_leaves_the_tenant_stopped_and_goes_on_with_the_same_command(
    management: Management, tmp_path: Path
) -> None:
    tenant = await management.make_tenant("cut")
    await management.put(tenant, **{f"key{number}": "v" * 1000 for number in range(1500)})
    file = tmp_path / "cut.tenant"
    await management.ran("backup", "cut", "-n", management.namespace, "--to", file)
    names = Names(management.namespace, "again", "again")
    archive, contents = await read_whole(file)
    found = await look(management.client, names, management.store)

    async def dies(store: DataStore) -> Driver:
        return cast(Driver, DiesHalfWay(management.driver))

    def nothing(uid: str) -> Mapping[str, bytes]:
        return {}

    restorer = Restorer(
        management.client, archive, contents, WORLD, dies, nothing, tell=lambda _: None, moved=lambda _: None
    )
    with pytest.raises(ArchiveError, match=r"does not answer.*stays stopped and paused.*Run the same command again"):
        await restorer.run(plan(contents, Asked(names), found), found)
    archive.close()
    plane = await management.control_plane("again")
    assert PAUSED in plane.metadata.annotations
    assert json.loads(plane.metadata.annotations[RESTORING])["replicas"] == 2
    left = await management.entries(Tenant(plane.metadata.uid))
    assert 0 < len(left) < 1500
    refused = await management.run("backup", "again", "-n", management.namespace, "--to", tmp_path / "half")
    assert refused.exit_code == 1

    said = await management.ran("restore", file, "--as", "again")
    assert "Go on with the restore" in said
    whole = await management.control_plane("again")
    assert whole.metadata.uid == plane.metadata.uid
    assert await management.entries(Tenant(whole.metadata.uid)) == await management.entries(tenant)
    assert whole.metadata.annotations.keys().isdisjoint({PAUSED, RESTORING})


async def test_data_on_another_machine_is_said_to_be_there(management: Management, tmp_path: Path) -> None:
    name = f"{management.namespace}-files"
    await management.client.create(DATA_STORES, {"metadata": {"name": name}, "spec": {"driver": "SQLite"}})
    try:
        local = replace(management, store=name)
        await local.make_tenant("far")
        where = ("-n", management.namespace, "--tenants-dir", tmp_path)
        result = await local.run("backup", "far", "--to", tmp_path / "far", *where)
        assert result.exit_code == 1
        assert "is on the machine that Nagaya's controllers run on" in result.output
        assert list(tmp_path.iterdir()) == []
    finally:
        await management.client.delete(DATA_STORES, "", name)


async def test_a_name_that_is_nobodys_is_refused(management: Management, tmp_path: Path) -> None:
    result = await management.run("backup", "nobody", "-n", management.namespace, "--to", tmp_path / "x")
    assert result.exit_code == 1
    assert f"There is no Cluster {management.namespace}/nobody" in result.output


CONFIG = Kind("", "v1", "ConfigMap", "configmaps", Untyped)


async def test_a_running_tenant_is_rolled_back_in_place_and_forked_by_its_controllers(
    management: Management, tmp_path: Path
) -> None:
    installed_binaries(("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"))
    connection = kubeconfig.load(management.plane.kubeconfig)
    controllers = Plane(
        HttpTransport(connection, world=WORLD),
        WORLD,
        lambda tenant: HttpTransport(tenant, world=WORLD),
        parts=("core", "controlplane-hosted"),
        namespaces=(management.namespace,),
        hosting=HostSettings(tmp_path / "hosted", "127.0.0.1", free_range(), stop_with_us=True),
    )
    await controllers.start()
    try:
        reference = {"apiGroup": RAW_PLANES.group, "kind": RAW_PLANES.kind, "name": "live"}
        metadata = {"name": "live", "namespace": management.namespace}
        await management.client.create(RAW_CLUSTERS, {"metadata": metadata, "spec": {"controlPlaneRef": reference}})
        spec = {"version": "v1.36.3", "dataStoreRef": {"name": management.store}}
        await management.client.create(RAW_PLANES, {"metadata": metadata, "spec": spec})
        file, where = tmp_path / "live.tenant", ("--tenants-dir", tmp_path / "hosted")
        async with tenant_client(management, "live") as api:
            await api.create(CONFIG, {"metadata": {"name": "kept", "namespace": "default"}})
            await management.ran("backup", "live", "-n", management.namespace, "--to", file, *where)
            await api.create(CONFIG, {"metadata": {"name": "later", "namespace": "default"}})
        said = await management.ran("restore", file, "--force", *where)
        assert "live-before-restore-" in said
        async with tenant_client(management, "live") as api:
            assert await maybe(api, CONFIG, "default", "kept") is not None
            assert await maybe(api, CONFIG, "default", "later") is None
            await api.create(CONFIG, {"metadata": {"name": "works", "namespace": "default"}})
        await management.ran("restore", file, "--as", "twin", *where)
        async with tenant_client(management, "twin") as api:
            assert await maybe(api, CONFIG, "default", "kept") is not None
            assert await maybe(api, CONFIG, "default", "works") is None
        for name in ("live", "twin"):
            await management.client.delete(RAW_PLANES, management.namespace, name)
        async with asyncio.timeout(120):
            while (await management.client.list(RAW_PLANES, management.namespace)).items:  # noqa: ASYNC110 - a test
                await asyncio.sleep(0.2)
    finally:
        await controllers.stop()


@asynccontextmanager
async def tenant_client(management: Management, name: str) -> AsyncIterator[Client]:
    """A client of a tenant, as its administrator, once its API is available."""
    async with asyncio.timeout(120):
        while True:
            plane = await management.client.get(HOSTED_CONTROL_PLANES, management.namespace, name)
            secret = await maybe(management.client, RAW_SECRETS, management.namespace, f"{name}-kubeconfig")
            settled = plane.status.observed_generation == plane.metadata.generation
            if settled and secret is not None and is_true(plane.status.conditions, "Available"):
                break
            await asyncio.sleep(0.1)
    text = base64.b64decode(secret.at("data", "value"))
    client = Client(HttpTransport(kubeconfig.parse_text(text), world=WORLD), world=WORLD)
    try:
        yield client
    finally:
        await client.close()


async def test_a_tenant_that_nobody_stops_is_not_touched(management: Management, tmp_path: Path) -> None:
    tenant = await management.make_tenant("busy")
    await management.put(tenant, a="1")
    file = tmp_path / "busy.tenant"
    await management.ran("backup", "busy", "-n", management.namespace, "--to", file)
    await management.put(tenant, a="2")
    archive, contents = await read_whole(file)
    names = Names(management.namespace, "busy", "busy")
    found = await look(management.client, names, management.store)

    async def opened(store: DataStore) -> Driver:
        return management.driver

    restorer = Restorer(
        management.client,
        archive,
        contents,
        WORLD,
        opened,
        lambda _: {},
        tell=lambda _: None,
        moved=lambda _: None,
        patience=0.5,
    )
    with pytest.raises(ArchiveError, match=r"controllers running.*Its data is as it was.*spec.replicas to 2"):
        await restorer.run(plan(contents, Asked(names, force=True), found), found)
    archive.close()
    assert await management.entries(tenant) == {b"a": b"2"}
    stopping = asyncio.create_task(_play_controller(management, "busy"))
    assert "Go on with the restore" in await management.ran("restore", file)
    await stopping
    assert await management.entries(tenant) == {b"a": b"1"}
    assert (await management.control_plane("busy")).at("spec", "replicas") == 2
