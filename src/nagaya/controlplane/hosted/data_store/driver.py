"""What every store can do for a tenant."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from nagaya.api.controlplane.data_store_conditions import DataStoreReason
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store.tenant_store import TenantStore


@dataclass(frozen=True, slots=True)
class Health:
    """What a store said when it was dialled."""

    reason: DataStoreReason
    message: str
    version: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether tenants can be served."""
        return self.reason is DataStoreReason.READY


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tenant has in a store."""

    keys: int
    bytes: int
    """Of keys and values, or of the files and tables that they are in where that is what the store knows."""


class Driver(Protocol):
    """A store. Calls raise StoreError; each is safe to be made again, whatever became of the one before."""

    async def probe(self) -> Health:
        """Dial the store and tell how it is. Raises nothing: what is wrong is the answer."""
        ...

    async def provision(self, tenant: Tenant, kept: Mapping[str, bytes] | None = None) -> TenantStore:
        """Give a tenant a place of its own, and the credentials for it.

        `kept` is what an earlier call returned as `TenantStore.kept`: credentials that are still good stay the same.
        """
        ...

    async def deprovision(self, tenant: Tenant) -> None:
        """Remove every key, user, role, database and file of a tenant. What is not there is fine."""
        ...

    async def usage(self, tenant: Tenant) -> Usage:
        """How much a tenant has. Reads everything that it has, in pages, in stores that cannot tell sizes."""
        ...

    def snapshot(self, tenant: Tenant) -> AsyncIterator[bytes]:
        """All data of a tenant as it was at one revision, in the form of `snapshots.py`, piece by piece."""
        ...

    async def restore(self, tenant: Tenant, copy: AsyncIterable[bytes]) -> int:
        """Put a copy into the place of a tenant, which must be provisioned and empty; returns the number of keys.

        Nothing may write there meanwhile. If the copy turns out to be damaged, what was written is removed again.
        """
        ...
