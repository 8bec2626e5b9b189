"""Between the version in which a custom resource is stored and the one in which it is served.

An object is served as its definition is now, whatever the definition was when it was written: converted, pruned and
defaulted on the way out. Records written since the definition last changed are already so, and if they are in the
served version their bytes are sent as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nagaya.apiserver.crd.resource import CustomResource
from nagaya.apiserver.custom.conversion import Converter
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Record


class CustomCodec:
    """The codec of one served version."""

    def __init__(
        self,
        api_version: str,
        storage_version: str,
        versions: Mapping[str, CustomResource],
        converter: Converter,
        since: int,
    ) -> None:
        self._api_version = api_version
        self._storage_version = storage_version
        self._versions = versions
        self._converter = converter
        self._since = since

    def is_direct(self, record: Record) -> bool:
        """Whether a record was written under the present definition, in the version that is served."""
        return record.revision > self._since and self._api_version == self._storage_version

    async def decode(self, records: Sequence[Record]) -> list[JsonObject]:
        """Objects as the present definition has them, in the served version."""
        objects = [self._refreshed(record) for record in records]
        return await self._converter.convert(objects, self._api_version)

    def _refreshed(self, record: Record) -> JsonObject:
        obj = record.object()
        if record.revision > self._since:
            return obj
        version = self._versions.get(obj["apiVersion"])
        return obj if version is None else version.refresh(obj)

    async def encode(self, obj: JsonObject) -> JsonObject:
        """The object in the version in which it is stored, with what that version fills in: as it will be read."""
        (made,) = await self._converter.convert([obj], self._storage_version)
        if self._api_version == self._storage_version:
            return made
        return self._versions[self._storage_version].refresh(made)
