"""Events are kept for an hour: long enough to read what happened, short enough not to fill the disk."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from nagaya.apiserver.meta import times
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event, Record

TTL: Final = timedelta(hours=1)
_EVENTS: Final = GroupResource("", "events")
_TABLE: Final = "events"
_SWEEP: Final = 60.0  # seconds between two looks


class EventExpiry:
    """Deletes events that nobody has written to for an hour."""

    name = "event expiry"
    tables = (_TABLE,)

    def __init__(self, backend: Backend, ttl: timedelta = TTL) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-apiserver")
        self._ttl = ttl
        self._written: dict[str, float] = {}  # by key, oldest first

    def start(self) -> Iterator[str]:
        """Begin to sweep. An event's age at start is judged by the dates on it."""
        now = self._backend.world.clock
        for record in sorted(self._backend.store.list(_TABLE).records, key=lambda each: each.revision):
            age = (now.now() - self._date(record)).total_seconds()
            self._written[record.key] = now.monotonic() - max(age, 0)
        yield "sweep"

    @staticmethod
    def _date(record: Record) -> datetime:
        obj = record.object()
        return times.moment(obj.get("lastTimestamp") or obj["metadata"]["creationTimestamp"])

    def on_event(self, event: Event) -> Iterator[str]:
        """An event was written or deleted."""
        if event.table == _TABLE:
            self._written.pop(event.key, None)
            if event.record is not None:
                self._written[event.key] = self._backend.world.clock.monotonic()
        return iter(())

    async def sync(self, key: object) -> float | None:
        """Delete what has expired."""
        limit = self._backend.world.clock.monotonic() - self._ttl.total_seconds()
        expired = []
        for name, written in self._written.items():
            if written > limit:
                break
            expired.append(name)
        for each in expired:
            namespace, _, name = each.rpartition("/")
            await self._api.delete(_EVENTS, namespace, name)
        return _SWEEP
