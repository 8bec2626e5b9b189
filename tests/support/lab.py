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

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.api.kind import Kind, Object
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import CONTROLLERS, Plane, install
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client
from nagaya.kube.errors import AlreadyExists, NotFound
from nagaya.kube.http import HttpTransport
from nagaya.kube.key import Key
from nagaya.kube.patches import Merge
from nagaya.kube.transport import Transport
from nagaya.world import World
from support.real import RealControlPlane
from support.virtual_run import run, virtual_world

T = TypeVar("T", bound=Object)
V = TypeVar("V")
KINDS: Mapping[str, Kind[Any]] = {each.kind.kind: each.kind for part in PARTS.values() for each in part}
SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
NODES = Kind("", "v1", "Node", "nodes", Untyped, namespaced=False)
PATIENCE = 180.0


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

    async def delete(self, kind: str, name: str) -> None:
        """Have an object deleted."""
        with contextlib.suppress(NotFound):
            await self.client.delete(KINDS[kind], self.namespace, name)

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
        while True:
            found = await check()
            if found:
                return found
            if loop.time() > end:
                raise AssertionError(f"after {patience:g} s not yet: {what}\n{await self.story()}")
            await asyncio.sleep(0.1)

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


Scenario = Callable[[Lab], Awaitable[None]]


def play_embedded(scenario: Scenario, *, parts: Collection[str] = tuple(CONTROLLERS), seed: int = 1) -> None:
    """Run a scenario on the embedded server, on virtual time."""

    async def main() -> None:
        world = virtual_world(seed)
        server = await ApiServer.start(Config(rules=ADMISSION), world)
        try:
            lab = Lab(lambda: InProcessTransport(server), world, "default", parts, real=False)
            async with _running(lab):
                await scenario(lab)
        finally:
            await server.stop()

    run(main())


def play_real(
    control_plane: RealControlPlane, scenario: Scenario, *, parts: Collection[str] = tuple(CONTROLLERS)
) -> None:
    """Run a scenario on the real server, in a namespace of its own."""

    async def main() -> None:
        world = World()
        connection = kubeconfig.load(control_plane.kubeconfig)
        namespace = f"lab-{uuid.uuid4().hex[:8]}"
        lab = Lab(lambda: HttpTransport(connection, world=world), world, namespace, parts, real=True)
        async with _running(lab):
            await scenario(lab)
            await _clean(lab)

    asyncio.run(main())


@contextlib.asynccontextmanager
async def _running(lab: Lab) -> AsyncIterator[None]:
    first = Client(lab.transport(), world=lab.world, field_manager="test")
    await install(first, PARTS)
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
