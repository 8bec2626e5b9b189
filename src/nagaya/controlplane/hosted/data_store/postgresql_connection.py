"""A typed door to asyncpg, which has no types, and the words for what PostgreSQL refuses.

Statements that make databases and roles take no parameters. What becomes part of them is quoted here, and only here.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, cast

import asyncpg

from nagaya.controlplane.hosted.data_store.errors import StoreError, StoreRefused, StoreUnavailable

DIAL_TIMEOUT: Final = 5.0
CALL_TIMEOUT: Final = 60.0
DEFAULT_PORT: Final = 5432


@dataclass(frozen=True, slots=True)
class Server:
    """Where a PostgreSQL is, and who we are there."""

    endpoint: str
    """host:port"""
    user: str
    password: str = field(repr=False, default="")
    tls: ssl.SSLContext | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, colon, port = self.endpoint.rpartition(":")
        if not colon or not port.isdigit():
            host, port = self.endpoint, str(DEFAULT_PORT)
        return host.strip("[]"), int(port)


class Connection:
    """One connection."""

    def __init__(self, raw: Any) -> None:  # asyncpg has no types
        self.raw = raw

    async def execute(self, statement: str) -> None:
        """Run a statement."""
        await self.raw.execute(statement)

    async def value(self, query: str, *arguments: object) -> object:
        """The first field of the first row; None if there is none."""
        return await self.raw.fetchval(query, *arguments)

    async def number(self, query: str, *arguments: object) -> int:
        """The same, where it is a number."""
        return cast("int", await self.value(query, *arguments))

    async def pages(self, query: str, size: int) -> AsyncIterator[list[tuple[Any, ...]]]:
        """The rows of a query, so many at once; within a transaction."""
        cursor = await self.raw.cursor(query)
        while rows := await cursor.fetch(size):
            yield [tuple(row) for row in rows]

    async def copy_into(self, table: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
        """Add rows, quickly."""
        await self.raw.copy_records_to_table(table, records=rows, columns=list(columns))

    @asynccontextmanager
    async def transaction(self, *, reading: bool = False) -> AsyncIterator[None]:
        """All or nothing. A reading one sees the state of its beginning to its end."""
        isolation = "repeatable_read" if reading else "read_committed"
        async with self.raw.transaction(isolation=isolation, readonly=reading):
            yield


@asynccontextmanager
async def connected(server: Server, database: str) -> AsyncIterator[Connection]:
    """A connection to one database. Raises StoreError, also for what is done with it."""
    host, port = server.address
    with explained(server):
        raw = await asyncpg.connect(
            host=host,
            port=port,
            user=server.user,
            password=server.password or None,
            database=database,
            ssl=server.tls if server.tls is not None else "prefer",
            timeout=DIAL_TIMEOUT,
            command_timeout=CALL_TIMEOUT,
        )
        try:
            yield Connection(raw)
        finally:
            await raw.close(timeout=DIAL_TIMEOUT)


@contextmanager
def explained(server: Server) -> Iterator[None]:
    """Turns what PostgreSQL refuses into what is wrong with the store."""
    where = f"PostgreSQL at {server.endpoint}"
    try:
        yield
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InsufficientPrivilegeError) as error:
        raise StoreRefused(
            f"{where} does not let user {server.user} do it: {error}. "
            "The user needs the attributes CREATEDB and CREATEROLE, or to be a superuser."
        ) from error
    except (asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError, asyncpg.TooManyConnectionsError) as error:
        raise StoreUnavailable(f"{where} does not answer: {error}.") from error
    except asyncpg.PostgresError as error:
        raise StoreError(f"{where}: {error}.") from error
    except asyncpg.InterfaceError as error:
        raise StoreUnavailable(f"{where}: the connection broke: {error}.") from error
    except ssl.SSLError as error:
        raise StoreRefused(f"{where}: TLS failed: {error.reason or error}.") from error
    except TimeoutError as error:
        raise StoreUnavailable(f"{where} does not answer in time.") from error
    except OSError as error:
        raise StoreUnavailable(f"{where} cannot be reached: {error.strerror or error}.") from error


def identifier(name: str) -> str:
    """A name as part of a statement."""
    if not name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of anything")
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as part of a statement, whatever the server thinks of backslashes."""
    if "\0" in text:
        raise ValueError("a text with a zero byte cannot be part of a statement")
    if "\\" in text:
        return " E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    return "'" + text.replace("'", "''") + "'"
