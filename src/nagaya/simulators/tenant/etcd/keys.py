"""The keys of an etcd, as far as health checks and first tries need them: one revision at a time, no history."""

from __future__ import annotations

from nagaya.wire.etcd.kv import (
    DeleteRangeRequest,
    DeleteRangeResponse,
    KeyValue,
    PutRequest,
    PutResponse,
    RangeRequest,
    RangeResponse,
    SortOrder,
)


class Keys:
    """All keys, as they are now."""

    def __init__(self) -> None:
        self.revision = 1
        self._keys: dict[bytes, KeyValue] = {}

    @property
    def size(self) -> int:
        """How many bytes they take."""
        return sum(len(each.key) + len(each.value) for each in self._keys.values())

    def range(self, asked: RangeRequest) -> RangeResponse:
        """Those from a key up to an end."""
        found = self._within(asked.key, asked.range_end)
        if asked.sort_order is SortOrder.DESCEND:
            found.reverse()
        taken = found[: asked.limit] if asked.limit else found
        if asked.keys_only:
            taken = [KeyValue(each.key, each.create_revision, each.mod_revision, each.version) for each in taken]
        kvs = () if asked.count_only else tuple(taken)
        return RangeResponse(kvs=kvs, more=bool(asked.limit) and len(found) > asked.limit, count=len(found))

    def put(self, asked: PutRequest) -> PutResponse:
        """Write one."""
        self.revision += 1
        before = self._keys.get(asked.key)
        created, version = (before.create_revision, before.version + 1) if before else (self.revision, 1)
        self._keys[asked.key] = KeyValue(asked.key, created, self.revision, version, asked.value, asked.lease)
        return PutResponse(prev_kv=before if asked.prev_kv else None)

    def delete(self, asked: DeleteRangeRequest) -> DeleteRangeResponse:
        """Delete some."""
        found = self._within(asked.key, asked.range_end)
        if found:
            self.revision += 1
        for each in found:
            del self._keys[each.key]
        return DeleteRangeResponse(deleted=len(found), prev_kvs=tuple(found) if asked.prev_kv else ())

    def _within(self, key: bytes, end: bytes) -> list[KeyValue]:
        """In order. An end of one zero byte stands for all that follow."""
        if not end:
            return [self._keys[key]] if key in self._keys else []
        return [self._keys[each] for each in sorted(self._keys) if each >= key and (end == b"\x00" or each < end)]
