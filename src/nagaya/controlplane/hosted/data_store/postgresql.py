"""One PostgreSQL for many tenants: each has a database and a role of its own, and a kine that speaks to it.

The database belongs to us and the role may only connect to it and make tables there; nobody else may connect. We are a
member of the role, so as to read and write a tenant's table in its name: what a copy writes belongs to the tenant.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from nagaya.api.controlplane.data_store_conditions import DataStoreReason
from nagaya.controlplane.hosted.data_store import kine_table, snapshots
from nagaya.controlplane.hosted.data_store.driver import Health, Usage
from nagaya.controlplane.hosted.data_store.errors import StoreError, StoreNotEmpty, StoreRefused
from nagaya.controlplane.hosted.data_store.postgresql_connection import (
    Connection,
    Server,
    connected,
    identifier,
    literal,
)
from nagaya.controlplane.hosted.data_store.scram import kept_password, verifier
from nagaya.controlplane.hosted.data_store.snapshots import Entry
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store.tenant_store import PASSWORD, KineTenantStore
from nagaya.world import World

OLDEST: Final = 13
"""The first that ends connections to a database that is dropped."""

_ADMINISTRATION: Final = "postgres"
"""The database that every PostgreSQL has."""
_PAGE: Final = 500
_TABLE: Final = (
    'CREATE TABLE IF NOT EXISTS kine (id BIGSERIAL PRIMARY KEY, name text COLLATE "C", created INTEGER, '
    "deleted INTEGER, create_revision BIGINT, prev_revision BIGINT, lease INTEGER, value bytea, old_value bytea)"
)
"""As kine makes it; its indexes it adds at its start."""


class PostgresqlDriver:
    """A PostgreSQL that is reached over the network."""

    def __init__(self, server: Server, world: World, authority: bytes = b"") -> None:
        """`authority` is the certificate that the server's is verified with, for tenants as for us (`server.tls`)."""
        self._server = server
        self._world = world
        self._authority = authority

    async def probe(self) -> Health:
        """Connect, and ask whether this user may do what has to be done."""
        try:
            async with connected(self._server, _ADMINISTRATION) as connection:
                version = str(await connection.value("SELECT current_setting('server_version')"))
                number = await connection.number("SELECT current_setting('server_version_num')::int")
                may = await connection.value(
                    "SELECT rolsuper OR (rolcreatedb AND rolcreaterole) FROM pg_roles WHERE rolname = current_user"
                )
                standby = await connection.value("SELECT pg_is_in_recovery()")
        except StoreRefused as error:
            return Health(DataStoreReason.NOT_AUTHORIZED, str(error))
        except StoreError as error:
            return Health(DataStoreReason.UNREACHABLE, str(error))
        where = f"PostgreSQL {version} at {self._server.endpoint}"
        if number // 10000 < OLDEST:
            return Health(DataStoreReason.VERSION_TOO_OLD, f"{where} is older than {OLDEST}.", version)
        if not may:
            message = f"{where}: user {self._server.user} needs the attributes CREATEDB and CREATEROLE."
            return Health(DataStoreReason.NOT_AUTHORIZED, message, version)
        if standby:
            return Health(DataStoreReason.NOT_HEALTHY, f"{where} is a standby and takes no writes.", version)
        return Health(DataStoreReason.READY, f"{where} answers.", version)

    async def provision(self, tenant: Tenant, kept: Mapping[str, bytes] | None = None) -> KineTenantStore:
        """A database and a role. The password that is kept stays, also if the role was lost."""
        password = kept_password((kept or {}).get(PASSWORD, b""))
        name = identifier(tenant.database)
        async with connected(self._server, _ADMINISTRATION) as connection:
            exists = await connection.value("SELECT 1 FROM pg_roles WHERE rolname = $1", tenant.database)
            # A new role may do nothing else; and only a superuser may even say so of one that exists.
            verb = "ALTER" if exists else "CREATE"
            await connection.execute(f"{verb} ROLE {name} LOGIN PASSWORD {literal(verifier(password))}")
            await connection.execute(f"GRANT {name} TO CURRENT_USER")
            if not await connection.value("SELECT 1 FROM pg_database WHERE datname = $1", tenant.database):
                await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
            await connection.execute(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC")
            await connection.execute(f"GRANT CONNECT ON DATABASE {name} TO {name}")
        async with connected(self._server, tenant.database) as connection:
            await connection.execute(f"GRANT USAGE, CREATE ON SCHEMA public TO {name}")
        endpoint = f"postgres://{tenant.database}:{password}@{self._server.endpoint}/{tenant.database}"
        return KineTenantStore(endpoint, self._authority, {PASSWORD: password.encode()})

    async def deprovision(self, tenant: Tenant) -> None:
        """Drop the database, whoever is connected to it, and the role."""
        name = identifier(tenant.database)
        async with connected(self._server, _ADMINISTRATION) as connection:
            if await connection.value("SELECT 1 FROM pg_roles WHERE rolname = $1", tenant.database):
                # Whoever comes back while the database goes away does not get in.
                await connection.execute(f"ALTER ROLE {name} NOLOGIN")
            await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            await connection.execute(f"DROP ROLE IF EXISTS {name}")

    async def usage(self, tenant: Tenant) -> Usage:
        """Keys, and the bytes of the table with its indexes."""
        async with self._as(tenant) as connection:
            if not await _has_table(connection):
                return Usage(0, 0)
            size = await connection.number("SELECT pg_total_relation_size('kine')")
            return Usage(await connection.number(kine_table.COUNT), size)

    async def snapshot(self, tenant: Tenant) -> AsyncIterator[bytes]:
        """A copy, read in one transaction."""
        taken = self._world.clock.now().isoformat(timespec="seconds")
        async with self._as(tenant) as connection, connection.transaction(reading=True):
            revision = await connection.number(kine_table.REVISION) if await _has_table(connection) else 0
            head = snapshots.Head(revision, taken, tenant.uid)
            async for piece in snapshots.encode(head, _entries(connection, revision)):
                yield piece

    async def restore(self, tenant: Tenant, copy: AsyncIterable[bytes]) -> int:
        """Write a copy in one transaction, with revisions behind all that were."""
        reader = snapshots.Reader(copy)
        head = await reader.head()
        async with self._as(tenant) as connection, connection.transaction():
            await connection.execute(_TABLE)
            await connection.execute("LOCK TABLE kine IN ACCESS EXCLUSIVE MODE")
            if await connection.number(kine_table.COUNT):
                raise StoreNotEmpty.of_tenant(tenant.uid)
            last = max(await connection.number(kine_table.REVISION), head.revision)
            await connection.execute(kine_table.CLEAR)
            count = 0
            async for page in reader.pages():
                rows = kine_table.rows_of(page, last + 1 + count)
                await connection.copy_into("kine", kine_table.COLUMNS, rows)
                count += len(page)
            await connection.value("SELECT setval(pg_get_serial_sequence('kine', 'id'), $1)", last + count + 1)
            return count

    @asynccontextmanager
    async def _as(self, tenant: Tenant) -> AsyncIterator[Connection]:
        """A connection to a tenant's database, in its name."""
        async with connected(self._server, tenant.database) as connection:
            await connection.execute(f"SET ROLE {identifier(tenant.database)}")
            yield connection


async def _has_table(connection: Connection) -> bool:
    return await connection.value("SELECT to_regclass('public.kine')::text") is not None


async def _entries(connection: Connection, revision: int) -> AsyncIterator[list[Entry]]:
    if revision:
        async for page in connection.pages(f"{kine_table.LIVE} ORDER BY kv.name", _PAGE):
            yield [kine_table.entry_of(*row) for row in page]
