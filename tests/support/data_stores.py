"""What tests of data stores stand on: a PostgreSQL of their own, clients of tenants, API servers on their stores."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from nagaya.controlplane.hosted.components.facts import EtcdStore, KineStore
from nagaya.controlplane.hosted.data_store.driver import Driver
from nagaya.controlplane.hosted.data_store.kine_process import process
from nagaya.controlplane.hosted.data_store.managed_etcd import ManagedEtcd
from nagaya.controlplane.hosted.data_store.postgresql_connection import Server
from nagaya.controlplane.hosted.data_store.snapshots import Entry, Head, Reader
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store.tenant_store import TenantStore
from nagaya.kube.etcd.client import EtcdClient, client_tls
from nagaya.pki.key_pair import KeyPair
from nagaya.supervision.events import Event, Ready
from nagaya.supervision.supervisor import Supervisor
from nagaya.world import World
from support.debian import postgresql
from support.ports import free_ports
from support.real import CONTROL_PLANE, RealControlPlane, installed_binaries
from support.real_processes import Processes

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_START_TIMEOUT = 120.0


class Postgresql:
    """A PostgreSQL, and an administrator who is no superuser. It can be stopped, and started again."""

    def __init__(self, postgres: Sequence[str], folder: Path) -> None:
        [port] = free_ports(1)
        self.server = Server(f"127.0.0.1:{port}", "administrator", "admin-password")
        self.log = folder / "log"
        self._folder = folder
        settings = ["-c", "fsync=off", "-c", "log_statement=all"]
        self._command = [*postgres, "-D", folder / "data", "-p", str(port), "-k", folder, "-h", "127.0.0.1", *settings]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it answers some moments later."""
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                self._command, stdout=out, stderr=out, cwd=self._folder, env=_postgresql_environment()
            )

    def stop(self) -> None:
        """End it in order, without waiting for whoever is connected."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
            self._process = None


@contextmanager
def running_postgresql() -> Iterator[Postgresql]:
    """Debian's PostgreSQL on a loopback port; skips the test, with the reason, where there is none."""
    initdb, postgres = postgresql("initdb"), postgresql("postgres")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nagaya-postgresql-")))
        password = folder / "password"
        password.write_text("boss-password\n")
        initialize = [*initdb, "-D", folder / "data", "-A", "scram-sha-256", "-U", "boss", f"--pwfile={password}", "-N"]
        subprocess.run(initialize, check=True, capture_output=True, cwd=folder, env=_postgresql_environment())
        # Its port is chosen no sooner than it is taken.
        server = Postgresql(postgres, folder)
        stack.callback(server.stop)
        server.start()
        asyncio.run(_make_administrator(server.server.endpoint))
        yield server


def _postgresql_environment() -> dict[str, str]:
    return {**os.environ, "LANG": "C.UTF-8"}


async def _make_administrator(endpoint: str) -> None:
    deadline = time.monotonic() + _START_TIMEOUT
    while True:
        try:
            boss = await asyncpg.connect(f"postgres://boss:boss-password@{endpoint}/postgres", ssl=False)
            break
        except (OSError, asyncpg.PostgresError):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
    await boss.execute("CREATE ROLE administrator LOGIN CREATEDB CREATEROLE PASSWORD 'admin-password'")
    await boss.close()


@asynccontextmanager
async def client_of(managed: ManagedEtcd, pair: KeyPair | None) -> AsyncIterator[EtcdClient]:
    certificate, key = (None, None) if pair is None else (pair.certificate, pair.key)
    context = client_tls(managed.authority.certificate_pem, certificate, key, check_name=True)
    async with await EtcdClient.connect(f"https://{managed.endpoint}", context, timeout=30) as client:
        yield client


@asynccontextmanager
async def as_tenant(managed: ManagedEtcd, store: TenantStore) -> AsyncIterator[EtcdClient]:
    async with client_of(managed, KeyPair(store.kept["tls.crt"], store.kept["tls.key"])) as client:
        yield client


async def read(driver: Driver, tenant: Tenant) -> tuple[Head, list[Entry]]:
    reader = Reader(driver.snapshot(tenant))
    return await reader.head(), [entry async for page in reader.pages() for entry in page]


class OnStore(RealControlPlane):
    """A real kube-apiserver on a tenant's store."""

    def __init__(self, store: EtcdStore | KineStore) -> None:
        super().__init__(installed_binaries(CONTROL_PLANE))
        self._store = store

    def _start(self, processes: Processes) -> None:
        super()._start(processes)
        # It makes the namespace itself, but is ready before it has.
        self._await("kube-apiserver", int(self.url.rpartition(":")[2]), "/api/v1/namespaces/default")

    def _api_server(self, port: int) -> list[str | Path]:
        command = [word for word in super()._api_server(port) if not str(word).startswith("--etcd-servers")]
        if isinstance(self._store, KineStore):
            return [*command, f"--etcd-servers=unix://{self._store.socket}"]
        return [
            *command,
            f"--etcd-servers={self._store.servers[0]}",
            f"--etcd-prefix={self._store.prefix}",
            f"--etcd-cafile={self._store.ca_file}",
            f"--etcd-certfile={self._store.certificate_file}",
            f"--etcd-keyfile={self._store.key_file}",
            "--etcd-compaction-interval=0",
        ]

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", int(self.url.rpartition(":")[2]), timeout=60, context=self.admin_ssl_context()
        )
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            told = answer.read()
            assert answer.status in (200, 201), told
            return dict(json.loads(told))
        finally:
            connection.close()


@asynccontextmanager
async def api_server_on(driver: Driver, tenant: Tenant, folder: Path) -> AsyncIterator[OnStore]:
    """A kube-apiserver on the place of a tenant, with a supervised kine where that is needed."""
    store = await driver.provision(tenant)
    work = folder / tenant.uid[:8]
    for name, content in store.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(content)
    work.mkdir(exist_ok=True)
    facts = store.facts(str(work), str(work / "kine.sock"))
    ready = asyncio.Event()

    def hear(event: Event) -> None:
        if isinstance(event, Ready):
            ready.set()

    async with Supervisor(work / "supervised", World(), listener=hear) as supervisor:
        if isinstance(facts, KineStore):
            await supervisor.ensure(process("kine", installed_binaries(("kine",)).path("kine"), facts))
            await asyncio.wait_for(ready.wait(), _START_TIMEOUT)
            # Closed to others from its first moment on; kine itself takes away more, but only when it listens already.
            assert Path(facts.socket).stat().st_mode & 0o077 == 0
        plane = OnStore(facts)
        await asyncio.to_thread(plane.__enter__)
        try:
            yield plane
        finally:
            await asyncio.to_thread(plane.__exit__, None, None, None)
