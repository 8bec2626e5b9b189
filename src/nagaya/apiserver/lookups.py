"""Objects that credentials refer to, straight from the store."""

from __future__ import annotations

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Store


class StoreLookups:
    """What authentication needs to look up."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _get(self, table: str, key: str) -> JsonObject | None:
        record = self._store.get(table, key)
        return None if record is None else record.object()

    def get_service_account(self, namespace: str, name: str) -> JsonObject | None:
        """A ServiceAccount."""
        return self._get("serviceaccounts", f"{namespace}/{name}")

    def get_secret(self, namespace: str, name: str) -> JsonObject | None:
        """A Secret."""
        return self._get("secrets", f"{namespace}/{name}")

    def get_pod(self, namespace: str, name: str) -> JsonObject | None:
        """A Pod."""
        return self._get("pods", f"{namespace}/{name}")

    def get_node(self, name: str) -> JsonObject | None:
        """A Node."""
        return self._get("nodes", name)
