"""Certificate requests are not kept for ever: machines make them, and nobody would tidy them up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509

from nagaya.apiserver.authz.signing_requests import decoded
from nagaya.apiserver.controllers.request_approver import REQUESTS, TABLE, conditions_of
from nagaya.apiserver.controllers.tables import came_or_changed, keys
from nagaya.apiserver.meta import times
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

_DONE: Final = timedelta(hours=1)
_OPEN: Final = timedelta(hours=24)


class RequestCleaner:
    """Deletes requests an hour after they were signed, denied or failed, and a day after they came if nobody acted."""

    name = "certificate request cleaner"
    tables = (TABLE,)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")

    def start(self) -> Iterator[str]:
        """All requests."""
        return keys(self._backend.store, TABLE)

    def on_event(self, event: Event) -> Iterator[str]:
        """A request came or changed."""
        return came_or_changed(event, TABLE)

    async def sync(self, key: object) -> float | None:
        """Delete one request if its time is over; else look again when it will be."""
        assert isinstance(key, str)
        request = self._api.get(REQUESTS, "", key)
        if request is None:
            return None
        left = (end_of(request) - self._backend.world.clock.now()).total_seconds()
        if left > 0:
            return left
        await self._api.delete(REQUESTS, "", key, uid=request["metadata"]["uid"])
        return None


def end_of(request: JsonObject) -> datetime:
    """When a request may go."""
    certificate = decoded((request.get("status") or {}).get("certificate"))
    conditions = conditions_of(request)
    created = times.moment(request["metadata"]["creationTimestamp"])
    if not conditions:
        return created + _OPEN
    ends = []
    for each in conditions:
        since = times.moment(each["lastUpdateTime"]) if each.get("lastUpdateTime") else created
        approved = each["type"] == "Approved"
        ends.append(since + (_OPEN if approved and not certificate else _DONE))
        if approved and certificate and (expiry := _expiry(certificate)) is not None:
            ends.append(expiry)
    return min(ends)


def _expiry(text: bytes) -> datetime | None:
    try:
        return x509.load_pem_x509_certificate(text).not_valid_after_utc
    except ValueError:
        return None
