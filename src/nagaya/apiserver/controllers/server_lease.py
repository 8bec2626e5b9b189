"""The Lease by which a server shows that it lives.

A real server renews its Lease every ten seconds. Here it is renewed a minute after something else was written, and not
again before the next such write: an idle server writes nothing. That one write matters beyond the Lease. It lets the
revision move on after the last of a client's writes, so that the pages of a list that the client began then expire like
all others, instead of being kept for as long as nobody writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from nagaya.apiserver.meta import times
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

LEASES: Final = GroupResource("coordination.k8s.io", "leases")
NAMESPACE: Final = "kube-system"
NAME: Final = "apiserver-nagaya"
_TABLE: Final = "coordination.k8s.io/leases"
_KEY: Final = f"{NAMESPACE}/{NAME}"
RENEWED_AFTER: Final = timedelta(minutes=1)
_LASTS: Final = 3600  # seconds, as a real server's


class ServerLease:
    """Makes the Lease, and renews it when there is a reason to."""

    name = "server lease"
    tables = None

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-apiserver")
        self._due = False  # whether something was written since the last renewal

    def start(self) -> Iterator[str]:
        """The Lease, which may have to be made."""
        yield _KEY

    def on_event(self, event: Event) -> Iterator[str]:
        """The first write after a renewal is a reason for another, those that follow are not; or the Lease went."""
        if event.table == _TABLE:
            # Other Leases are renewed all the time where there are any, and move the revision on themselves.
            if event.key == _KEY and event.record is None:
                yield _KEY
        elif not self._due:
            self._due = True
            yield _KEY

    async def sync(self, key: object) -> float | None:
        """Make the Lease, or renew it once it is old enough."""
        now = self._backend.world.clock.now()
        lease = self._api.get(LEASES, NAMESPACE, NAME)
        if lease is None:
            await self._make(times.micro_of(now))
            self._due = False
            return None
        if not self._due:
            return None
        renewed = (lease.get("spec") or {}).get("renewTime")
        left = RENEWED_AFTER - (now - times.moment(renewed)) if renewed else timedelta()
        if left > timedelta():
            return left.total_seconds()
        await self._api.change(LEASES, NAMESPACE, NAME, lambda obj: _renewed(obj, times.micro_of(now)))
        self._due = False
        return None

    async def _make(self, now: str) -> None:
        if self._backend.store.get("namespaces", NAMESPACE) is None:
            return  # it is on its way, and its coming is an event
        metadata = {
            "name": NAME,
            "namespace": NAMESPACE,
            "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"},
        }
        spec = {"holderIdentity": NAME, "leaseDurationSeconds": _LASTS, "renewTime": now}
        await self._api.create_missing(LEASES, {"metadata": metadata, "spec": spec})


def _renewed(lease: JsonObject, now: str) -> JsonObject:
    return {**lease, "spec": {**(lease.get("spec") or {}), "renewTime": now}}
