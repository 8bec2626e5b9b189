"""One run of `core.py`, in a process of its own: all controllers, with clusters that come up and go again.

The process is what `nagaya controllers` is, with simulated machines; with the embedded server it is the whole plane,
the API server and its data on disk included. Requests are counted where they leave for the management API, so that
neither those to tenants nor those of the user who makes the clusters are among them. One JSON document on standard
input says what to do; one on standard output tells how it went.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import pstats
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import uvloop

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the manifests are those of the tests

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.kind import Kind
from nagaya.api.simulated.simulated_cluster import SIMULATED_CLUSTERS
from nagaya.api.simulated.simulated_machine import SIMULATED_MACHINES
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli import heap
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import BURST, QPS, Plane, install
from nagaya.kube import kubeconfig
from nagaya.kube.cache.change import Change
from nagaya.kube.client import Client
from nagaya.kube.http import HttpTransport
from nagaya.kube.key import Key
from nagaya.kube.rate import RateLimit
from nagaya.kube.transport import Answer, Call, StreamAnswer, Transport
from nagaya.world import World
from support.manifests.simulated import Simulated

SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)
MADE: tuple[Kind[Any], ...] = (
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    MACHINE_SETS,
    MACHINES,
    SIMULATED_CLUSTERS,
    SIMULATED_MACHINES,
)
"""What has to be gone before a cluster is."""
USERS = 8
"""How many requests the user has under way at a time."""
SHOWN_BY_PROFILE = 60


@dataclass(slots=True)
class Order:
    """What to do."""

    clusters: int
    workers: int = 3
    kubeconfig: str = ""
    """Of a real server; without it the embedded one is started in this process."""
    patience: float = 900.0
    profile: str = ""
    """Write what took the time into this file."""


@dataclass(slots=True)
class Course:
    """What a part of the run took."""

    seconds: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    """The most that the process has had by its end, MiB."""
    requests: dict[str, int] = field(default_factory=dict)
    """How many there were of each: verb, resource and status."""
    reconciles: dict[str, int] = field(default_factory=dict)


class Counted:
    """A transport that counts what goes through it."""

    def __init__(self, transport: Transport, requests: Counter[str]) -> None:
        self._transport = transport
        self._requests = requests

    async def send(self, call: Call) -> Answer:
        """Make a call."""
        answer = await self._transport.send(call)
        self._requests[name_of(call, answer.status)] += 1
        return answer

    def stream(self, call: Call) -> AbstractAsyncContextManager[StreamAnswer]:
        """Open a watch."""
        self._requests[name_of(call, 200)] += 1
        return self._transport.stream(call)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._transport.close()


def name_of(call: Call, status: int) -> str:
    """What a request was: `PATCH machines/status 200`."""
    parts = call.path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest and rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    resource_name = "/".join([*rest[:1], *rest[2:]])
    verb = call.method
    if verb == "GET":
        verb = "WATCH" if "watch" in call.query else "GET" if len(rest) > 1 else "LIST"
    if verb == "PATCH" and "apply" in call.headers.get("content-type", ""):
        verb = "APPLY"
    return f"{verb} {resource_name} {status}"


class Unfinished:
    """The objects that are not yet what they are to be, kept up to date by the changes of each."""

    def __init__(
        self,
        kinds: Sequence[Kind[Any]],
        finished: Callable[[Any], bool],
        expected: Sequence[Simulated] = (),
    ) -> None:
        """`finished` is asked about objects, None for one that is gone; `expected` are Clusters that will come."""
        self.kinds = kinds
        self._finished = finished
        self._left = {(Cluster, Key(each.namespace, each.name)) for each in expected}
        self._done = asyncio.Event()

    def look(self, change: Change[Any]) -> None:
        """Take in a change."""
        each = (type(change.object), Key.of(change.object))
        if self._finished(change.new):
            self._left.discard(each)
        else:
            self._left.add(each)
        if not self._left:
            self._done.set()

    async def wait(self) -> None:
        """Wait until none is left."""
        while self._left:
            self._done.clear()
            await self._done.wait()


class Run:
    """A plane, and the user of it."""

    def __init__(self, order: Order, transport: Callable[[], Transport], world: World, *, limited: bool) -> None:
        self._order = order
        self._requests: Counter[str] = Counter()
        self._user = Client(transport(), world=world, field_manager="user")
        self._plane = Plane(
            Counted(transport(), self._requests),
            world,
            lambda tenant: HttpTransport(tenant, world=world),
            limit=RateLimit(QPS, BURST, world.clock) if limited else None,
        )

    async def measure(self) -> dict[str, Any]:
        """All clusters come up, and go."""
        order = self._order
        await install(self._user, PARTS)
        await self._plane.start()
        self._requests.clear()
        begun = time.process_time()
        try:
            clusters = [
                Simulated(f"c{number:04}", workers=order.workers, machine={"startupSeconds": 1})
                for number in range(order.clusters)
            ]
            up = await self._course(self._create(clusters), Unfinished((CLUSTERS,), is_available, clusters))
            await asyncio.sleep(2)  # what follows from the last change is done
            self._requests.clear()
            gone = await self._course(self._delete(clusters), Unfinished(MADE, is_gone))
        finally:
            await self._plane.stop()
            await self._user.close()
        return {"up": asdict(up), "gone": asdict(gone), "cpu": time.process_time() - begun}

    async def _course(self, act: Coroutine[Any, Any, None], unfinished: Unfinished) -> Course:
        reconciles = self._reconciles()
        begun, cpu = time.monotonic(), time.process_time()
        stops = [self._plane.manager.cache.subscribe(kind, unfinished.look) for kind in unfinished.kinds]
        try:
            async with asyncio.timeout(self._order.patience):
                await act
                await unfinished.wait()
        except TimeoutError:
            raise SystemExit(f"not done after {self._order.patience:g} s:\n{self._story()}") from None
        finally:
            for stop in stops:
                stop()
        return Course(
            time.monotonic() - begun,
            time.process_time() - cpu,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            dict(self._requests),
            {name: count - reconciles.get(name, 0) for name, count in self._reconciles().items()},
        )

    async def _create(self, clusters: list[Simulated]) -> None:
        kinds: dict[str, Kind[Any]] = {each.kind.kind: each.kind for part in PARTS.values() for each in part}

        async def one(cluster: Simulated) -> None:
            for content in cluster.manifests():
                await self._user.create(kinds.get(content["kind"], SECRETS), content)

        await each_of(clusters, one)

    async def _delete(self, clusters: list[Simulated]) -> None:
        async def one(cluster: Simulated) -> None:
            await self._user.delete(CLUSTERS, cluster.namespace, cluster.name)

        await each_of(clusters, one)

    def _reconciles(self) -> dict[str, int]:
        found = {}
        for family in self._plane.metrics.reconciles.collect():
            for sample in family.samples:
                if sample.name.endswith("_total"):
                    name = f"{sample.labels['controller']} {sample.labels['result']}"
                    found[name] = round(sample.value)
        return found

    def _story(self) -> str:
        cache = self._plane.manager.cache
        lines = [f"{kind}: {len(cache.list(kind))}" for kind in MADE]
        for cluster in [each for each in cache.list(CLUSTERS) if not is_available(each)][:3]:
            lines += [f"{cluster.metadata.name} {each.type}: {each.message}" for each in cluster.status.conditions]
        for controller in self._plane.manager.controllers:
            lines += [f"{controller.name} {key}: {why}" for key, why in [*controller.errors.items()][:3]]
        return "\n".join(lines)


async def each_of(clusters: list[Simulated], act: Callable[[Simulated], Any]) -> None:
    """Do something for all clusters, a few at a time, in order."""
    rest = iter(clusters)

    async def work() -> None:
        for cluster in rest:
            await act(cluster)

    async with asyncio.TaskGroup() as group:
        for _ in range(USERS):
            group.create_task(work())


def is_gone(obj: object) -> bool:
    """Whether nothing is left of an object."""
    return obj is None


def is_available(cluster: Cluster | None) -> bool:
    """Whether a cluster and all its machines are there."""
    return cluster is not None and any(
        each.type == "Available" and each.status == "True" for each in cluster.status.conditions
    )


@asynccontextmanager
async def embedded(world: World) -> AsyncIterator[Callable[[], Transport]]:
    """The embedded server in this process, as `nagaya up` runs it."""
    with tempfile.TemporaryDirectory(prefix="nagaya-benchmark-") as folder:
        server = await ApiServer.start(Config(data_dir=Path(folder), rules=ADMISSION, nodes=True), world)
        try:
            yield lambda: InProcessTransport(server)
        finally:
            await server.stop()


async def main(order: Order) -> dict[str, Any]:
    """Do what is ordered."""
    world = World()
    if order.kubeconfig:
        connection = kubeconfig.load(Path(order.kubeconfig))
        return await Run(order, lambda: HttpTransport(connection, world=world), world, limited=True).measure()
    async with embedded(world) as transport:
        return await Run(order, transport, world, limited=False).measure()


def run() -> None:
    """Read the order, do it, tell."""
    order = Order(**json.load(sys.stdin))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    heap.settle()
    profile = cProfile.Profile()
    if order.profile:
        profile.enable()
    found = uvloop.run(main(order))
    if order.profile:
        profile.disable()
        with Path(order.profile).open("w") as file:
            for by in ("tottime", "cumtime"):
                pstats.Stats(profile, stream=file).sort_stats(by).print_stats(SHOWN_BY_PROFILE)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    run()
