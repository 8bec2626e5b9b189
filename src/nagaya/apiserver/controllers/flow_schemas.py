"""The status of FlowSchemas: whether the priority level that they send requests to exists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.controllers.conditions import with_condition
from nagaya.apiserver.controllers.tables import keys
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

_GROUP: Final = "flowcontrol.apiserver.k8s.io"
SCHEMAS: Final = GroupResource(_GROUP, "flowschemas")
LEVELS: Final = GroupResource(_GROUP, "prioritylevelconfigurations")
_TABLE: Final = f"{_GROUP}/flowschemas"
_LEVELS: Final = f"{_GROUP}/prioritylevelconfigurations"


class FlowSchemas:
    """Tells schemas that lead somewhere from those that dangle."""

    name = "flow schemas"
    tables = (_TABLE, _LEVELS)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "api-priority-and-fairness-config-consumer-v1")

    def start(self) -> Iterator[str]:
        """All schemas."""
        return keys(self._backend.store, _TABLE)

    def on_event(self, event: Event) -> Iterator[str]:
        """A schema came or changed, or a priority level came or went."""
        if event.table == _TABLE and event.record is not None:
            yield event.key
        elif event.table == _LEVELS and (event.record is None or event.previous is None):
            yield from self.start()

    async def sync(self, key: object) -> float | None:
        """Say whether the priority level of one schema exists."""
        assert isinstance(key, str)
        await self._api.change(SCHEMAS, "", key, self._judged, subresource="status")
        return None

    def _judged(self, schema: JsonObject) -> JsonObject | None:
        name = schema["spec"]["priorityLevelConfiguration"]["name"]
        about = f'This FlowSchema references the PriorityLevelConfiguration object named "{name}"'
        if self._api.get(LEVELS, "", name) is not None:
            verdict = {"status": "False", "reason": "Found", "message": f"{about} and it exists"}
        else:
            verdict = {"status": "True", "reason": "NotFound", "message": f"{about} but there is no such object"}
        status = schema.get("status") or {}
        conditions = with_condition(status.get("conditions"), {"type": "Dangling", **verdict}, self._backend.now())
        return {**schema, "status": {**status, "conditions": conditions}}
