"""A simulated workload cluster, whole: its API, its nodes, and the components that make them behave.

The API is the real embedded server, in memory. Everything else is data that the components here move: kubelets without
machines, a scheduler, the parts of kube-controller-manager that drains, health checks and autoscalers depend on. They
are driven by changes in the store and by the event loop's clock, so a tenant in which nothing happens costs heartbeats
and nothing else, and thousands fit into a process or into virtual time.
"""

from __future__ import annotations

import socket
from typing import Any, Final

from nagaya.apiserver.controllers.runner import Controller, Runner
from nagaya.apiserver.server import ApiServer, Config, bind
from nagaya.apiserver.web.listener import Listener
from nagaya.apiserver.web.request import Request, Response
from nagaya.simulators.tenant import kubeadm
from nagaya.simulators.tenant.boot_data import KubeadmBoot
from nagaya.simulators.tenant.daemon_sets import DaemonSets
from nagaya.simulators.tenant.deployments import Deployments
from nagaya.simulators.tenant.door import Door, Way
from nagaya.simulators.tenant.etcd.etcd import Etcd
from nagaya.simulators.tenant.etcd.promotions import Promotions
from nagaya.simulators.tenant.etcd.refusals import Refused
from nagaya.simulators.tenant.hands import NODES, Hands
from nagaya.simulators.tenant.jobs import Jobs
from nagaya.simulators.tenant.joining import Admission, JoinDelayed
from nagaya.simulators.tenant.kubeadm_configuration import has_local_etcd, parse
from nagaya.simulators.tenant.kubelets import Kubelets
from nagaya.simulators.tenant.machines import Machine, Machines
from nagaya.simulators.tenant.node_lifecycle import NodeLifecycle
from nagaya.simulators.tenant.pod_garbage import PodGarbage
from nagaya.simulators.tenant.pod_ports import Forwarding, LateForwarder
from nagaya.simulators.tenant.pod_runs import PodRuns
from nagaya.simulators.tenant.replica_sets import ReplicaSets
from nagaya.simulators.tenant.scheduler import Scheduler
from nagaya.simulators.tenant.settings import Fault, NodeSettings, TenantSettings
from nagaya.simulators.tenant.stateful_sets import StatefulSets
from nagaya.simulators.tenant.static_pods import StaticPods
from nagaya.simulators.tenant.taint_evictions import TaintEvictions
from nagaya.simulators.tenant.view import View
from nagaya.simulators.tenant.volume_attachments import VolumeAttachments
from nagaya.simulators.tenant.volume_claims import VolumeClaims
from nagaya.simulators.tenant.volume_needs import VolumeNeeds
from nagaya.world import World

# What the components here do themselves, and what a tenant without clients of that sort can do without.
_REPLACED: Final = ("volume binding", "claim protection", "volume protection", "server lease", "policy status")


class Tenant:
    """One simulated cluster. Made by `start`."""

    def __init__(
        self, settings: TenantSettings, world: World, server: ApiServer, port: int, ports: LateForwarder
    ) -> None:
        self.settings = settings
        self.server = server
        self._port = port
        self._door = Door(server.handle)
        self._listener: Listener | None = None
        self._machines = Machines(world.clock)
        self._view = view = View(server.store)
        backend, timing = server.backend, settings.timing
        needs = VolumeNeeds(backend, view)
        self.etcd = Etcd(self._machines, settings, world.clock, self._look_at)
        self._admission = Admission(server.store, settings.authority, world.clock)
        self._promotions = Promotions(self.etcd, timing, world.clock)
        ports.connect(Forwarding(view, self._machines, self.etcd, settings, world.clock))
        self._kubelets = Kubelets(backend, self._machines, settings)
        self._lifecycle = NodeLifecycle(backend, view, self._machines, timing)
        self._pods = PodRuns(backend, view, self._machines, needs, self.etcd, settings)
        self._static_pods = StaticPods(backend, view, self._machines, settings.version)
        self._attachments = VolumeAttachments(backend, view, self._machines, needs, timing)
        controllers: list[Controller] = [
            self._kubelets,
            self._lifecycle,
            self._pods,
            self._static_pods,
            self._attachments,
            TaintEvictions(backend, view),
            PodGarbage(backend, view, timing),
            Scheduler(backend, view),
            ReplicaSets(backend, view),
            Deployments(backend, view),
            DaemonSets(backend, view),
            StatefulSets(backend, view),
            Jobs(backend, view),
            VolumeClaims(backend, view, timing),
            self._promotions,
        ]
        self._api = Hands(backend, "kubeadm")
        self._runner = Runner(server.store, world, controllers)

    @classmethod
    async def start(cls, settings: TenantSettings, world: World) -> Tenant:
        """A cluster without nodes that serves its API. Raises OSError if the port cannot be had."""
        sock = bind(settings.host, settings.port) if settings.listen else None
        try:
            port = sock.getsockname()[1] if sock is not None else settings.port
            ports = LateForwarder()
            config = Config(
                host=settings.host,
                port=port,
                hosts=settings.hosts,
                authority=settings.authority,
                kubernetes_version=settings.version,
                seed=settings.shared.seed,
                forwarder=ports,
                without=_REPLACED,
            )
            server = await ApiServer.start(config, world)
        except BaseException:
            if sock is not None:
                sock.close()
            raise
        await settings.shared.take_seed(server)
        tenant = cls(settings, world, server, port, ports)
        tenant._runner.start()
        if sock is not None:
            try:
                await tenant._listen(sock)
            except BaseException:
                sock.close()
                await tenant.stop()
                raise
        return tenant

    async def stop(self) -> None:
        """End everything; nothing is left."""
        self._door.turn(Way.OPEN)
        if self._listener is not None:
            if self.settings.shared.publication is not None:
                self.settings.shared.publication.remove(self.url.removeprefix("https://"))
            await self._listener.stop()
        await self._kubelets.stop()
        await self._runner.stop()
        await self.server.stop()

    @property
    def url(self) -> str:
        """Where clients find the API; the port is only open if the tenant listens."""
        host = f"[{self.settings.host}]" if ":" in self.settings.host else self.settings.host
        return f"https://{host}:{self._port}"

    def kubeconfig(self) -> dict[str, Any]:
        """The administrator's kubeconfig."""
        return self.server.identity.kubeconfig(self.url)

    async def handle(self, request: Request) -> Response:
        """Serve a request that did not come over the network. Raises OSError when the API refuses or breaks off."""
        return await self._door(request)

    async def settled(self) -> None:
        """Wait until nothing is left to do at this moment of the clock. For tests."""
        seen = -1
        while seen != self.server.store.revision:
            seen = self.server.store.revision
            await self.server.settled()
            await self._runner.settled()

    async def prepare(self, boot: KubeadmBoot | None = None) -> None:
        """Put in place what `kubeadm init` does. The first control plane node does it by joining; a cluster whose
        control plane is elsewhere asks for it.
        """
        endpoint = self.settings.control_plane_endpoint or self.url.removeprefix("https://")
        told = (boot.cluster, boot.skipped) if boot is not None else ()
        for resource, obj in kubeadm.objects(self.settings, endpoint, *told):
            await self._api.create_missing(resource, obj)

    async def join(self, node: NodeSettings, *, returns: bool = False) -> None:
        """A machine comes up and registers its node. Again, with other settings, it is the machine after a reboot.

        One that `returns` had joined before all this was made anew, and need not prove itself. Raises JoinRefused and
        JoinDelayed for machines with boot data of kubeadm's.
        """
        known = self._machines.get(node.name)
        there = self._api.get(NODES, "", node.name) is not None
        if known is not None and known.heard and known.settings == node and there:
            return
        returns = returns or (known is not None and there)
        if node.boot is not None and not node.boot.initializes and not returns:
            self._admission.check(node.boot)
        if node.control_plane and self._api.get(*kubeadm.INITIALIZED) is None:
            await self.prepare(node.boot)
        machine = self._machines.boot(node, self.settings.timing.node_ready)
        try:
            self._join_etcd(machine, returns=returns)
        except Refused as refusal:
            self._machines.forget(node.name)
            raise JoinDelayed(f"kubeadm join waits for etcd to take a member: {refusal}.") from refusal
        await self._kubelets.register(machine)
        self._look_at(machine)

    def _join_etcd(self, machine: Machine, *, returns: bool) -> None:
        """A machine that kubeadm sets up brings a member of etcd, unless that is elsewhere. Raises Refused."""
        boot = machine.settings.boot
        if boot is None or not machine.settings.control_plane or not machine.settings.local_etcd:
            return
        if not has_local_etcd(parse(self._api.get(*kubeadm.INITIALIZED))):
            return
        if self.etcd.cluster is None or (boot.initializes and not self.etcd.exists()):
            self.etcd.begin(machine, boot.etcd_authority)
        elif returns:
            self.etcd.restore(machine)
        else:
            self.etcd.admit(machine)

    async def leave(self, name: str) -> None:
        """A machine is gone for good. Its Node stays until somebody deletes it, and goes Unknown meanwhile."""
        machine = self._machines.get(name)
        if machine is not None:
            machine.gone = True
            self._look_at(machine)

    def fail(self, name: str, how: Fault) -> None:
        """Something happens to a machine. Raises LookupError if there is none of that name."""
        machine = self._machine(name)
        machine.faults.add(how)
        self._look_at(machine)

    def recover(self, name: str, how: Fault | None = None) -> None:
        """A machine gets well again, of one fault or of all. Raises LookupError if there is none of that name."""
        machine = self._machine(name)
        machine.faults = set() if how is None else machine.faults - {how}
        self._look_at(machine)

    def _machine(self, name: str) -> Machine:
        machine = self._machines.get(name)
        if machine is None or machine.gone:
            raise LookupError(f"simulated cluster {self.settings.name} has no machine {name!r}. Let it join first.")
        return machine

    def _look_at(self, machine: Machine) -> None:
        """The machine is not what it was: everyone whom it concerns looks at it again."""
        self._machines.silence(machine)
        self.etcd.look_at(machine)
        name = machine.settings.name
        for controller in (self._kubelets, self._lifecycle, self._static_pods, self._attachments, self._promotions):
            self._runner.add(controller, name)
        for pod in self._view.pods_on(name):
            self._runner.add(self._pods, pod.key)

    async def _listen(self, sock: socket.socket) -> None:
        self._listener = Listener(self._door, sock, self.server.identity.tls())
        if self.settings.shared.publication is not None:
            self.settings.shared.publication.add(self.url.removeprefix("https://"))
        await self._listener.start()

    def hang(self) -> None:
        """From now on the API takes requests and does not answer."""
        self._door.turn(Way.HANGING)

    async def refuse(self) -> None:
        """From now on nobody can connect, and who is connected no longer is."""
        if self._listener is not None:
            listener, self._listener = self._listener, None
            await listener.stop()
        self._door.turn(Way.REFUSING)

    async def recover_api(self) -> None:
        """The API answers again, at the same address. Raises OSError if the port was taken meanwhile."""
        self._door.turn(Way.OPEN)
        if self._listener is None and self.settings.listen:
            await self._listen(bind(self.settings.host, self._port))
