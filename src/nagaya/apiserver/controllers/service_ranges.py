"""The status of ServiceCIDRs: whether Services can get addresses from them.

They can from the range that the server was started with. Others are kept as they are written, and say why nobody gets
an address from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.controllers.conditions import with_condition
from nagaya.apiserver.controllers.tables import came_or_changed, keys
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

RANGES: Final = GroupResource("networking.k8s.io", "servicecidrs")
_TABLE: Final = "networking.k8s.io/servicecidrs"


class ServiceRanges:
    """Tells the range that is used from those that are not."""

    name = "service ranges"
    tables = (_TABLE,)

    def __init__(self, backend: Backend, used: str) -> None:
        self._backend = backend
        self._api = Internal(backend, "service-cidr-controller")
        self._used = used

    def start(self) -> Iterator[str]:
        """All ranges."""
        return keys(self._backend.store, _TABLE)

    def on_event(self, event: Event) -> Iterator[str]:
        """A range came or changed."""
        return came_or_changed(event, _TABLE)

    async def sync(self, key: object) -> float | None:
        """Say of one range whether it is used."""
        assert isinstance(key, str)
        await self._api.change(RANGES, "", key, self._judged, subresource="status")
        return None

    def _judged(self, given: JsonObject) -> JsonObject:
        if given["spec"].get("cidrs") == [self._used]:
            verdict = {"status": "True", "reason": "", "message": "Kubernetes Service CIDR is ready"}
        else:
            words = f"this server gives Services addresses from {self._used} only"
            verdict = {"status": "False", "reason": "NotUsed", "message": words}
        status = given.get("status") or {}
        conditions = with_condition(status.get("conditions"), {"type": "Ready", **verdict}, self._backend.now())
        return {**given, "status": {**status, "conditions": conditions}}
