"""What answers on ports of simulated pods: etcd's members, and the certificates of API servers. Nothing else does.

The way to a port leads over the node's kubelet, so a node that is not heard has no ports, and one whose runtime is down
has none either; the words are those that kubelets and networks have for it.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from datetime import datetime
from typing import Final

from nagaya.apiserver.streams.byte_stream import ByteStream
from nagaya.apiserver.streams.forwarder import PodPorts
from nagaya.pki import keys
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.issuing import new_leaf
from nagaya.pki.kubeadm.leaves import API_SERVER
from nagaya.simulators.tenant.etcd.etcd import CLIENT_PORT, Etcd
from nagaya.simulators.tenant.etcd.tls import TlsStream, server_tls
from nagaya.simulators.tenant.machines import Machine, Machines
from nagaya.simulators.tenant.settings import Fault, TenantSettings
from nagaya.simulators.tenant.view import PodSeen, View
from nagaya.world import Clock

_SYSTEM: Final = "kube-system"
_KUBELET: Final = 10250
_API: Final = 6443
_PATIENCE: Final = 30.0  # seconds after which an API server gives up a kubelet that does not answer


class Forwarding:
    """The ports of all pods of a cluster."""

    def __init__(self, view: View, machines: Machines, etcd: Etcd, settings: TenantSettings, clock: Clock) -> None:
        self._view = view
        self._machines = machines
        self._etcd = etcd
        self._settings = settings
        self._clock = clock

    async def __call__(self, namespace: str, name: str) -> PodPorts:
        """The ports of a pod. Raises OSError if its node cannot be reached."""
        pod = self._view.pod(f"{namespace}/{name}")
        machine = None if pod is None else self._machines.get(pod.node)
        if pod is None or machine is None:
            raise OSError(f"dial tcp: lookup {pod.node if pod else name}: no such host")
        kubelet = f"dial tcp {machine.address}:{_KUBELET}"
        if machine.gone:
            raise OSError(f"{kubelet}: connect: no route to host")
        if Fault.NETWORK_GONE in machine.faults:
            await asyncio.sleep(_PATIENCE)
            raise TimeoutError(f"{kubelet}: i/o timeout")
        if Fault.KUBELET_DEAD in machine.faults:
            raise ConnectionRefusedError(f"{kubelet}: connect: connection refused")
        return _Ports(self, pod, machine)

    async def serve(self, pod: PodSeen, machine: Machine, port: int, stream: ByteStream) -> None:
        """Speak with a client of a port. Raises OSError."""
        if not machine.works:
            raise OSError("the container runtime is down")
        current = self._view.pod(pod.key)
        # What a kubelet reads from its files runs before the API shows it: nothing of the cluster would be there else.
        static = pod.namespace == _SYSTEM and pod.owner is not None and pod.owner.kind == "Node"
        if current is None or current.uid != pod.uid or (current.phase != "Running" and not static):
            raise OSError(f"container not running ({pod.name})")
        component = pod.labels.get("component") if static else None
        if component == "etcd" and port == CLIENT_PORT:
            await self._etcd.serve(machine, stream)
        elif component == "kube-apiserver" and port == _api_port(machine):
            await self._show_certificate(machine, stream)
        else:
            raise ConnectionRefusedError(f"dial tcp4 127.0.0.1:{port}: connect: connection refused")

    async def _show_certificate(self, machine: Machine, stream: ByteStream) -> None:
        """Shake hands, and hang up on whoever goes on: requests are served at the address of the cluster."""
        secured = await TlsStream.open(stream, self._context(machine), self._clock)
        await secured.read()
        await secured.write_eof()

    def _context(self, machine: Machine) -> ssl.SSLContext:
        """Made whenever somebody looks, which is seldom: who looks reads the dates."""
        settings = self._settings
        inputs = replace(
            Inputs(),
            service_cidrs=(settings.service_subnet,),
            endpoint_host=settings.host,
            advertise_address=machine.address,
            node_name=machine.settings.name,
        )
        pair = new_leaf(API_SERVER, settings.authority, inputs, keys.generate(), _At(machine.booted))
        return server_tls(pair, None, "http/1.1")


class LateForwarder:
    """What a server is given that starts before there are machines behind it."""

    def __init__(self) -> None:
        self._forwarding: Forwarding | None = None

    def connect(self, forwarding: Forwarding) -> None:
        """From now on there are pods."""
        self._forwarding = forwarding

    async def __call__(self, namespace: str, name: str) -> PodPorts:
        """The ports of a pod. Raises OSError if its node cannot be reached."""
        if self._forwarding is None:
            raise ConnectionRefusedError("there are no nodes yet")
        return await self._forwarding(namespace, name)


class _At:
    """The moment at which kubeadm made a machine's certificates, which are not there before somebody looks at them."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        return self._moment

    def monotonic(self) -> float:
        return 0.0


def _api_port(machine: Machine) -> int:
    return machine.settings.boot.bind_port if machine.settings.boot is not None else _API


class _Ports:
    """The ports of one pod."""

    def __init__(self, forwarding: Forwarding, pod: PodSeen, machine: Machine) -> None:
        self._forwarding = forwarding
        self._pod = pod
        self._machine = machine

    async def serve(self, port: int, stream: ByteStream) -> None:
        """Speak with a client of a port. Raises OSError."""
        await self._forwarding.serve(self._pod, self._machine, port, stream)
