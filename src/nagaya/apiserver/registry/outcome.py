"""What a write came to: a stored record, whose bytes can be sent as they are, or an object that was not stored."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.storage import Record


@dataclass(slots=True)
class Outcome:
    """The result of a create, update, patch or delete. Exactly one of `record` and `object` is set."""

    resource: Resource
    record: Record | None = None
    object: JsonObject | None = None
    created: bool = False
    removed: bool = False

    async def load(self) -> JsonObject:
        """The resulting object in the served version."""
        if self.object is not None:
            return self.object
        assert self.record is not None
        return await self.resource.load(self.record)

    def raw(self) -> bytes | None:
        """The bytes to send, if the stored ones will do."""
        if self.record is not None and self.resource.codec.is_direct(self.record):
            return self.resource.single(self.record.value)
        return None
