"""Kinds that are stored in one form and served in several: events, and autoscalers of an older version.

All forms hold the same, so leading from one to the other needs nothing but a function for each direction. The stored
form is the one of the resource that shares the table and uses the plain codec.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage.record import Record

Convert = Callable[[JsonObject], JsonObject]
"""Takes an object in one form and returns it in another. May use up the object that it is given and share its parts."""


class ConvertingCodec:
    """Leads between the stored form and the one of a served version."""

    __slots__ = ("_api_version", "_kind", "_to_served", "_to_stored")

    def __init__(self, kind: str, api_version: str, to_served: Convert, to_stored: Convert) -> None:
        self._kind = kind
        self._api_version = api_version
        self._to_served = to_served
        self._to_stored = to_stored

    def is_direct(self, record: Record) -> bool:
        """Never."""
        return False

    async def decode(self, records: Sequence[Record]) -> list[JsonObject]:
        """The stored objects in the served form, with their kind."""
        return [
            {**self._to_served(record.object()), "kind": self._kind, "apiVersion": self._api_version}
            for record in records
        ]

    async def encode(self, obj: JsonObject) -> JsonObject:
        """The object in the stored form."""
        return self._to_stored(obj)
