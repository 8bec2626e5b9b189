"""How fast and how small the storage of the API server is, on this machine: `python benchmarks/storage.py`.

Everything runs in one process, without HTTP: what is measured is the floor under the API server's own figures. Writes
are durable: each caller waits until its write is on the disk of the directory given by --directory.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import platform
import resource
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import apsw
import orjson
import uvloop

from nagaya.apiserver.storage import ABSENT, ANY, Store, Watch, open_store
from nagaya.world import SystemClock

Row = tuple[str, str]


def config_map(namespace: str, name: str) -> Callable[[int], bytes]:
    """A small ConfigMap as the API server stores it, about 500 bytes."""

    def encode(revision: int) -> bytes:
        return orjson.dumps(
            {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "uid": "0d5a2f6e-0d3c-4a53-9d2e-5f0e6f2a6b3c",
                    "resourceVersion": str(revision),
                    "creationTimestamp": "2026-01-01T00:00:00Z",
                    "labels": {"app": "benchmark"},
                    "managedFields": [
                        {
                            "manager": "kubectl-create",
                            "operation": "Update",
                            "apiVersion": "v1",
                            "time": "2026-01-01T00:00:00Z",
                            "fieldsType": "FieldsV1",
                            "fieldsV1": {"f:data": {".": {}, "f:key": {}}},
                        }
                    ],
                },
                "data": {"key": "value" * 10},
            }
        )

    return encode


async def fill(store: Store, count: int) -> None:
    """Create objects, many at a time."""

    async def create(numbers: range) -> None:
        for number in numbers:
            name = f"config-{number:06}"
            await store.put(
                "configmaps",
                f"default/{name}",
                config_map("default", name),
                expected=ABSENT,
                labels={"app": "benchmark"},
            )

    await asyncio.gather(*(create(range(start, count, 200)) for start in range(200)))


async def measure_writes(directory: Path, clients: int, seconds: float) -> Row:
    """Creates by clients that each wait for one write before they start the next."""
    store = await open_store(directory / f"writes-{clients}", SystemClock())
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        count = 0
        while (start := time.perf_counter()) < end:
            name = f"config-{number}-{count}"
            await store.put("configmaps", f"default/{name}", config_map("default", name), expected=ABSENT)
            latencies.append(time.perf_counter() - start)
            count += 1

    await asyncio.gather(*(client(number) for number in range(clients)))
    await store.close()
    return f"durable creates, {clients} clients", f"{len(latencies) / seconds:,.0f}/s   {percentiles(latencies)}"


async def measure_writes_in_a_busy_loop(directory: Path, seconds: float) -> Row:
    """Creates by 16 clients while the event loop never rests, as when large lists are being served."""
    store = await open_store(directory / "busy", SystemClock())
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def work() -> None:
        while time.perf_counter() < end:
            until = time.perf_counter() + 0.0005
            while time.perf_counter() < until:
                pass
            await asyncio.sleep(0)

    async def client(number: int) -> None:
        count = 0
        while (start := time.perf_counter()) < end:
            name = f"config-{number}-{count}"
            await store.put("configmaps", f"default/{name}", config_map("default", name), expected=ABSENT)
            latencies.append(time.perf_counter() - start)
            count += 1

    await asyncio.gather(work(), *(client(number) for number in range(16)))
    await store.close()
    return "durable creates, 16 clients, busy loop", f"{len(latencies) / seconds:,.0f}/s   {percentiles(latencies)}"


async def measure_updates_in_memory(seconds: float) -> Row:
    """Updates of one in-memory store by one client."""
    store = Store(SystemClock())
    await fill(store, 1000)
    count = 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        name = f"config-{count % 1000:06}"
        await store.put("configmaps", f"default/{name}", config_map("default", name), expected=ANY)
        count += 1
    await store.close()
    return "updates in memory, 1 client", f"{count / seconds:,.0f}/s"


async def measure_list() -> Row:
    """Reading 5,000 records, of now and of before the last 1,000 writes."""
    store = Store(SystemClock())
    await fill(store, 5000)
    before = store.revision
    now = await best_of(20, lambda: store.list("configmaps"))
    for number in range(1000):
        name = f"config-{number * 5:06}"
        await store.put("configmaps", f"default/{name}", config_map("default", name), expected=ANY)
    earlier = await best_of(20, lambda: store.list("configmaps", revision=before))
    await store.close()
    return "list of 5,000", f"{now * 1e6:,.0f} us; at a revision 1,000 writes ago {earlier * 1e6:,.0f} us"


async def measure_fan_out(watchers: int) -> Row:
    """From a write to the moment the last of many watchers has it."""
    store = Store(SystemClock())
    times: list[float] = []

    async def follow(watch: Watch) -> None:
        async for _ in watch:
            pending.discard(watch)
            if not pending:
                all_have_it.set()

    async def write(number: int) -> None:
        pending.update(watches)
        all_have_it.clear()
        start = time.perf_counter()
        await store.put("configmaps", f"default/{number}", config_map("default", str(number)), expected=ABSENT)
        await all_have_it.wait()
        times.append(time.perf_counter() - start)

    pending: set[Watch] = set()
    all_have_it = asyncio.Event()
    watches = [store.watch("configmaps", store.revision) for _ in range(watchers)]
    tasks = [asyncio.create_task(follow(watch)) for watch in watches]
    await asyncio.sleep(0)
    for number in range(50):
        await write(number)
    await store.close()
    await asyncio.gather(*tasks)
    return f"one event to {watchers:,} watchers", percentiles(times)


async def measure_memory(count: int) -> Sequence[Row]:
    """Python's memory for stored objects, with the history of their creation and after it is compacted."""
    gc.collect()
    tracemalloc.start()
    store = Store(SystemClock())
    empty = tracemalloc.get_traced_memory()[0]
    await fill(store, count)
    gc.collect()
    young = tracemalloc.get_traced_memory()[0]
    store.compact(store.revision)
    gc.collect()
    old = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    value = len(store.list("configmaps", limit=1).records[0].value)
    await store.close()
    each = (old - empty) / count
    return [
        (
            "memory per object",
            f"{each:,.0f} bytes, of which {value} are its JSON; {(young - empty) / count:,.0f} if new",
        ),
        ("memory of an empty in-memory store", f"{empty:,} bytes"),
    ]


async def measure_open(directory: Path, count: int) -> Sequence[Row]:
    """Start on existing data: after a proper stop, and after a kill (when the structure of the file is checked)."""
    store = await open_store(directory / "open", SystemClock())
    await fill(store, count)
    killed = directory / "killed"
    killed.mkdir(mode=0o700)
    for file in (directory / "open").glob("state.db*"):
        (killed / file.name).write_bytes(file.read_bytes())
    await store.close()
    size = (directory / "open" / "state.db").stat().st_size

    async def start(path: Path) -> float:
        began = time.perf_counter()
        opened = await open_store(path, SystemClock())
        took = time.perf_counter() - began
        assert opened.count("configmaps") == count
        await opened.close()
        return took

    after_kill = await start(killed)
    proper = min([await start(directory / "open") for _ in range(3)])
    return [
        (f"open with {count:,} objects ({size / 1e6:.0f} MB)", f"{proper:.3f} s"),
        ("the same after a kill", f"{after_kill:.3f} s"),
    ]


async def measure_backup(directory: Path) -> Row:
    """An online backup of what `measure_open` left."""
    store = await open_store(directory / "open", SystemClock())
    start = time.perf_counter()
    await store.backup(directory / "backup.db")
    took = time.perf_counter() - start
    await store.close()
    return "online backup of the same", f"{took:.3f} s"


def percentiles(values: list[float]) -> str:
    """The middle and the slow end, in milliseconds."""
    values = sorted(values)
    return f"p50 {values[len(values) // 2] * 1e3:.2f} ms   p99 {values[int(len(values) * 0.99)] * 1e3:.2f} ms"


async def best_of(times: int, work: Callable[[], object]) -> float:
    """The shortest of several runs."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        await asyncio.sleep(0)
    return best


def main() -> None:
    """Measure everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, help="where the databases go (default: a temporary directory)")
    parser.add_argument("--objects", type=int, default=33_000)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each rate")
    parser.add_argument("--loop", choices=["uvloop", "asyncio"], default="uvloop")
    options = parser.parse_args()
    run = uvloop.run if options.loop == "uvloop" else asyncio.run
    versions = f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, {options.loop}"
    print(f"{versions}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        directory = Path(name)
        directory.chmod(0o700)
        report(run, measure_memory(options.objects))
        for clients in (1, 16, 128):
            report(run, measure_writes(directory, clients, options.seconds))
        report(run, measure_writes_in_a_busy_loop(directory, options.seconds))
        report(run, measure_updates_in_memory(options.seconds))
        report(run, measure_list())
        report(run, measure_fan_out(1000))
        report(run, measure_open(directory, options.objects))
        report(run, measure_backup(directory))
    print(f"{'peak memory of this process':45} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def report(run: Callable[[Coroutine[Any, Any, Any]], Any], measurement: Coroutine[Any, Any, Any]) -> None:
    """Run one measurement in an event loop of its own and print its lines."""
    result = run(measurement)
    for label, figure in [result] if isinstance(result, tuple) else result:
        print(f"{label:45} {figure}", flush=True)


if __name__ == "__main__":
    main()
