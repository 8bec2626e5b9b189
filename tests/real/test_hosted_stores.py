"""Hosted control planes on data stores of their users': a PostgreSQL, and an etcd with TLS and users of its own.

Two control planes share each store. They are declared with kubectl, write, lose their store for a while, come back by
themselves, and leave nothing there. All of them are started at once, because that is most of the time.
"""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import asyncpg
import pytest
import yaml

from nagaya.controlplane.hosted.data_store.tenant import Tenant as InStore
from nagaya.kube.etcd.client import EtcdClient, client_tls
from nagaya.kube.etcd.errors import EtcdError
from support.data_stores import CONFIG_MAPS, Postgresql, running_postgresql
from support.etcd_cluster import EtcdCluster
from support.hosting import Hosting, Tenant, eventually, manifests
from support.real import installed_binaries
from support.real_certificates import Pair

pytestmark = pytest.mark.long("starts PostgreSQL, etcd and a control plane on each, and restarts them")

ADMINISTRATOR = "administrator"
OWN_KEY = b"/of-its-user"


class Store(Protocol):
    """A store of a user's."""

    def declared(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The spec of its DataStore, and what the Secret has that it refers to."""

    def stop(self) -> None: ...

    def start(self) -> None: ...

    async def remains(self) -> list[str]:
        """Whatever is there that its user did not put there."""

    async def break_in(self, hosting: Hosting, tenant: Tenant, other: Tenant) -> None:
        """Reach for the data of another with the credentials of a tenant. Raises what the store refuses it by."""


@dataclass(frozen=True)
class UsersPostgresql:
    postgresql: Postgresql

    def declared(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        server = self.postgresql.server
        basic = {"username": _reference("PostgreSQL", "username"), "password": _reference("PostgreSQL", "password")}
        secret = {"username": server.user.encode(), "password": server.password.encode()}
        return {"driver": "PostgreSQL", "endpoints": [server.endpoint], "basicAuth": basic}, secret

    def stop(self) -> None:
        self.postgresql.stop()

    def start(self) -> None:
        self.postgresql.start()

    async def remains(self) -> list[str]:
        connection = await self._connect(ADMINISTRATOR, self.postgresql.server.password, "postgres")
        try:
            databases = "SELECT datname AS name FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres'"
            roles = "SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' AND rolname NOT IN ('boss', 'administrator')"
            return [row["name"] for row in await connection.fetch(f"{databases} UNION ALL {roles}")]
        finally:
            await connection.close()

    async def break_in(self, hosting: Hosting, tenant: Tenant, other: Tenant) -> None:
        password = (hosting.folder / "hosted" / "tenants" / tenant.uid / "store" / "password").read_text()
        user = InStore(tenant.uid).database
        # With the same words it gets into its own.
        await (await self._connect(user, password, user)).close()
        await self._connect(user, password, InStore(other.uid).database)

    async def _connect(self, user: str, password: str, database: str) -> asyncpg.Connection:
        endpoint = self.postgresql.server.endpoint
        return await asyncpg.connect(f"postgres://{user}:{password}@{endpoint}/{database}", ssl=False, timeout=60)


@dataclass(frozen=True)
class UsersEtcd:
    etcd: EtcdCluster
    administrator: Pair

    @classmethod
    def prepared(cls, etcd: EtcdCluster) -> UsersEtcd:
        """With an administrator, something of its user's own, and closed to everybody else."""
        store = cls(etcd, etcd.authority.client(ADMINISTRATOR))
        asyncio.run(store._close())
        return store

    async def _close(self) -> None:
        async with await self._connect(self.administrator) as client:
            await client.kv.put(OWN_KEY, b"kept")
            await client.auth.add_role("root")
            for user in ("root", ADMINISTRATOR):
                await client.auth.add_user(user)
                await client.auth.grant_role(user, "root")
            await client.auth.enable()

    def declared(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        authority = self.etcd.authority.pair
        secret = {
            "ca.crt": authority.certificate,
            "ca.key": authority.key,
            "tls.crt": self.administrator.certificate,
            "tls.key": self.administrator.key,
        }
        tls = {
            "certificateAuthority": _pair("etcd", "ca.crt", "ca.key"),
            "clientCertificate": _pair("etcd", "tls.crt", "tls.key"),
        }
        return {"driver": "etcd", "endpoints": [self._endpoint.removeprefix("https://")], "tls": tls}, secret

    def stop(self) -> None:
        self.etcd.kill(self.etcd.places[0])

    def start(self) -> None:
        self.etcd.start(self.etcd.places[0])

    async def remains(self) -> list[str]:
        async with await self._connect(self.administrator) as client:
            keys = [each.key.decode() async for page in client.kv.pages(b"/") for each in page.kvs]
            users, roles = await client.auth.users(), await client.auth.roles()
        mine = {OWN_KEY.decode(), "root", ADMINISTRATOR}
        assert mine <= {*keys, *users, *roles}
        return [each for each in (*keys, *users, *roles) if each not in mine]

    async def break_in(self, hosting: Hosting, tenant: Tenant, other: Tenant) -> None:
        folder = hosting.folder / "hosted" / "tenants" / tenant.uid / "pki" / "datastore"
        pair = Pair((folder / "client.crt").read_bytes(), (folder / "client.key").read_bytes())
        async with await self._connect(pair) as client:
            own = [
                each async for page in client.kv.pages(f"{InStore(tenant.uid).prefix}/".encode()) for each in page.kvs
            ]
            assert own
            with pytest.raises(EtcdError):
                await client.kv.get(OWN_KEY)
            await anext(client.kv.pages(_keys(other)))

    @property
    def _endpoint(self) -> str:
        return self.etcd.places[0].endpoint

    async def _connect(self, pair: Pair) -> EtcdClient:
        context = client_tls(self.etcd.authority.pair.certificate, pair.certificate, pair.key, check_name=True)
        return await EtcdClient.connect(self._endpoint, context, timeout=60)


def _keys(tenant: Tenant) -> bytes:
    return f"{InStore(tenant.uid).prefix}/".encode()


def _reference(driver: str, key: str) -> dict[str, str]:
    return {"namespace": "default", "name": f"credentials-{driver.lower()}", "key": key}


def _pair(driver: str, certificate: str, key: str) -> dict[str, Any]:
    return {"certificate": _reference(driver, certificate), "privateKey": _reference(driver, key)}


def _data_store(driver: str, store: Store) -> str:
    spec, secret = store.declared()
    data = {key: base64.b64encode(value).decode() for key, value in secret.items()}
    metadata = {"name": f"credentials-{driver.lower()}", "namespace": "default"}
    declared = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1",
        "kind": "DataStore",
        "metadata": {"name": driver.lower()},
        "spec": spec,
    }
    return yaml.safe_dump_all([{"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}, declared])


def test_control_planes_share_stores_of_their_users_survive_their_absence_and_leave_nothing() -> None:
    installed_binaries(("kine",))
    compaction = ("--auto-compaction-mode=periodic", "--auto-compaction-retention=10m")
    with running_postgresql() as postgresql, EtcdCluster(1, arguments=compaction) as etcd, Hosting() as hosting:
        stores: dict[str, Store] = {"PostgreSQL": UsersPostgresql(postgresql), "etcd": UsersEtcd.prepared(etcd)}
        for driver, store in stores.items():
            hosting.apply(_data_store(driver, store))
            for each in ("one", "two"):
                hosting.apply(manifests(f"{driver.lower()}-{each}", dataStoreRef={"name": driver.lower()}))
        tenants = {
            driver: (hosting.tenant(f"{driver.lower()}-one"), hosting.tenant(f"{driver.lower()}-two"))
            for driver in stores
        }
        everyone = [each for pair in tenants.values() for each in pair]
        for each in everyone:
            eventually(partial(_has_written, hosting, each), f"{each.name} to take a write")
            eventually(partial(hosting.holds, each.name, "ComponentsReady"), f"components of {each.name}")
        for driver, pair in tenants.items():
            _keep_apart(hosting, stores[driver], *pair)

        _go_away_and_come_back(hosting, stores, tenants)
        for driver, pair in tenants.items():
            _keep_apart(hosting, stores[driver], *pair)
            assert asyncio.run(stores[driver].remains())

        hosting.kubectl("delete", "cluster", *(each.name for each in everyone), "--timeout=200s")
        for driver, store in stores.items():
            assert asyncio.run(store.remains()) == []
            hosting.kubectl("delete", "datastore", driver.lower(), "--timeout=200s")
        for each in everyone:
            assert hosting.processes(each.uid) == {}
            assert [*(hosting.folder / "hosted").glob(f"*/{each.uid}*")] == []


def _go_away_and_come_back(
    hosting: Hosting, stores: dict[str, Store], tenants: dict[str, tuple[Tenant, Tenant]]
) -> None:
    for store in stores.values():
        store.stop()
    for driver, pair in tenants.items():
        for each in pair:
            told = eventually(partial(_why_away, hosting, each.name), f"{each.name} to say that its store is away")
            assert told["reason"] == "DataStoreNotReady"
            assert told["message"].startswith(f"DataStore {driver.lower()}: ")
            assert driver in told["message"].partition(": ")[2]
        assert hosting.kubectl("get", "datastore", driver.lower(), "-o", "jsonpath={.status.ready}") == "false"
    for store in stores.values():
        store.start()
    for pair in tenants.values():
        for each in pair:
            eventually(partial(hosting.holds, each.name, "DataStoreReady"), f"{each.name} to have its store again")
            eventually(partial(_reads, each), f"the data of {each.name}")
            eventually(partial(_writes, each), f"{each.name} to take writes again")


def _keep_apart(hosting: Hosting, store: Store, one: Tenant, two: Tenant) -> None:
    for tenant, other in ((one, two), (two, one)):
        maps = _maps(tenant)
        assert f"of-{tenant.name}" in maps
        assert f"of-{other.name}" not in maps
        with pytest.raises((EtcdError, asyncpg.PostgresError), match="permission denied"):
            asyncio.run(store.break_in(hosting, tenant, other))


def _maps(tenant: Tenant) -> set[str]:
    status, answer = tenant.ask("GET", CONFIG_MAPS)
    assert status == 200, answer
    return {each["metadata"]["name"] for each in json.loads(answer)["items"]}


def _has_written(hosting: Hosting, tenant: Tenant) -> bool:
    hosting.kubectl("create", "configmap", f"of-{tenant.name}", "--from-literal=a=b", tenant=tenant)
    return True


def _reads(tenant: Tenant) -> bool:
    return f"of-{tenant.name}" in _maps(tenant)


def _writes(tenant: Tenant) -> bool:
    return tenant.ask("POST", CONFIG_MAPS, {"metadata": {"generateName": "again-"}})[0] == 201


def _why_away(hosting: Hosting, name: str) -> dict[str, Any]:
    told = hosting.condition(name, "DataStoreReady")
    return told if told.get("status") == "False" else {}
