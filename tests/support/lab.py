"""The whole plane in one process: a management API, Nagaya's controllers, simulated machines and tenants.

On the embedded server it runs on virtual time, so that minutes take moments; on the real one it runs on the clock of
the machine. A scenario is the same for both: it acts through `Lab` and waits with `until`.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from nagaya.api.catalog import PARTS
from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.api.kind import Kind, Object
from nagaya.api.untyped import Untyped
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import CONTROLLERS, Plane, install
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client, Propagation
from nagaya.kube.errors import AlreadyExists, Conflict, NotFound
from nagaya.kube.http import HttpTransport
from nagaya.kube.key import Key
from nagaya.kube.patches import Merge
from nagaya.kube.transport import Transport
from nagaya.world import World
from support.passing_time import PassingLoop
from support.prepared import start_prepared
from support.real import RealControlPlane
from support.virtual_run import virtual_world

T = TypeVar("T", bound=Object)
V = TypeVar("V")
KINDS: Mapping[str, Kind[Any]] = {each.kind.kind: each.kind for part in PARTS.values() for each in part}
SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
NODES = Kind("", "v1", "Node", "nodes", Untyped, namespaced=False)
PATIENCE = 180.0
SHORTEST_PAUSE, LONGEST_PAUSE, LONGEST_REAL_PAUSE = 0.1, 1.0, 0.25
"""Seconds between two looks. Real ones are waited for, virtual ones are not, but each look costs something."""
_CLOSING = 0.3  # seconds that connections take to say goodbye
_INSTALLED: WeakKeyDictionary[RealControlPlane, set[str]] = WeakKeyDictionary()
"""Of which parts real servers have the definitions: they stay for as long as the server does."""


@dataclass(slots=True)
class Lab:
    """A running plane, as a test acts on it."""

    transport: Callable[[], Transport]
    world: World
    namespace: str
    parts: Collection[str]
    real: bool
    client: Client = field(init=False)
    plane: Plane = field(init=False)

    async def start(self) -> None:
        """Start the controllers, again after `stop`."""
        self.client = Client(self.transport(), world=self.world, field_manager="test")
        self.plane = Plane(
            self.transport(),
            self.world,
            lambda tenant: HttpTransport(tenant, world=self.world),
            parts=self.parts,
            tenant_ports=self.real,
        )
        await self.plane.start()

    async def stop(self) -> None:
        """Stop the controllers; what they were doing is left as it is."""
        await self.plane.stop()
        await self.client.close()

    async def create(self, *manifests: Mapping[str, Any]) -> None:
        """Create objects; one that exists is left alone."""
        for content in manifests:
            kind = KINDS.get(content["kind"], SECRETS)
            with contextlib.suppress(AlreadyExists):
                await self.client.create(kind, content)

    async def merge(self, kind: str, name: str, content: Mapping[str, Any]) -> None:
        """Change an object."""
        await self.client.patch(KINDS[kind], self.namespace, name, Merge(content))

    async def annotate(self, kind: str, name: str, **annotations: str | None) -> None:
        """Set annotations, or remove those that are None."""
        await self.merge(kind, name, {"metadata": {"annotations": annotations}})

    async def release(self, kind: str, name: str, finalizer: str) -> None:
        """Take one finalizer off an object that may be going; others are left alone."""

        async def released() -> bool:
            obj = await self.get(kind, name)
            if obj is None or finalizer not in obj.metadata.finalizers:
                return True
            kept = [each for each in obj.metadata.finalizers if each != finalizer]
            content = {"metadata": {"finalizers": kept, "resourceVersion": obj.metadata.resource_version}}
            with contextlib.suppress(Conflict, NotFound):
                await self.merge(kind, name, content)
            return False

        await self.until(f"{kind} {name} has lost {finalizer}", released)

    async def hold(self, kind: str, name: str, finalizer: str) -> None:
        """Keep an object from vanishing."""
        obj = await self.get(kind, name)
        await self.merge(kind, name, {"metadata": {"finalizers": [*obj.metadata.finalizers, finalizer]}})

    async def delete(self, kind: str, name: str, propagation: Propagation | None = None) -> None:
        """Have an object deleted."""
        with contextlib.suppress(NotFound):
            await self.client.delete(KINDS[kind], self.namespace, name, propagation=propagation)

    async def get(self, kind: str, name: str) -> Any:
        """An object as the server has it, None if it is gone."""
        try:
            return await self.client.get(KINDS[kind], self.namespace, name)
        except NotFound:
            return None

    async def all(self, kind: str) -> list[Any]:
        """The objects of a kind in the test's namespace."""
        return (await self.client.list(KINDS[kind], self.namespace)).items

    async def until(self, what: str, check: Callable[[], Awaitable[V]], patience: float = PATIENCE) -> V:
        """Wait until a check returns something true, and return that."""
        loop = asyncio.get_running_loop()
        end = loop.time() + patience
        pause = SHORTEST_PAUSE
        while True:
            found = await check()
            if found:
                return found
            if loop.time() > end:
                raise AssertionError(f"after {patience:g} s not yet: {what}\n{await self.story()}")
            await asyncio.sleep(pause)
            pause = min(pause * 1.2, LONGEST_REAL_PAUSE if self.real else LONGEST_PAUSE)

    async def idle(self, *clusters: str) -> None:
        """Wait until the controllers have heard of everything, in these tenants too, and have done all that there is
        to do now."""
        remotes = [self.plane.remotes.get(Key(self.namespace, each)) for each in clusters]
        await self.plane.manager.idle(*(each.cache for each in remotes if each is not None))

    async def always(self, seconds: float, check: Callable[[], Awaitable[object]]) -> None:
        """See that a check holds all the time for so many seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while loop.time() < end:
            assert await check(), f"{check.__name__} does not hold\n{await self.story()}"
            await asyncio.sleep(0.2)

    async def workers(self) -> list[Any]:
        """The Machines that are no control planes."""
        return [each for each in await self.all("Machine") if CONTROL_PLANE not in each.metadata.labels]

    async def running(self, count: int) -> list[Any]:
        """Wait until there are exactly so many workers, all Available, and the MachineDeployments say so too."""

        found: list[Any] = []

        async def check() -> bool:
            found[:] = await self.workers()
            if len(found) != count or not all(holds(each, "Available") for each in found):
                return False
            told = [each.status for each in await self.all("MachineDeployment")]
            counted = sum(each.replicas or 0 for each in told), sum(each.available_replicas or 0 for each in told)
            return counted == (count, count)

        await self.until(f"{count} workers are available", check)
        return found

    async def rolled(self, name: str, version: str = "") -> Any:
        """Wait until a MachineDeployment is rolled out, with machines of a version if one is given."""

        async def check() -> Any:
            deployment = await self.get("MachineDeployment", name)
            status = deployment.status
            counts = {status.replicas, status.up_to_date_replicas, status.available_replicas, deployment.spec.replicas}
            done = status.observed_generation == deployment.metadata.generation and len(counts) == 1
            if not done or holds(deployment, "RollingOut"):
                return None
            machines = await self.workers()
            right = all(not version or each.spec.version == version for each in machines)
            return deployment if right and len(machines) == deployment.spec.replicas else None

        return await self.until(f"MachineDeployment {name} is rolled out", check)

    async def available(self, name: str) -> Any:
        """Wait until a Cluster is Available, and return it."""

        async def check() -> Any:
            cluster = await self.get("Cluster", name)
            return cluster if cluster is not None and holds(cluster, "Available") else None

        return await self.until(f"Cluster {name} is Available", check)

    async def gone(self, name: str) -> None:
        """Wait until a Cluster and all that belongs to it is gone."""

        async def check() -> bool:
            return not await self.left()

        await self.until(f"nothing is left of Cluster {name}", check)

    async def left(self) -> list[str]:
        """What there still is in the namespace of all that Nagaya makes or users write for a cluster, templates and
        Secrets that users wrote excepted."""
        found = []
        for kind in KINDS.values():
            if kind.kind.endswith("Template") or not kind.namespaced:
                continue
            found += [
                f"{kind.kind}/{each.metadata.name}" for each in (await self.client.list(kind, self.namespace)).items
            ]
        return found

    def tenant(self, cluster: str) -> Client:
        """A client of a tenant that can be reached."""
        remote = self.plane.remotes.get(Key(self.namespace, cluster))
        assert remote is not None, f"Cluster {cluster} cannot be reached"
        return remote.client

    async def node(self, cluster: str, name: str) -> Untyped | None:
        """A Node of a tenant, None if it is gone."""
        try:
            return await self.tenant(cluster).get(NODES, "", name)
        except NotFound:
            return None

    async def nodes(self, cluster: str) -> list[Untyped]:
        """The Nodes of a tenant."""
        remote = self.plane.remotes.get(Key(self.namespace, cluster))
        return [] if remote is None else (await remote.client.list(NODES)).items

    async def story(self) -> str:
        """What the objects say of themselves: for a test that waits in vain."""
        lines = []
        for kind in ("Cluster", "MachineDeployment", "MachineSet", "Machine", "SimulatedCluster", "SimulatedMachine"):
            for obj in await self.all(kind):
                phase = getattr(obj.status, "phase", "")
                deleting = " deleting" if obj.metadata.deleting else ""
                lines.append(f"{kind}/{obj.metadata.name} {phase}{deleting} {obj.metadata.finalizers}")
                lines += [
                    f"    {each.type}={each.status} {each.reason}: {each.message}"
                    for each in obj.status.conditions
                    if each.message or each.status == "Unknown"
                ]
        for controller in self.plane.manager.controllers:
            lines += [f"{controller.name} {key}: {why}" for key, why in controller.errors.items()]
        return "\n".join(lines)


def holds(obj: Any, condition: str) -> bool:
    """Whether a condition of an object is True."""
    return any(each.type == condition and each.status == "True" for each in obj.status.conditions)


def condition(obj: Any, type: str) -> tuple[str, str]:
    """The status and the reason of a condition; empty if the object does not have it."""
    return next(((each.status, each.reason) for each in obj.status.conditions if each.type == type), ("", ""))


def message(obj: Any, type: str) -> str:
    """What a condition says; empty if the object does not have it."""
    return next((str(each.message) for each in obj.status.conditions if each.type == type), "")


def owner(obj: Any, kind: str) -> str:
    """The name of the owner of a kind, empty if there is none."""
    return next((str(each.name) for each in obj.metadata.owner_references if each.kind == kind), "")


Scenario = Callable[[Lab], Awaitable[None]]


def play_embedded(scenario: Scenario, *, parts: Collection[str] = tuple(CONTROLLERS), seed: int = 1) -> None:
    """Run a scenario on the embedded server, on virtual time."""

    async def main() -> None:
        world = virtual_world(seed)
        server = await start_prepared(world)
        try:
            lab = Lab(lambda: InProcessTransport(server), world, "default", parts, real=False)
            async with _running(lab, definitions=()):
                await scenario(lab)
        finally:
            await server.stop()

    with asyncio.Runner(loop_factory=PassingLoop) as runner:
        runner.run(main())


def play_real(
    control_plane: RealControlPlane,
    scenario: Scenario,
    *,
    parts: Collection[str] = tuple(CONTROLLERS),
    definitions: Collection[str] = tuple(PARTS),
) -> None:
    """Run a scenario on the real server, in a namespace of its own. `definitions` are the parts to install first, by
    the first scenario that is played there."""
    installed = _INSTALLED.setdefault(control_plane, set())
    missing = [each for each in definitions if each not in installed]

    async def main() -> None:
        world = World()
        connection = kubeconfig.load(control_plane.kubeconfig)
        namespace = f"lab-{uuid.uuid4().hex[:8]}"
        lab = Lab(lambda: HttpTransport(connection, world=world), world, namespace, parts, real=True)
        async with _running(lab, missing):
            installed.update(missing)
            await scenario(lab)
            await _clean(lab)
        await asyncio.sleep(_CLOSING)

    asyncio.run(main())


@contextlib.asynccontextmanager
async def _running(lab: Lab, definitions: Collection[str]) -> AsyncIterator[None]:
    first = Client(lab.transport(), world=lab.world, field_manager="test")
    await install(first, definitions)
    with contextlib.suppress(AlreadyExists):
        await first.create(NAMESPACES, {"metadata": {"name": lab.namespace}})
    await first.close()
    await lab.start()
    try:
        yield
    finally:
        await lab.stop()


async def _clean(lab: Lab) -> None:
    for cluster in await lab.all("Cluster"):
        await lab.delete("Cluster", cluster.metadata.name)

    async def check() -> bool:
        return not await lab.all("Cluster")

    await lab.until("all Clusters are gone", check)


def by_name(objects: Sequence[T]) -> dict[str, T]:
    """Objects by their names."""
    return {each.metadata.name: each for each in objects}
