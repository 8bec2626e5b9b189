"""How fast and how small the controller runtime is, on this machine: `python benchmarks/kube.py`.

Machines as Cluster API has them, about 3 KB each with their managedFields, come as a list and then as watch events
through the client, the reflector, the store with its indexes and a work queue that hands every key to a worker. The
transport is memory: what is measured is all that lies between a socket and a reconcile.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import platform
import random
import resource
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import orjson
import uvloop

from nagaya.api.cluster.machine import MACHINES
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.controller import Controller, Result
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.queue import Queue
from nagaya.kube.transport import Answer, Call, StreamAnswer
from nagaya.world import World

Row = tuple[str, str, str]
EVENTS_GOAL = 20_000
MEMORY_GOAL = 120
FIRST_CHANGE = 10_000_001
LINES_PER_CHUNK = 20
"""What an aiohttp client typically finds in a socket that a busy server writes to: 64 KB."""


def machine(number: int, version: int) -> bytes:
    """A running Machine in its cluster's namespace."""
    cluster = f"cluster-{number // 20:04}"
    name = f"{cluster}-md-0-abcde-{number:05}"
    conditions: list[dict[str, Any]] = [
        {
            "type": type,
            "status": "True",
            "reason": f"{type}",
            "message": "",
            "observedGeneration": 2,
            "lastTransitionTime": "2026-11-01T12:00:00Z",
        }
        for type in ("Available", "Ready", "UpToDate", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy")
    ]
    fields: dict[str, Any] = {f"f:field{index}": {".": {}, "f:value": {}} for index in range(20)}
    return orjson.dumps(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "metadata": {
                "name": name,
                "namespace": f"tenant-{number // 100:03}",
                "uid": f"0d5a2f6e-0d3c-4a53-9d2e-{number:012}",
                "resourceVersion": str(version),
                "generation": 2,
                "creationTimestamp": "2026-11-01T12:00:00Z",
                "labels": {
                    "cluster.x-k8s.io/cluster-name": cluster,
                    "cluster.x-k8s.io/deployment-name": f"{cluster}-md-0",
                    "cluster.x-k8s.io/set-name": f"{cluster}-md-0-abcde",
                    "machine-template-hash": "1234567890-abcde",
                },
                "ownerReferences": [
                    {
                        "apiVersion": "cluster.x-k8s.io/v1beta2",
                        "kind": "MachineSet",
                        "name": f"{cluster}-md-0-abcde",
                        "uid": f"0d5a2f6e-0d3c-4a53-9d2e-set{number // 20:09}",
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
                "finalizers": ["machine.cluster.x-k8s.io"],
                "managedFields": [
                    {
                        "manager": "nagaya",
                        "operation": "Apply",
                        "apiVersion": "cluster.x-k8s.io/v1beta2",
                        "time": "2026-11-01T12:00:00Z",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:spec": fields},
                    }
                ],
            },
            "spec": {
                "clusterName": cluster,
                "version": "v1.36.3",
                "providerID": f"simulated://{name}",
                "bootstrap": {
                    "configRef": {
                        "apiGroup": "bootstrap.cluster.x-k8s.io",
                        "kind": "KubeadmConfig",
                        "name": name,
                    },
                    "dataSecretName": name,
                },
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "SimulatedMachine",
                    "name": name,
                },
            },
            "status": {
                "phase": "Running",
                "nodeRef": {"name": name},
                "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}],
                "observedGeneration": 2,
                "conditions": conditions,
            },
        }
    )


class Memory:
    """A server that lists so many machines, and then tells the changes that it is given."""

    def __init__(self, objects: int) -> None:
        self._objects = objects
        self.changes: asyncio.Queue[list[bytes]] = asyncio.Queue()

    async def send(self, call: Call) -> Answer:
        begin = int(call.query.get("continue", "0"))
        end = min(begin + int(call.query["limit"]), self._objects)
        rest = str(end) if end < self._objects else ""
        metadata = orjson.dumps({"resourceVersion": str(FIRST_CHANGE - 1), "continue": rest})
        items = b",".join(machine(number, number + 1) for number in range(begin, end))
        return Answer(200, {}, b'{"metadata":' + metadata + b',"items":[' + items + b"]}")

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        yield Chunks(self.changes)

    async def close(self) -> None:
        return


class Chunks:
    """A watch of what is put into a queue."""

    status = 200
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, changes: asyncio.Queue[list[bytes]]) -> None:
        self._changes = changes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            for chunk in await self._changes.get():
                await asyncio.sleep(0)
                yield chunk

    async def body(self) -> bytes:
        return b""


def changes(objects: int, first: int, count: int) -> Iterator[bytes]:
    """Watch events of random machines, in chunks."""
    source = random.Random(first)
    lines: list[bytes] = []
    for number in range(count):
        body = machine(source.randrange(objects), first + number)
        lines.append(b'{"type":"MODIFIED","object":' + body + b"}\n")
        if len(lines) == LINES_PER_CHUNK:
            yield b"".join(lines)
            lines.clear()
    if lines:
        yield b"".join(lines)


class Course:
    """One cache, fed twice: once for a bare queue, once for a controller."""

    def __init__(self, objects: int, events: int) -> None:
        self.objects = objects
        self.events = events
        self.world = World()
        self.transport = Memory(objects)
        self.manager = Manager(Client(self.transport, world=self.world), self.world)
        self.done = 0

    async def run(self) -> list[Row]:
        before = resident()
        begin = time.perf_counter()
        cache = self.manager.cache
        cache.start(MACHINES)
        await cache.synced()
        listed = time.perf_counter() - begin
        gc.collect()
        held, peak = resident() - before, peak_resident()
        bare = await self.bare()
        whole = await self.whole()
        await self.manager.stop()
        return [
            ("objects", f"{self.objects:,}", ""),
            ("listed and indexed in", f"{listed:.2f} s", ""),
            ("memory for them", f"{held:.0f} MB", ""),
            ("peak memory of the process", f"{peak:.0f} MB", verdict(peak <= MEMORY_GOAL, f"<= {MEMORY_GOAL} MB")),
            *bare,
            *whole,
            *read_speed(cache),
        ]

    async def bare(self) -> list[Row]:
        """Reflector, store and queue."""
        queue = Queue(self.world.clock, self.world.random)

        async def work() -> None:
            while True:
                key = await queue.get()
                self.done += 1
                queue.done(key)

        stop = self.manager.cache.subscribe(MACHINES, lambda change: queue.add(Key.of(change.object)))
        workers = [asyncio.create_task(work()) for _ in range(10)]
        await queue.idle()
        speed, cpu, keys = await self.feed(queue, FIRST_CHANGE)
        stop()
        for worker in workers:
            worker.cancel()
        return [
            ("events/s to the queue's workers", f"{speed:,.0f}", verdict(speed >= EVENTS_GOAL, f">= {EVENTS_GOAL:,}")),
            ("  CPU per event", f"{cpu:.1f} us", ""),
            ("  keys handed out", f"{keys:,}", ""),
        ]

    async def whole(self) -> list[Row]:
        """The same with a controller: time limit, metrics, one reconcile for each key that is handed out."""

        async def reconcile(key: Key) -> Result | None:
            assert self.manager.cache.get(MACHINES, key) is not None
            self.done += 1
            return None

        controller = self.manager.add(Controller("benchmark", MACHINES, reconcile))
        await self.manager.start()
        await controller.queue.idle()
        speed, cpu, keys = await self.feed(controller.queue, FIRST_CHANGE + self.events)
        return [
            ("events/s to reconciles", f"{speed:,.0f}", ""),
            ("  CPU per event", f"{cpu:.1f} us", ""),
            ("  reconciles", f"{keys:,}", ""),
        ]

    async def feed(self, queue: Queue, first: int) -> tuple[float, float, int]:
        """Events per second, microseconds of CPU for each, and keys that were worked on."""
        # Made beforehand: making them is the server's work.
        chunks = [*changes(self.objects, first, self.events)]
        seen = asyncio.Event()
        last = str(first + self.events - 1)
        stop = self.manager.cache.subscribe(
            MACHINES,
            lambda change: seen.set() if change.new and change.new.metadata.resource_version == last else None,
        )
        done, cpu, begin = self.done, time.process_time(), time.perf_counter()
        self.transport.changes.put_nowait(chunks)
        await seen.wait()
        await queue.idle()
        took, cpu = time.perf_counter() - begin, time.process_time() - cpu
        stop()
        return self.events / took, cpu / self.events * 1e6, self.done - done


def read_speed(cache: Cache) -> list[Row]:
    """Reads by key and by owner."""
    keys = [Key.of(obj) for obj in cache.list(MACHINES)]
    begin = time.perf_counter()
    for key in keys:
        cache.get(MACHINES, key)
    by_key = (time.perf_counter() - begin) / len(keys)
    owners = [obj.metadata.owner_references[0].uid for obj in cache.list(MACHINES)][:2000]
    begin = time.perf_counter()
    for uid in owners:
        cache.owned(MACHINES, uid)
    by_owner = (time.perf_counter() - begin) / len(owners)
    return [
        ("read by key", f"{by_key * 1e6:.2f} us", ""),
        ("read of 20 objects by owner", f"{by_owner * 1e6:.2f} us", ""),
    ]


def verdict(met: bool, goal: str) -> str:
    return f"{goal}: {'met' if met else 'MISSED'}"


def resident() -> float:
    """Memory of the process now, in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def peak_resident() -> float:
    """Most memory that the process has ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=100_000)
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rows = runner.run(Course(options.objects, options.events).run())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, one used\n")
    width = max(len(name) for name, _, _ in rows)
    for name, value, goal in rows:
        print(f"{name:<{width}}  {value:>12}  {goal}")


if __name__ == "__main__":
    main()
