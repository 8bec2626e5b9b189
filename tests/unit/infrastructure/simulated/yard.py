"""A management API with the simulated provider at work on virtual time; the test plays the core."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from nagaya.api.catalog import PARTS
from nagaya.api.cluster import cluster, machine
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.crd import render
from nagaya.api.kind import Kind, Object
from nagaya.api.simulated.simulated_cluster import SIMULATED_CLUSTERS, SimulatedCluster
from nagaya.api.simulated.simulated_machine import SIMULATED_MACHINES, SimulatedMachine
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import SIMULATED, Plane
from nagaya.infrastructure.simulated.tenants import Tenants
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.patches import Merge
from nagaya.kube.transport import Answer, Call, Transport
from support.simulated_tenant import Kubectl
from support.virtual_run import virtual_world

NAMESPACE = "fleet"
CLUSTER = Key(NAMESPACE, "harbour")
SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
KINDS = (cluster.DEFINITION, machine.DEFINITION, *PARTS[SIMULATED])


class Recording(InProcessTransport):
    """Remembers what was written."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(server)
        self.writes: list[str] = []

    async def send(self, call: Call) -> Answer:
        if call.method != "GET":
            self.writes.append(f"{call.method} {call.path.removeprefix('/apis/infrastructure.cluster.x-k8s.io')}")
        return await super().send(call)


def no_network(connection: Connection) -> Transport:
    raise AssertionError(f"{connection.server} is not a cluster of this process")


class Yard:
    """The API as its user and the core see it, and the provider."""

    def __init__(self, server: ApiServer, user: Client) -> None:
        self.server = server
        self.user = user
        self.world = server.world
        self.start_plane()

    def start_plane(self) -> None:
        """A process that has not started yet."""
        self.transport = Recording(self.server)
        self.plane = Plane(self.transport, self.world, no_network, parts=[SIMULATED], tenant_ports=False)

    @property
    def tenants(self) -> Tenants:
        assert self.plane.tenants is not None
        return self.plane.tenants

    @property
    def writes(self) -> list[str]:
        return self.transport.writes

    def kubectl(self) -> Kubectl:
        """The tenant's administrator."""
        tenant = self.tenants.get(CLUSTER)
        assert tenant is not None
        return Kubectl(tenant, self.world)

    async def restart(self) -> None:
        """The process ends, and another one begins."""
        await self.plane.stop()
        self.start_plane()
        await self.plane.start()
        await self.idle()

    async def idle(self) -> None:
        await self.plane.manager.idle()

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.idle()

    async def cluster(self, spec: Mapping[str, Any] | None = None, **simulated: Any) -> None:
        """The Cluster and its SimulatedCluster, owned."""
        await self._cluster(CLUSTER.name, "quay", spec or {}, simulated)

    async def another(self, name: str, **simulated: Any) -> SimulatedCluster:
        """One more of both, a second later."""
        await self.wait(1)
        await self._cluster(name, name, {}, simulated)
        return await self.user.get(SIMULATED_CLUSTERS, NAMESPACE, name)

    async def _cluster(self, name: str, below: str, spec: Mapping[str, Any], simulated: Mapping[str, Any]) -> None:
        reference = {"apiGroup": SIMULATED_CLUSTERS.group, "kind": "SimulatedCluster", "name": below}
        metadata = {"namespace": NAMESPACE, "name": name}
        content = {"metadata": metadata, "spec": {"infrastructureRef": reference, **spec}}
        made = await self.user.create(CLUSTERS, content)
        await self.user.create(SIMULATED_CLUSTERS, {"metadata": self._owned(below, CLUSTERS, made), "spec": simulated})
        await self.idle()

    async def provisioned(self) -> None:
        """The core has seen that the infrastructure is there."""
        endpoint = (await self.simulated_cluster()).spec.control_plane_endpoint
        spec = {"spec": {"controlPlaneEndpoint": {"host": endpoint.host, "port": endpoint.port}}}
        await self.user.patch(CLUSTERS, *CLUSTER, Merge(spec))
        status = {"status": {"initialization": {"infrastructureProvisioned": True}}}
        await self.user.patch(CLUSTERS, *CLUSTER, Merge(status), subresource="status")
        await self.idle()

    async def machine(self, name: str, *, control_plane: bool = False, data: str | None = "d", **spec: Any) -> Machine:
        """A Machine and its SimulatedMachine, owned."""
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER.name}
        if control_plane:
            labels["cluster.x-k8s.io/control-plane"] = ""
        more = {"failureDomain": domain} if (domain := spec.pop("failure_domain", "")) else {}
        made = await self.user.create(
            MACHINES,
            {
                "metadata": {"namespace": NAMESPACE, "name": name, "labels": labels},
                "spec": {
                    "clusterName": CLUSTER.name,
                    "version": "v1.36.3",
                    "bootstrap": {"dataSecretName": data}
                    if data is not None
                    else {"configRef": {"apiGroup": "b.example.com", "kind": "Config", "name": name}},
                    "infrastructureRef": {
                        "apiGroup": SIMULATED_MACHINES.group,
                        "kind": "SimulatedMachine",
                        "name": name,
                    },
                    **more,
                },
            },
        )
        metadata = {**self._owned(name, MACHINES, made), "labels": labels}
        await self.user.create(SIMULATED_MACHINES, {"metadata": metadata, "spec": spec})
        await self.idle()
        return made

    async def running(self, *workers: str) -> None:
        """A cluster with a control plane machine and workers, all up."""
        await self.cluster()
        await self.provisioned()
        await self.machine("cp", control_plane=True)
        for name in workers:
            await self.machine(name)
        await self.wait(3)

    async def order(self, kind: Kind[Any], name: str, **spec: Any) -> None:
        """Change a spec."""
        await self.user.patch(kind, NAMESPACE, name, Merge({"spec": spec}))
        await self.idle()

    async def delete(self, kind: Kind[Any], name: str) -> None:
        await self.user.delete(kind, NAMESPACE, name)
        await self.idle()

    async def exists(self, kind: Kind[Any], name: str) -> bool:
        try:
            await self.user.get(kind, NAMESPACE, name)
        except NotFound:
            return False
        return True

    async def simulated_cluster(self) -> SimulatedCluster:
        return await self.user.get(SIMULATED_CLUSTERS, NAMESPACE, "quay")

    async def host(self, name: str) -> SimulatedMachine:
        return await self.user.get(SIMULATED_MACHINES, NAMESPACE, name)

    async def says(self, name: str, type: str) -> tuple[str, str]:
        """Status and reason of a condition of a machine."""
        return said(await self.host(name), type)

    def _owned(self, name: str, kind: Kind[Any], owner: Object) -> dict[str, Any]:
        reference = {"apiVersion": kind.api_version, "kind": kind.kind, "name": owner.metadata.name}
        return {"namespace": NAMESPACE, "name": name, "ownerReferences": [{**reference, "uid": owner.metadata.uid}]}


def said(obj: SimulatedCluster | SimulatedMachine, type: str) -> tuple[str, str]:
    """Status and reason of a condition."""
    found = {each.type: each for each in obj.status.conditions}
    return found[type].status, found[type].reason


@asynccontextmanager
async def yard() -> AsyncIterator[Yard]:
    """A yard at work, on the running loop's time."""
    world = virtual_world()
    server = await ApiServer.start(Config(), world)
    user = Client(InProcessTransport(server, user="somebody"), world=world)
    await user.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    await asyncio.gather(*(user.create(DEFINITIONS, render(each)) for each in KINDS))
    await server.settled()
    here = Yard(server, user)
    await here.plane.start()
    try:
        yield here
    finally:
        await here.plane.stop()
        await server.stop()
