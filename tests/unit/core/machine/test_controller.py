from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from nagaya.api.cluster import cluster, machine, machine_deployment, machine_drain_rule, machine_set
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_drain_rule import MACHINE_DRAIN_RULES
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.crd import render
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.clusters.node import NODES
from nagaya.core.machine.controller import controller
from nagaya.core.machine.seen import Settings, observe
from nagaya.kube.cache.change import Change
from nagaya.kube.client import Client
from nagaya.kube.conditions import get
from nagaya.kube.connection import Connection
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.election import LostLeadership
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.patches import Merge
from nagaya.kube.recorder import EVENTS, Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import Answer, Call
from support import builders
from support.builders import BOOTSTRAP, INFRASTRUCTURE
from support.virtual_run import virtual_world

DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
UNINITIALIZED = "node.cluster.x-k8s.io/uninitialized"
WORLD = virtual_world()
NUMBERS = itertools.count()
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)


class Counting(InProcessTransport):
    """Remembers every write that had an effect, and how many had none because somebody else was first."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(server)
        self.writes: list[str] = []
        self.conflicts = 0
        self.refuse = 0

    async def send(self, call: Call) -> Answer:
        if self.refuse and call.method != "GET":
            self.refuse -= 1
            return Answer(500, {"content-type": "text/plain"}, b"not now")
        answer = await super().send(call)
        if call.method != "GET" and "/events" not in call.path:
            if answer.status == 409:
                self.conflicts += 1
            else:
                self.writes.append(f"{call.method} {'/'.join(call.path.split('/')[-3:])}")
        return answer


@dataclass
class Here:
    """A management API with a namespace of the test's own, a cluster, its tenant, and the machine controller."""

    namespace: str
    client: Client
    tenant: Client
    manager: Manager
    rt: Runtime
    transport: Counting
    tenant_transport: Counting
    user: Client
    telling: asyncio.Task[None]

    @property
    def a(self) -> Key:
        return Key(self.namespace, "a")

    @property
    def harbour(self) -> Key:
        return Key(self.namespace, "harbour")

    @property
    def node(self) -> str:
        return f"node-{self.namespace}"

    @property
    def provider_id(self) -> str:
        return f"boat:///{self.namespace}"

    async def idle(self) -> None:
        remote = self.rt.remotes.get(self.harbour)
        await self.manager.idle(*([] if remote is None else [remote.cache]))

    async def connect(self) -> None:
        """Make the tenant reachable and wait until it is."""
        told = asyncio.Event()
        self.rt.remotes.subscribe(lambda _: told.set())
        self.rt.remotes.offer(self.harbour, Connection("https://harbour"))
        self.rt.remotes.want(self.harbour)
        async with asyncio.timeout(60):
            await told.wait()
        await self.idle()
        await self.idle()  # once more: by now the tenant's Nodes are being listed

    async def machine(self) -> Machine:
        await self.idle()
        found = await self.user.get(MACHINES, *self.a)
        cached = self.rt.cache.get(MACHINES, self.a)
        assert cached is not None
        assert cached.metadata.resource_version == found.metadata.resource_version, "the cache has caught up"
        return found

    async def condition(self, type: str) -> str:
        found = get((await self.machine()).status.conditions, type)
        return "" if found is None else f"{found.status} {found.reason}: {found.message}"

    async def make_machine(self, **spec: Any) -> None:
        """A user's Machine with both objects of providers."""
        for kind in (BOOTSTRAP, INFRASTRUCTURE):
            await self.user.create(kind, {"metadata": {"name": "a", "namespace": self.namespace}})
        await self.user.create(MACHINES, self.draft(**spec))

    def draft(self, **spec: Any) -> dict[str, Any]:
        """A Machine as a user writes it."""
        content = builders.machine().having(spec=spec).content
        return {"metadata": {"name": "a", "namespace": self.namespace}, "spec": content["spec"]}

    async def boot(self) -> None:
        """What the two providers do."""
        done = {"status": {"initialization": {"dataSecretCreated": True}, "dataSecretName": "a-data"}}
        await self.user.patch(BOOTSTRAP, *self.a, Merge(done), subresource="status")
        await self.user.patch(INFRASTRUCTURE, *self.a, Merge({"spec": {"providerID": self.provider_id}}))
        done = {"status": {"initialization": {"provisioned": True}}}
        await self.user.patch(INFRASTRUCTURE, *self.a, Merge(done), subresource="status")

    async def join(self) -> None:
        """What a kubelet does."""
        await self.tenant.create(
            NODES,
            {
                "metadata": {"name": self.node},
                "spec": {
                    "providerID": self.provider_id,
                    "taints": [{"key": UNINITIALIZED, "effect": "NoSchedule"}],
                },
            },
        )
        good = [{"type": type, "status": status} for type, status in _GOOD.items()]
        await self.tenant.patch(NODES, "", self.node, Merge({"status": {"conditions": good}}), subresource="status")


_GOOD = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}


def _definition(kind: Kind[Untyped]) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "metadata": {"name": f"{kind.plural}.{kind.group}", "labels": {"cluster.x-k8s.io/v1beta2": kind.version}},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"plural": kind.plural, "kind": kind.kind},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[ApiServer]:
    """A server with the kinds that a machine needs. It is the tenant, too: Nodes are in no namespace."""
    started = await ApiServer.start(Config(), WORLD)
    await started.settled()
    user = Client(InProcessTransport(started, "user"), world=WORLD)
    for module in (cluster, machine, machine_set, machine_deployment, machine_drain_rule):
        await user.create(DEFINITIONS, render(module.DEFINITION))
    for kind in (BOOTSTRAP, INFRASTRUCTURE):
        await user.create(DEFINITIONS, _definition(kind))
    await started.settled()
    yield started
    await started.stop()


@pytest_asyncio.fixture(loop_scope="module")
async def here(server: ApiServer) -> AsyncIterator[Here]:
    namespace = await harbour(server)
    async with controlled(server, namespace) as found:
        yield found


async def harbour(server: ApiServer) -> str:
    """A namespace with a Cluster whose control plane has answered."""
    user = Client(InProcessTransport(server, "user"), world=WORLD)
    namespace = f"fleet-{next(NUMBERS)}"
    await user.create(NAMESPACES, {"metadata": {"name": namespace}})
    await user.create(CLUSTERS, {"metadata": {"name": "harbour", "namespace": namespace}, "spec": {"paused": False}})
    answered = builders.cluster().content["status"]
    await user.patch(CLUSTERS, namespace, "harbour", Merge({"status": answered}), subresource="status")
    return namespace


@asynccontextmanager
async def controlled(
    server: ApiServer, namespace: str, guard: Callable[[], None] = lambda: None
) -> AsyncIterator[Here]:
    """The machine controller at work in a namespace."""
    transport, tenant_transport = Counting(server), Counting(server)
    client = Client(transport, world=WORLD, guard=guard)
    manager = Manager(client, WORLD)
    kinds: tuple[Kind[Any], ...] = (CLUSTERS, MACHINES, MACHINE_SETS, MACHINE_DEPLOYMENTS, MACHINE_DRAIN_RULES)
    for kind in kinds:
        manager.cache.start(kind, namespace=namespace)
    remotes = Remotes(lambda _: tenant_transport, WORLD, guard=guard)
    recorder = Recorder(client, WORLD)
    rt = Runtime(client, manager.cache, ContractKinds(manager.cache), remotes, recorder, WORLD)
    manager.add(controller(rt))
    await manager.start()
    telling = asyncio.create_task(recorder.run())
    user = Client(InProcessTransport(server, "user"), world=WORLD)
    tenant = Client(InProcessTransport(server, "kubelet"), world=WORLD)
    yield Here(namespace, client, tenant, manager, rt, transport, tenant_transport, user, telling)
    telling.cancel()
    await manager.stop()
    await remotes.close()


async def test_a_process_may_die_after_any_write(server: ApiServer) -> None:
    """The next one ends in the same state, whichever write was the last."""
    ends: list[tuple[object, ...]] = []
    for survived in range(20):
        namespace = await harbour(server)
        life = Life(survived)
        async with controlled(server, namespace, life.guard) as dying:
            await life.ends_or(dying.connect())
            for step in (dying.make_machine, dying.boot, dying.join):
                await step()
                await life.ends_or(dying.idle())
        async with controlled(server, namespace) as next_one:
            await next_one.connect()
            made = await next_one.machine()
            node = await next_one.tenant.get(NODES, "", next_one.node)
        conditions = [(each.type, each.status, each.reason) for each in made.status.conditions]
        kept = (made.metadata.finalizers, made.status.phase, made.status.node_ref is not None)
        ends.append((conditions, kept, {each.key for each in node.spec.taints}, sorted(node.metadata.annotations)))
        if not life.over.is_set():
            break
    assert survived > 8, "every write was the last one once"
    assert all(end == ends[-1] for end in ends)


class Life:
    """So many writes until a process dies."""

    def __init__(self, writes: int) -> None:
        self.over = asyncio.Event()
        self._left = writes

    def guard(self) -> None:
        if not self._left:
            self.over.set()
            raise LostLeadership("dead")
        self._left -= 1

    async def ends_or(self, done: Coroutine[Any, Any, None]) -> None:
        """Wait for something, or for the end."""
        waits = [asyncio.ensure_future(done), asyncio.ensure_future(self.over.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def test_a_machine_becomes_available_with_few_writes_and_no_conflict(here: Here) -> None:
    await here.connect()
    await here.make_machine()
    assert await here.condition("Ready") == (
        "False NotReady: * BootstrapConfigReady: BoatConfig status.initialization.dataSecretCreated is false\n"
        "* InfrastructureReady: BoatMachine status.initialization.provisioned is false\n"
        "* NodeHealthy: Waiting for BoatMachine to report spec.providerID"
    )
    await here.boot()
    made = await here.machine()
    assert (made.spec.bootstrap.data_secret_name, made.spec.provider_id) == ("a-data", here.provider_id)
    assert (made.status.phase, made.status.observed_generation) == ("Provisioned", made.metadata.generation)
    await here.join()
    made = await here.machine()
    assert made.status.phase == "Running"
    assert made.status.node_ref is not None
    assert made.status.node_ref.name == here.node
    assert await here.condition("Available") == "True Available: "
    assert made.metadata.finalizers == ("machine.cluster.x-k8s.io",)
    assert [each.kind for each in made.metadata.owner_references] == ["Cluster"]
    host = await here.user.get(INFRASTRUCTURE, *here.a)
    assert [(each.kind, each.controller) for each in host.metadata.owner_references] == [("Machine", True)]
    assert host.metadata.labels == {"cluster.x-k8s.io/cluster-name": "harbour"}
    node = await here.tenant.get(NODES, "", here.node)
    assert UNINITIALIZED not in {each.key for each in node.spec.taints}
    assert node.metadata.annotations["cluster.x-k8s.io/machine"] == "a"
    assert here.transport.conflicts == 0
    assert here.transport.writes.count(f"PATCH {here.namespace}/machines/a") <= 3
    assert here.transport.writes.count("PATCH machines/a/status") <= 5
    assert here.tenant_transport.writes == [f"PATCH v1/nodes/{here.node}"]


async def test_nothing_is_written_when_nothing_changes(here: Here) -> None:
    await here.connect()
    await here.make_machine()
    await here.boot()
    await here.join()
    await here.machine()
    before = [*here.transport.writes, *here.tenant_transport.writes]
    for each in here.manager.controllers:
        each.queue.add(here.a)
    await here.tenant.patch(NODES, "", here.node, Merge({"metadata": {"labels": {"theirs": "1"}}}))
    await here.idle()
    assert [*here.transport.writes, *here.tenant_transport.writes] == before


async def test_a_node_that_is_deleted_is_told_at_once(here: Here) -> None:
    await here.connect()
    await here.make_machine()
    await here.boot()
    await here.join()
    await here.machine()
    await here.tenant.delete(NODES, "", here.node)
    assert await here.condition("NodeHealthy") == (
        f"False NodeDeleted: Node {here.node} has been deleted while the Machine still exists"
    )


async def test_a_node_that_went_while_nobody_looked_is_missed(here: Here) -> None:
    await here.make_machine()
    await here.boot()
    assert await here.condition("NodeReady") == "Unknown ConnectionDown: Remote connection not established yet"
    await here.user.patch(MACHINES, *here.a, Merge({"status": {"nodeRef": {"name": here.node}}}), subresource="status")
    await here.connect()
    assert await here.condition("NodeReady") == (
        f"False NodeDeleted: Node {here.node} has been deleted while the Machine still exists"
    )


async def test_objects_of_providers_may_come_later_than_the_machine(here: Here) -> None:
    await here.connect()
    await here.user.create(MACHINES, here.draft())
    assert await here.condition("InfrastructureReady") == "False ObjectDoesNotExist: BoatMachine does not exist"
    await here.user.create(INFRASTRUCTURE, {"metadata": {"name": "a", "namespace": here.namespace}})
    assert (await here.condition("InfrastructureReady")).startswith("False NotReady")


async def test_a_provider_may_be_installed_later_than_the_machine(here: Here) -> None:
    reference = {"apiGroup": INFRASTRUCTURE.group, "kind": "RaftMachine", "name": "a"}
    await here.user.create(MACHINES, here.draft(infrastructureRef=reference))
    assert (await here.condition("InfrastructureReady")).startswith("Unknown InternalError: Nobody serves the kind")
    rafts = Kind(INFRASTRUCTURE.group, "v1", "RaftMachine", "raftmachines", Untyped)
    await here.user.create(DEFINITIONS, _definition(rafts))
    assert await here.condition("InfrastructureReady") == "False ObjectDoesNotExist: RaftMachine does not exist"


async def test_an_object_of_somebody_else_is_left_alone(here: Here) -> None:
    owner = (await here.user.get(CLUSTERS, *here.harbour)).metadata
    theirs = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "name": "harbour", "uid": owner.uid}
    await here.user.create(
        INFRASTRUCTURE,
        {"metadata": {"name": "a", "namespace": here.namespace, "ownerReferences": [{**theirs, "controller": True}]}},
    )
    await here.user.create(MACHINES, here.draft())
    assert (await here.condition("InfrastructureReady")).startswith(
        "Unknown InternalError: BoatMachine a is controlled by Cluster harbour"
    )
    assert not any("boatmachines" in each for each in here.transport.writes)


async def test_a_paused_machine_only_says_so_and_goes_on_afterwards(here: Here) -> None:
    await here.user.patch(CLUSTERS, *here.harbour, Merge({"spec": {"paused": True}}))
    await here.idle()
    await here.make_machine()
    assert await here.condition("Paused") == "True Paused: Cluster spec.paused is set to true"
    assert here.transport.writes == ["PATCH machines/a/status"]
    await here.user.patch(CLUSTERS, *here.harbour, Merge({"spec": {"paused": False}}))
    assert await here.condition("Paused") == "False NotPaused: "
    assert (await here.machine()).metadata.finalizers == ("machine.cluster.x-k8s.io",)


async def test_pausing_keeps_the_status_as_it_was(here: Here) -> None:
    await here.connect()
    await here.make_machine()
    await here.boot()
    before = await here.machine()
    await here.user.patch(MACHINES, *here.a, Merge({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}))
    after = await here.machine()
    assert await here.condition("Paused") == "True Paused: Machine has the cluster.x-k8s.io/paused annotation"
    assert after.status.initialization == before.status.initialization
    assert len(after.status.conditions) == len(before.status.conditions)


async def test_the_machine_waits_for_its_cluster(here: Here) -> None:
    await here.user.create(MACHINES, here.draft(clusterName="island"))
    assert (await here.machine()).status.conditions == ()
    await here.user.create(
        CLUSTERS, {"metadata": {"name": "island", "namespace": here.namespace}, "spec": {"paused": False}}
    )
    assert (await here.condition("Ready")).startswith("False NotReady")


async def test_a_machine_goes_with_what_belongs_to_it(here: Here) -> None:
    await here.connect()
    await here.make_machine()
    await here.boot()
    await here.machine()
    await here.user.delete(MACHINES, *here.a)
    await here.idle()
    kinds: tuple[Kind[Any], ...] = (MACHINES, BOOTSTRAP, INFRASTRUCTURE)
    for kind in kinds:
        with pytest.raises(NotFound):
            await here.user.get(kind, *here.a)


async def test_a_machine_that_somebody_holds_says_that_nothing_is_left_of_it(here: Here) -> None:
    await here.make_machine()
    await here.machine()
    held = ["example.com/held", "machine.cluster.x-k8s.io"]
    await here.user.patch(MACHINES, *here.a, Merge({"metadata": {"finalizers": held}}))
    await here.user.delete(MACHINES, *here.a)
    assert await here.condition("Deleting") == "True DeletionCompleted: Deletion completed"
    assert (await here.machine()).metadata.finalizers == ("example.com/held",)


async def test_what_happened_is_told_as_an_event(here: Here) -> None:
    await here.connect()
    await here.make_machine()
    await here.boot()
    await here.join()
    await here.idle()
    here.telling.cancel()
    await here.rt.recorder.flush()
    listing = await here.user.list(EVENTS, here.namespace)
    assert [(each.at("reason"), each.at("note")) for each in listing.items] == [("SuccessfulSetNodeRef", here.node)]


async def test_a_tenant_that_refuses_does_not_keep_the_machine_from_telling_its_status(here: Here) -> None:
    await here.connect()
    await here.make_machine()
    await here.boot()
    await here.machine()
    refusals_left: list[int] = []

    def note(change: Change[Machine]) -> None:
        if change.new is not None and change.new.status.phase == "Running":
            refusals_left.append(here.tenant_transport.refuse)

    here.rt.cache.subscribe(MACHINES, note)
    here.tenant_transport.refuse = 3
    await here.join()
    made = await here.machine()
    assert refusals_left[0] > 0
    assert made.status.observed_generation == made.metadata.generation
    node = await here.tenant.get(NODES, "", here.node)
    assert UNINITIALIZED not in {each.key for each in node.spec.taints}


async def test_observing_reads_all_that_a_deletion_needs(here: Here) -> None:
    await here.connect()
    await here.make_machine()
    obj = await here.machine()
    harbour = here.rt.cache.get(CLUSTERS, here.harbour)
    assert harbour is not None
    view = observe(here.rt, obj, harbour, Settings())
    assert (view.cluster_machines, view.control_plane) == ((), None)
    assert view.remote is here.rt.remotes.get(here.harbour)
    assert view.nodes == ()
