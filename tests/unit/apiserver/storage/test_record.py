from __future__ import annotations

import functools
import gc
import sys
import tracemalloc

import orjson

from nagaya.apiserver.storage import ABSENT, ANY, NO_LABELS, Record, Store
from nagaya.apiserver.storage.record import StringPool
from unit.apiserver.storage.storage_world import ManualClock


def test_a_record_does_not_show_its_value_which_may_be_a_secret() -> None:
    record = Record("default/token", 7, b'{"data":{"password":"c2VjcmV0"}}')
    assert "c2VjcmV0" not in repr(record)
    assert "default/token" in repr(record)


def test_objects_without_labels_share_one_empty_mapping() -> None:
    pool = StringPool()
    assert pool.labels(None, None) is NO_LABELS
    assert pool.labels({}, None) is NO_LABELS


def test_labels_that_did_not_change_are_those_of_the_record_before() -> None:
    pool = StringPool()
    before = Record("a", 1, b"{}", pool.labels({"app": "web"}, None))
    assert pool.labels({"app": "web"}, before) is before.labels
    assert pool.labels({"app": "db"}, before) == {"app": "db"}


def test_labels_are_a_copy_made_of_shared_strings() -> None:
    pool = StringPool()
    given = {"".join(["a", "pp"]): "".join(["w", "eb"])}
    first = pool.labels(given, None)
    given["app"] = "changed"
    second = pool.labels({"".join(["ap", "p"]): "".join(["we", "b"])}, None)
    assert first == second == {"app": "web"}
    assert next(iter(first)) is next(iter(second))
    assert first["app"] is second["app"]


def test_the_memory_for_shared_strings_is_bounded() -> None:
    pool = StringPool()
    for number in range(StringPool.CAPACITY * 2):
        assert pool.shared(f"value-{number}") == f"value-{number}"
    assert len(pool._strings) == StringPool.CAPACITY


def small_config_map(name: str, revision: int) -> bytes:
    metadata = {"name": name, "namespace": "default", "resourceVersion": str(revision), "labels": {"app": "web"}}
    return orjson.dumps({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"key": "v" * 300}})


async def test_a_small_object_takes_well_below_a_kilobyte_and_a_half_with_its_index_and_history() -> None:
    gc.collect()
    tracemalloc.start()
    try:
        store = Store(ManualClock())
        before = tracemalloc.get_traced_memory()[0]
        count = 2000
        for number in range(count):
            name = f"config-{number:05}"
            await store.put(
                "configmaps",
                f"default/{name}",
                functools.partial(small_config_map, name),
                expected=ABSENT,
                labels={"app": "web"},
            )
        each = (tracemalloc.get_traced_memory()[0] - before) / count
    finally:
        tracemalloc.stop()
    assert each < 1100
    await store.close()


async def test_an_empty_store_takes_a_few_kilobytes() -> None:
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        stores = [Store(ManualClock()) for _ in range(100)]
        each = (tracemalloc.get_traced_memory()[0] - before) / len(stores)
    finally:
        tracemalloc.stop()
    assert each < 10_000


async def test_what_is_kept_is_not_larger_than_what_was_written() -> None:
    """orjson returns small results in buffers of 4 KiB; tens of thousands of them would be kept for years."""
    store = Store(ManualClock())
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        record = await store.put("a", "a", lambda revision: orjson.dumps({"a": revision}), expected=ANY)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 4000 + sys.getsizeof(record.value)
    await store.close()
