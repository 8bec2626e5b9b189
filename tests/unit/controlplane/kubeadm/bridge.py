"""An embedded API with the controller at work, a made-up tenant, and somebody who plays the other controllers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from nagaya.api.bootstrap import kubeadm_config
from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS, KubeadmConfig
from nagaya.api.cluster import cluster, machine, machine_pool
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.controlplane import kubeadm_control_plane
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES, KubeadmControlPlane
from nagaya.api.crd import render
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.controlplane.kubeadm.certificates_port import Certificates, CertificatesSeen, CertificateState, SecretsSeen
from nagaya.controlplane.kubeadm.controller import controller
from nagaya.controlplane.kubeadm.tenant_seen import COMPONENTS, EtcdSeen, MemberSeen, PodSeen, TenantSeen, pod_name
from nagaya.controlplane.kubeadm.workload_port import Question, Workload, WorkloadError
from nagaya.kube.client import Client
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.patches import Merge
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Probe, Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import Answer, AnswerLost, Call, Transport
from nagaya.world import World
from support.builders import INFRASTRUCTURE
from support.virtual_run import virtual_world
from unit.controlplane.kubeadm.examples import TEMPLATES, node

DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
NAMESPACE = "fleet"
HARBOUR = "harbour"
KEY = Key(NAMESPACE, "bridge")


class Dead(Exception):
    """The process ended here."""


@dataclass
class Recording:
    """A transport that notes every write, and refuses or loses some."""

    inner: Transport
    writes: list[str] = field(default_factory=list)
    refuse: str = ""
    """What begins with this is refused, once."""
    lose: str = ""
    """The answer to what begins with this is lost, once."""
    last: int | None = None
    """After so many writes the process is dead."""
    dead: bool = False

    async def send(self, call: Call) -> Answer:
        if call.method == "GET" or "/events" in call.path:
            return await self.inner.send(call)
        what = f"{call.method} {call.path.split(f'/namespaces/{NAMESPACE}/')[-1]}"
        if self.last is not None and len(self.writes) >= self.last:
            self.dead = True
            raise Dead
        self.writes.append(what)
        if self.refuse and what.startswith(self.refuse):
            self.refuse = ""
            return Answer(403, {}, b'{"kind":"Status","reason":"Forbidden","message":"not here"}')
        answer = await self.inner.send(call)
        if self.lose and what.startswith(self.lose):
            self.lose = ""
            raise AnswerLost(call, "the connection was reset")
        return answer

    def stream(self, call: Call) -> Any:
        return self.inner.stream(call)

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class MadeUpTenant:
    """A tenant that does what it is told, and notes it."""

    seen: TenantSeen = field(default_factory=TenantSeen)
    calls: list[str] = field(default_factory=list)
    reachable: bool = False
    refuses: str = ""
    """Which call fails."""
    questions: list[Question] = field(default_factory=list)
    hangs: bool = False
    changed: Callable[[Key], None] = lambda key: None

    def get(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> Workload | None:
        return self if self.reachable else None

    def on_change(self, changed: Callable[[Key], None]) -> None:
        self.changed = changed

    async def look(self, question: Question) -> TenantSeen:
        self.questions.append(question)
        if self.hangs:
            await asyncio.sleep(1000)
        return self.seen

    async def move_leader(self, leader: str, candidates: Sequence[str]) -> str:
        self._called(f"move leader from {leader} to {candidates[0]}")
        leading = next(each.id for each in self.seen.etcd.members or () if each.name == candidates[0])
        self.seen = replace(self.seen, etcd=replace(self.seen.etcd, leader=leading))
        return candidates[0]

    async def remove_member(self, member: MemberSeen, through: Collection[str]) -> None:
        self._called(f"remove member {member.name}")
        rest = tuple(each for each in self.seen.etcd.members or () if each.id != member.id)
        self.seen = replace(self.seen, etcd=replace(self.seen.etcd, members=rest))

    async def allow_kubeadm(self, version: str) -> None:
        self._called(f"allow kubeadm {version}")

    async def update_kubeadm_config(self, control_plane: KubeadmControlPlane) -> None:
        self._called(f"update kubeadm-config to {control_plane.spec.version}")

    async def update_kube_proxy(self, control_plane: KubeadmControlPlane) -> None:
        self._called("update kube-proxy")

    async def update_core_dns(self, control_plane: KubeadmControlPlane) -> None:
        self._called("update CoreDNS")

    async def certificate_expiry(self, node: str, port: int) -> datetime:
        self._called(f"certificate of {node}:{port}")
        return datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)

    async def close(self) -> None:
        self.calls.append("closed")

    def _called(self, what: str) -> None:
        self.calls.append(what)
        if self.refuses and what.startswith(self.refuses):
            raise WorkloadError(f"{what}: no answer")

    def joins(self, name: str) -> None:
        """A Node comes, with all its pods and its member."""
        nodes = {**self.seen.nodes, name: node(name)}
        pods = {**self.seen.pods, **{pod_name(each, name): PodSeen("Running") for each in COMPONENTS}}
        members = (*(self.seen.etcd.members or ()), MemberSeen(len(nodes) * 11, name))
        leader = self.seen.etcd.leader or members[0].id
        self.seen = TenantSeen(kubeadm_config=True, nodes=nodes, pods=pods, etcd=EtcdSeen(members, leader))
        self.reachable = True

    def leaves(self, name: str) -> None:
        """A Node is gone."""
        self.seen = replace(self.seen, nodes={each: found for each, found in self.seen.nodes.items() if each != name})


@dataclass
class MadeUpCertificates:
    """Certificates that are there as soon as somebody asks for them."""

    made: list[str] = field(default_factory=list)
    tries: int = 0
    useless: bool = False
    """Whether nothing comes of making authorities."""

    async def look(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> CertificatesSeen:
        def state(what: str) -> SecretsSeen:
            there = what in self.made
            return SecretsSeen(CertificateState.AVAILABLE if there else CertificateState.TO_BE_MADE)

        return CertificatesSeen(state("authorities"), state("kubeconfig"))

    async def make_authorities(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> None:
        self.tries += 1
        if not self.useless:
            self.made.append("authorities")

    async def make_kubeconfig(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> None:
        self.made.append("kubeconfig")


class ProbedRemotes(Remotes):
    """Tenants of which only is known that they answer."""

    def probe(self, key: Key) -> Probe:
        return Probe(self._world.clock.now())


@dataclass
class Bridge:
    """A server, somebody who uses it, the controller, and the tenant."""

    server: ApiServer
    user: Client
    world: World
    transport: Recording
    manager: Manager
    tenant: MadeUpTenant
    certificates: MadeUpCertificates

    @property
    def writes(self) -> list[str]:
        return self.transport.writes

    async def idle(self) -> None:
        await self.server.settled()
        await self.manager.idle()

    async def until_dead(self) -> None:
        """Wait until the process has died, or has nothing to do any more."""
        while not self.transport.dead:
            await asyncio.sleep(0.01)
            if not self.manager.controllers[0].queue.busy:
                return

    async def look(self) -> None:
        """Have the controller look once more."""
        self.manager.controllers[0].queue.add(KEY)
        await self.idle()

    async def restart(self, last: int | None = None) -> None:
        """The controller in a new process, which may die after so many writes."""
        await self.manager.stop()
        self.transport = Recording(InProcessTransport(self.server), last=last)
        self.manager = _manager(self.transport, self.world, self.tenant, lambda _: self.certificates)
        await self.manager.start()

    async def declare(self, replicas: int = 3, **spec: Any) -> None:
        """A control plane of the Cluster, and what comes of it at first."""
        await self.create(replicas, **spec)
        await self.idle()

    async def create(self, replicas: int = 3, **spec: Any) -> None:
        """A control plane of the Cluster."""
        owner = await self.user.get(CLUSTERS, NAMESPACE, HARBOUR)
        reference = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "name": HARBOUR, "uid": owner.metadata.uid}
        await self.user.create(
            KUBEADM_CONTROL_PLANES,
            {
                "metadata": {
                    "name": "bridge",
                    "namespace": NAMESPACE,
                    "labels": {"cluster.x-k8s.io/cluster-name": HARBOUR},
                    "ownerReferences": [reference],
                },
                "spec": {
                    "replicas": replicas,
                    "version": "v1.36.3",
                    "machineTemplate": {
                        "spec": {
                            "infrastructureRef": {
                                "apiGroup": TEMPLATES.group,
                                "kind": TEMPLATES.kind,
                                "name": "boat",
                            }
                        }
                    },
                    **spec,
                },
            },
        )

    async def change(self, content: Mapping[str, Any]) -> None:
        await self.user.patch(KUBEADM_CONTROL_PLANES, NAMESPACE, "bridge", Merge(content))
        await self.idle()

    async def kcp(self) -> KubeadmControlPlane:
        return await self.user.get(KUBEADM_CONTROL_PLANES, NAMESPACE, "bridge")

    async def conditions(self) -> dict[str, str]:
        return {each.type: each.status for each in (await self.kcp()).status.conditions}

    async def machines(self) -> list[Machine]:
        return (await self.user.list(MACHINES, NAMESPACE)).items

    async def configs(self) -> list[KubeadmConfig]:
        return (await self.user.list(KUBEADM_CONFIGS, NAMESPACE)).items

    async def hosts(self) -> list[Untyped]:
        return (await self.user.list(INFRASTRUCTURE, NAMESPACE)).items

    async def bring_up(self, name: str) -> None:
        """Do for a machine what the Machine controller and everybody else does."""
        found = await self.user.get(MACHINES, NAMESPACE, name)
        owner = {"apiVersion": MACHINES.api_version, "kind": "Machine", "name": name, "uid": found.metadata.uid}
        kinds: tuple[Kind[Any], ...] = (KUBEADM_CONFIGS, INFRASTRUCTURE)
        for kind in kinds:
            patch = Merge({"metadata": {"ownerReferences": [{**owner, "controller": True}]}})
            await self.user.patch(kind, NAMESPACE, name, patch)
        self.tenant.joins(name)
        await self.user.patch(MACHINES, NAMESPACE, name, Merge({"spec": {"providerID": f"boat:///{name}"}}))
        now = "2026-11-01T12:00:00Z"
        conditions = [msgspec.to_builtins(each) for each in found.status.conditions]
        conditions += [
            {"type": each, "status": "True", "reason": each, "message": "", "lastTransitionTime": now}
            for each in ("Ready", "Available")
        ]
        told = {"nodeRef": {"name": name}, "conditions": conditions}
        await self.user.patch(MACHINES, NAMESPACE, name, Merge({"status": told}), subresource="status")
        await self.idle()

    async def bring_all_up(self) -> None:
        """Bring machines up until no more come."""
        for _ in range(20):
            await self.look()
            coming = [each for each in await self.machines() if each.status.node_ref is None]
            if not coming:
                return
            for each in coming:
                await self.bring_up(each.metadata.name)

    async def drain(self, name: str) -> None:
        """A machine that is deleted waits for its hook."""
        found = await self.user.get(MACHINES, NAMESPACE, name)
        kept = [msgspec.to_builtins(each) for each in found.status.conditions if each.type != "Deleting"]
        now = "2026-11-01T12:00:00Z"
        waiting = {"type": "Deleting", "status": "True", "reason": "WaitingForPreTerminateHook", "message": ""}
        told = {"conditions": [*kept, {**waiting, "lastTransitionTime": now}]}
        await self.user.patch(MACHINES, NAMESPACE, name, Merge({"status": told}), subresource="status")
        await self.idle()

    async def finish(self, name: str) -> None:
        """A machine that was let go is gone, and everything of it."""
        self.tenant.leaves(name)
        await self.user.patch(MACHINES, NAMESPACE, name, Merge({"metadata": {"finalizers": None}}))
        await self.idle()


def _provider_definition(kind: Kind[Any]) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": f"{kind.plural}.{kind.group}", "labels": {"cluster.x-k8s.io/v1beta2": "v1"}},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


@asynccontextmanager
async def running_bridge(
    certificates: Callable[[Runtime], Certificates] | None = None,
) -> AsyncIterator[Bridge]:
    """A Cluster whose infrastructure is there, and the controller at work."""
    world = virtual_world(seed=7)
    server = await ApiServer.start(Config(), world)
    await server.settled()
    user = Client(InProcessTransport(server, user="somebody"), world=world)
    await user.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    kinds = (cluster, machine, machine_pool, kubeadm_config, kubeadm_control_plane)
    for each in kinds:
        await user.create(DEFINITIONS, render(each.DEFINITION))
    for kind in (TEMPLATES, INFRASTRUCTURE):
        await user.create(DEFINITIONS, _provider_definition(kind))
    await server.settled()
    reference = {"apiGroup": KUBEADM_CONTROL_PLANES.group, "kind": KUBEADM_CONTROL_PLANES.kind, "name": "bridge"}
    await user.create(
        CLUSTERS,
        {
            "metadata": {"name": HARBOUR, "namespace": NAMESPACE},
            "spec": {"controlPlaneRef": reference, "controlPlaneEndpoint": {"host": "10.0.0.9", "port": 6443}},
        },
    )
    provisioned = Merge({"status": {"initialization": {"infrastructureProvisioned": True}}})
    await user.patch(CLUSTERS, NAMESPACE, HARBOUR, provisioned, subresource="status")
    inner = {"metadata": {"labels": {"from": "template"}}, "spec": {"size": 3}}
    await user.create(TEMPLATES, {"metadata": {"name": "boat", "namespace": NAMESPACE}, "spec": {"template": inner}})
    transport = Recording(InProcessTransport(server))
    tenant, made_up = MadeUpTenant(), MadeUpCertificates()
    manager = _manager(transport, world, tenant, certificates or (lambda _: made_up))
    here = Bridge(server, user, world, transport, manager, tenant, made_up)
    await manager.start()
    try:
        yield here
    finally:
        await here.manager.stop()
        await server.stop()


def _manager(
    transport: Transport, world: World, tenant: MadeUpTenant, certificates: Callable[[Runtime], Certificates]
) -> Manager:
    client = Client(transport, world=world)
    manager = Manager(client, world)
    rt = Runtime(
        client=client,
        cache=manager.cache,
        kinds=ContractKinds(manager.cache),
        remotes=ProbedRemotes(lambda _: transport, world),
        recorder=Recorder(client, world),
        world=world,
    )
    manager.add(controller(rt, certificates(rt), tenant))
    return manager
