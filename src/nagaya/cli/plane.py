"""All controllers of a process, put together: what `nagaya controllers` runs, and tests and benchmarks too.

Each part is a provider of its own that can be left out and replaced by somebody else's; parts meet in the API only.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from nagaya.api.catalog import PARTS as DEFINITIONS
from nagaya.api.crd import render
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.controller import Controller
from nagaya.kube.manager import Manager
from nagaya.kube.metrics import Metrics
from nagaya.kube.patches import Apply
from nagaya.kube.rate import RateLimit
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import follow_secrets
from nagaya.kube.transport import Transport
from nagaya.world import World

if TYPE_CHECKING:
    from nagaya.infrastructure.simulated.tenants import Tenants

QPS: Final = 100.0
BURST: Final = 200

# What each part runs: modules with a function `controller` that makes one from a Runtime.
CONTROLLERS: Final[Mapping[str, tuple[str, ...]]] = {
    "core": (
        "nagaya.core.cluster.controller",
        "nagaya.core.machine.controller",
        "nagaya.core.machine_set.controller",
        "nagaya.core.machine_deployment.controller",
        "nagaya.core.machine_health_check.controller",
    ),
    "addons": ("nagaya.addons.resource_set.controller", "nagaya.addons.resource_set_binding.controller"),
    "infrastructure-simulated": (
        "nagaya.infrastructure.simulated.cluster.controller",
        "nagaya.infrastructure.simulated.machine.controller",
        "nagaya.infrastructure.simulated.machine_template.controller",
    ),
}
SIMULATED: Final = "infrastructure-simulated"
# Those of them that are also given the simulated clusters of the process.
_WITH_TENANTS: Final = frozenset(
    {
        "nagaya.infrastructure.simulated.cluster.controller",
        "nagaya.infrastructure.simulated.machine.controller",
    }
)
_CRDS: Final = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)


class Plane:
    """The controllers of one process, against one management API."""

    def __init__(
        self,
        transport: Transport,
        world: World,
        connect: Callable[[Connection], Transport],
        *,
        parts: Collection[str] = tuple(CONTROLLERS),
        limit: RateLimit | None = None,
        guard: Callable[[], None] = lambda: None,
        tenant_ports: bool = True,
    ) -> None:
        """`tenant_ports` opens a port for each simulated cluster; without it they are reached in this process only."""
        self.tenants: Tenants | None = None
        if SIMULATED in parts:
            # Only now, because they bring a whole API server with them.
            from nagaya.infrastructure.simulated.tenants import Tenants
            from nagaya.infrastructure.simulated.transports import connector

            self.tenants = Tenants(world, listen=tenant_ports)
            connect = connector(self.tenants, connect)
        self.metrics = Metrics()
        self.world = world
        self.client = Client(transport, world=world, limit=limit, guard=guard, told=self.metrics.request)
        self.manager = Manager(self.client, world, metrics=self.metrics)
        cache = self.manager.cache
        self.remotes = Remotes(connect, world, guard=guard, told=self.metrics.request)
        self.recorder = Recorder(self.client, world, on_drop=lambda why: self.metrics.events_dropped.labels(why).inc())
        runtime = Runtime(self.client, cache, ContractKinds(cache), self.remotes, self.recorder, world)
        follow_secrets(cache, self.remotes)
        for part in parts:
            for module in CONTROLLERS[part]:
                given = (runtime, self.tenants) if module in _WITH_TENANTS else (runtime,)
                controller: Controller = importlib.import_module(module).controller(*given)
                self.manager.add(controller)
        self._telling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Fill the caches, then work. Returns when the controllers do."""
        self._telling = asyncio.create_task(self.recorder.run(), name="events")
        await self.manager.start()

    async def stop(self) -> None:
        """Let what is under way end."""
        await self.manager.stop()
        await self.remotes.close()
        if self.tenants is not None:
            await self.tenants.close()
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)
            await self.recorder.flush()
        await self.client.close()


async def install(client: Client, parts: Collection[str], *, force: bool = True) -> None:
    """Have the API serve the kinds of some parts. What is there already is brought up to date.

    Without `force` it raises Conflict where that would change what somebody else has installed.
    """
    for part in parts:
        for definition in DEFINITIONS[part]:
            content = render(definition)
            patch = Apply(content, client.field_manager, force)
            await client.patch(_CRDS, "", content["metadata"]["name"], patch)
    await asyncio.gather(*(_served(client, each.kind) for part in parts for each in DEFINITIONS[part]))


async def _served(client: Client, kind: Kind[Any]) -> None:
    """Wait until a kind that was just installed is served: a moment."""
    name = f"{kind.plural}.{kind.group}"
    listing = await client.list(_CRDS, fields=f"metadata.name={name}")
    if any(_established(each) for each in listing.items):
        return
    events = client.watch(_CRDS, resource_version=listing.resource_version, fields=f"metadata.name={name}")
    async for event in events:
        if event.object is not None and _established(event.object):
            return


def _established(definition: Untyped) -> bool:
    conditions = definition.at("status", "conditions") or ()
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)
