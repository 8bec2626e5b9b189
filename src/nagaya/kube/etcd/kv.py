"""Keys and values."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from nagaya.kube.etcd.caller import Caller
from nagaya.wire.etcd.header import OnlyHeader
from nagaya.wire.etcd.kv import (
    CompactionRequest,
    DeleteRangeRequest,
    DeleteRangeResponse,
    KeyValue,
    PutRequest,
    PutResponse,
    RangeRequest,
    RangeResponse,
    TxnRequest,
    TxnResponse,
)

PAGE: Final = 500  # keys
_ALL: Final = b"\x00"


def after_prefix(prefix: bytes) -> bytes:
    """The end of the range of all keys that begin with a prefix; with an empty one, of all keys."""
    bare = prefix.rstrip(b"\xff")
    return bare[:-1] + bytes((bare[-1] + 1,)) if bare else _ALL


class Kv:
    """Calls of etcd's KV service. Raise EtcdError."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def get(self, key: bytes, *, revision: int = 0) -> KeyValue | None:
        """A key, if it is there, or was at a revision."""
        found = await self.range(RangeRequest(key=key, revision=revision))
        return found.kvs[0] if found.kvs else None

    async def range(self, request: RangeRequest) -> RangeResponse:
        """Keys as a request says."""
        return await self._caller.ask("KV/Range", request, RangeResponse)

    async def pages(
        self, prefix: bytes, *, revision: int = 0, page: int = PAGE, keys_only: bool = False
    ) -> AsyncIterator[RangeResponse]:
        """All keys that begin with a prefix, in order, as they were at one revision: the given one, or that of the
        first page. Raises Compacted if that revision is forgotten meanwhile."""
        begin, end = prefix or _ALL, after_prefix(prefix)
        while True:
            request = RangeRequest(key=begin, range_end=end, limit=page, revision=revision, keys_only=keys_only)
            found = await self.range(request)
            yield found
            if not found.more or not found.kvs:
                return
            revision = revision or found.header.revision
            begin = found.kvs[-1].key + b"\x00"

    async def put(self, key: bytes, value: bytes, *, lease: int = 0, prev_kv: bool = False) -> PutResponse:
        """Write a key."""
        request = PutRequest(key=key, value=value, lease=lease, prev_kv=prev_kv)
        return await self._caller.ask("KV/Put", request, PutResponse)

    async def delete(self, key: bytes, range_end: bytes = b"", *, prev_kv: bool = False) -> DeleteRangeResponse:
        """Delete a key, or all from it up to an end."""
        request = DeleteRangeRequest(key=key, range_end=range_end, prev_kv=prev_kv)
        return await self._caller.ask("KV/DeleteRange", request, DeleteRangeResponse)

    async def delete_prefix(self, prefix: bytes) -> int:
        """Delete all keys that begin with a prefix, which cannot be empty; returns how many there were."""
        if not prefix:
            raise ValueError("an empty prefix would delete every key")
        return (await self.delete(prefix, after_prefix(prefix))).deleted

    async def transaction(self, request: TxnRequest) -> TxnResponse:
        """All steps or none, if the conditions hold."""
        return await self._caller.ask("KV/Txn", request, TxnResponse)

    async def compact(self, revision: int, *, physical: bool = False) -> None:
        """Forget what was before a revision; `physical` waits until its space is free for new keys."""
        request = CompactionRequest(revision=revision, physical=physical)
        await self._caller.ask("KV/Compact", request, OnlyHeader)
