"""All controllers of a process, put together: what `nagaya controllers` runs, and tests and benchmarks too.

Each part is a provider of its own that can be left out and replaced by somebody else's; parts meet in the API only.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from nagaya.allowed_endpoints import Publication
from nagaya.api.catalog import PARTS as DEFINITIONS
from nagaya.api.cluster.labels import WATCH_FILTER
from nagaya.api.crd import render
from nagaya.api.kind import Kind
from nagaya.api.meta import ObjectMeta
from nagaya.api.untyped import Untyped
from nagaya.cli.old_versions import bring_up_to_date
from nagaya.clusters.certificates.key_maker import KeyMaker, Keys
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.state_metrics import StateMetrics
from nagaya.kube.cache.cache import Cache
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
from nagaya.kube.streams.port_forward import PortForward
from nagaya.kube.streams.stream import MakeDialer
from nagaya.kube.tenant_secrets import follow_secrets
from nagaya.kube.transport import Transport
from nagaya.world import World

if TYPE_CHECKING:
    from nagaya.controlplane.hosted.host.host import Host
    from nagaya.controlplane.hosted.host.settings import HostSettings
    from nagaya.controlplane.hosted.pods.settings import PodSettings
    from nagaya.infrastructure.proxmox.client.transport import Transport as ProxmoxTransport
    from nagaya.infrastructure.proxmox.connection.connections import Connections
    from nagaya.infrastructure.simulated.tenants import Tenants

QPS: Final = 100.0
BURST: Final = 200

_AS_PROCESSES: Final = "nagaya.controlplane.hosted.control_plane.controller"
_AS_PODS: Final = "nagaya.controlplane.hosted.pods.controller"

# What each part runs: modules with a function `controller` that makes one from a Runtime. It is also given what its
# further parameters are named after: `tenants`, the simulated clusters of the process; `host` and `stores`, where
# hosted control planes and their data are on this machine; `reader` and `keys`, which read and make authorities;
# `dialers`, which make ways to the pods of tenants; `guard`, to be called before a write that no client makes;
# `connections`, the ways to Proxmox VE, and `links`, the same as machines see them.
CONTROLLERS: Final[Mapping[str, tuple[str, ...]]] = {
    "core": (
        "nagaya.core.cluster.controller",
        "nagaya.core.machine.controller",
        "nagaya.core.machine_set.controller",
        "nagaya.core.machine_deployment.controller",
        "nagaya.core.machine_health_check.controller",
    ),
    "bootstrap-kubeadm": ("nagaya.bootstrap.kubeadm_config.controller",),
    "controlplane-kubeadm": ("nagaya.controlplane.kubeadm.wiring",),
    "controlplane-hosted": (
        "nagaya.controlplane.hosted.data_store_controller.controller",
        _AS_PROCESSES,
    ),
    "addons": ("nagaya.addons.resource_set.controller", "nagaya.addons.resource_set_binding.controller"),
    "ipam": ("nagaya.ipam.in_cluster", "nagaya.ipam.global_in_cluster"),
    "infrastructure-proxmox": (
        "nagaya.infrastructure.proxmox.connection.controller",
        "nagaya.infrastructure.proxmox.cluster.controller",
        "nagaya.infrastructure.proxmox.machine_template.controller",
        "nagaya.infrastructure.proxmox.machine.controller",
        "nagaya.infrastructure.proxmox.virtual_machine.controller",
    ),
    "infrastructure-simulated": (
        "nagaya.infrastructure.simulated.cluster.controller",
        "nagaya.infrastructure.simulated.machine.controller",
        "nagaya.infrastructure.simulated.machine_template.controller",
    ),
}
SIMULATED: Final = "infrastructure-simulated"
PROXMOX: Final = "infrastructure-proxmox"
HOSTED: Final = "controlplane-hosted"
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
        namespaces: Collection[str] = (),
        watch_filter: str = "",
        hosting: HostSettings | None = None,
        host: Callable[[HostSettings, World], Host] | None = None,
        pods: PodSettings | None = None,
        proxmox: Callable[[], ProxmoxTransport] | None = None,
        dialers: MakeDialer | None = None,
        keys: Keys | None = None,
        publication: Publication | None = None,
    ) -> None:
        """`tenant_ports` opens a port for each simulated cluster; without it they are reached in this process only.

        With `namespaces` nothing outside of them exists for this process. With `watch_filter` only objects that have
        the label cluster.x-k8s.io/watch-filter with this value are looked after. `hosting` says where on this machine
        hosted control planes are; without it there can be none, whatever the parts. `host` makes what runs them there:
        with processes unless told otherwise. With `pods` they are pods of the management cluster, and only data stores
        that Nagaya itself runs are on this machine. `proxmox` makes ways to hosts of Proxmox VE: HTTPS unless told
        otherwise. `dialers` makes ways to pods of tenants: through their API unless told otherwise. `keys` makes the
        keys of authorities: in threads unless told otherwise. `publication` tells other processes of this machine where
        simulated clusters listen.
        """
        self.tenants: Tenants | None = None
        self.connections: Connections | None = None
        """The ways to Proxmox VE, with a trace of what was asked."""
        dialers = dialers or partial(PortForward, world=world)
        if SIMULATED in parts:
            # Only now, because they bring a whole API server with them.
            from nagaya.infrastructure.simulated.tenants import Tenants
            from nagaya.infrastructure.simulated.transports import connector, dialer

            self.tenants = Tenants(world, listen=tenant_ports, publication=publication)
            connect = connector(self.tenants, connect)
            dialers = dialer(self.tenants, dialers)
        self.metrics = Metrics()
        self.world = world
        self.client = Client(transport, world=world, limit=limit, guard=guard, told=self.metrics.request)
        self.manager = Manager(
            self.client,
            world,
            metrics=self.metrics,
            cache=Cache(self.client, world, namespaces=namespaces),
            concerns=_labelled(watch_filter) if watch_filter else None,
        )
        cache = self.manager.cache
        self.remotes = Remotes(connect, world, guard=guard, told=self.metrics.request)
        self.recorder = Recorder(self.client, world, on_drop=lambda why: self.metrics.events_dropped.labels(why).inc())
        runtime = Runtime(self.client, cache, ContractKinds(cache), self.remotes, self.recorder, world)
        self._state = StateMetrics(cache, self.remotes)
        follow_secrets(cache, self.remotes)
        shared: dict[str, object] = {
            "tenants": self.tenants,
            "reader": SecretReader(self.client, cache),
            "keys": keys or KeyMaker(),
            "dialers": dialers,
            "guard": guard,
        }
        if HOSTED in parts and hosting is not None:
            from nagaya.controlplane.hosted.data_store_controller.stores import Stores
            from nagaya.controlplane.hosted.host.host import Host

            shared |= {"host": (host or Host)(hosting, world), "stores": Stores(), "pods": pods}
        if PROXMOX in parts:
            from nagaya.infrastructure.proxmox.client import ClientMetrics
            from nagaya.infrastructure.proxmox.connection.connections import Connections
            from nagaya.infrastructure.proxmox.virtual_machine.connected import ConnectedLinks

            measured = ClientMetrics(self.metrics.registry)
            self.connections = Connections(self.client, cache, world, transport=proxmox, metrics=measured, guard=guard)
            shared |= {"connections": self.connections, "links": ConnectedLinks(self.connections)}
        for part in parts:
            if part == HOSTED and hosting is None:
                continue
            for module in CONTROLLERS[part]:
                if module == _AS_PROCESSES and pods is not None:
                    module = _AS_PODS
                make = importlib.import_module(module).controller
                given = {name: shared[name] for name in inspect.signature(make).parameters if name in shared}
                controller: Controller = make(runtime, **given)
                self.manager.add(controller)
        self._telling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Fill the caches, then work. Returns when the controllers do."""
        # Not before: of several processes only the one that works tells how clusters stand, or they count twice.
        self.metrics.registry.register(self._state)
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


def _labelled(value: str) -> Callable[[ObjectMeta], bool]:
    return lambda metadata: metadata.labels.get(WATCH_FILTER) == value


async def install(client: Client, parts: Collection[str], *, force: bool = True, converting: bool = False) -> None:
    """Have the API serve the kinds of some parts. What is there already is brought up to date.

    Without `force` it raises Conflict where that would change what somebody else has installed. Kinds that have an old
    version keep it; who is `converting` brings them up to date later, when it can be asked.
    """
    for part in parts:
        for definition in DEFINITIONS[part]:
            if not await bring_up_to_date(client, definition, force=force, converting=converting):
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
