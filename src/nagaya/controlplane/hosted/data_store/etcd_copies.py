"""Copies of a tenant's keys out of an etcd and into one.

Out: all pages are of the revision of the first, whatever is written meanwhile. In: in transactions that write only
where nothing is, so that two restores, or one beside a running API server, cannot mix unnoticed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from nagaya.controlplane.hosted.data_store.errors import StoreNotEmpty
from nagaya.controlplane.hosted.data_store.snapshots import Entry
from nagaya.kube.etcd.client import EtcdClient
from nagaya.kube.etcd.kv import after_prefix
from nagaya.wire.etcd.kv import Compare, CompareResult, CompareTarget, PutRequest, RangeRequest, RequestOp, TxnRequest

_STEPS: Final = 100  # of the 128 that etcd takes in a transaction unless told otherwise
_BYTES: Final = 1 << 20  # of the 1.5 MiB that it takes in a request
_DELETED_AT_ONCE: Final = 1000


async def entries(client: EtcdClient, prefix: bytes, revision: int) -> AsyncIterator[list[Entry]]:
    """The keys of a prefix as they were at a revision, page by page."""
    left: dict[int, int] = {0: 0}
    async for page in client.kv.pages(prefix, revision=revision):
        for lease in {each.lease for each in page.kvs} - left.keys():
            # One that has just ended leaves its keys a last second, in the copy as in the store.
            left[lease] = max(1, (await client.leases.time_to_live(lease)).ttl)
        yield [Entry(each.key.removeprefix(prefix), each.value, each.lease, left[each.lease]) for each in page.kvs]


async def write(client: EtcdClient, prefix: bytes, pages: AsyncIterator[list[Entry]]) -> int:
    """Write entries below a prefix; returns how many. Raises StoreNotEmpty if one is there already."""
    granted: dict[int, int] = {0: 0}
    count = 0
    async for page in pages:
        for batch in _batches(page):
            for entry in batch:
                if entry.lease not in granted:
                    granted[entry.lease] = (await client.leases.grant(max(1, entry.seconds))).id
            await _write_batch(client, prefix, batch, granted)
            count += len(batch)
    return count


async def delete_all(client: EtcdClient, prefix: bytes) -> int:
    """Delete all keys of a prefix, so many at once that no call takes long; returns how many there were."""
    end, deleted = after_prefix(prefix), 0
    while True:
        request = RangeRequest(key=prefix, range_end=end, limit=_DELETED_AT_ONCE, keys_only=True)
        found = await client.kv.range(request)
        if not found.kvs:
            return deleted
        deleted += (await client.kv.delete(found.kvs[0].key, found.kvs[-1].key + b"\0")).deleted


async def is_empty(client: EtcdClient, prefix: bytes) -> bool:
    """Whether there is no key of a prefix."""
    request = RangeRequest(key=prefix, range_end=after_prefix(prefix), limit=1, keys_only=True)
    return not (await client.kv.range(request)).kvs


async def _write_batch(client: EtcdClient, prefix: bytes, batch: Sequence[Entry], granted: dict[int, int]) -> None:
    keys = [prefix + entry.key for entry in batch]
    absent = tuple(Compare(CompareResult.EQUAL, CompareTarget.CREATE, key, create_revision=0) for key in keys)
    puts = tuple(
        RequestOp(put=PutRequest(key, entry.value, granted[entry.lease]))
        for key, entry in zip(keys, batch, strict=True)
    )
    if not (await client.kv.transaction(TxnRequest(absent, puts))).succeeded:
        raise StoreNotEmpty("something else writes into the tenant's place while it is restored.")


def _batches(page: Sequence[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for entry in page:
        # The key stands in the condition and in the step.
        weight = 2 * len(entry.key) + len(entry.value) + 200
        if batch and (len(batch) == _STEPS or size + weight > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += weight
    if batch:
        yield batch
