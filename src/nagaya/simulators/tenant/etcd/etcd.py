"""The etcd of one simulated cluster: a member on each control plane machine, and the clients that talk to them.

What always holds: a member runs exactly as long as its machine does, nobody ordered otherwise, and the others have not
removed it; whoever is connected to one that stops is cut off. Certificates are made when the first client comes, so an
etcd that nobody asks costs next to nothing.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final

from nagaya.apiserver.streams.byte_stream import ByteStream
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.kubeadm.authorities import ETCD
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.issuing import new_authority, new_leaf
from nagaya.pki.kubeadm.leaves import ETCD_SERVER
from nagaya.simulators.tenant.etcd.grpc_connection import GrpcConnection
from nagaya.simulators.tenant.etcd.keys import Keys
from nagaya.simulators.tenant.etcd.membership import Member, Membership
from nagaya.simulators.tenant.etcd.service import MemberService
from nagaya.simulators.tenant.etcd.tls import TlsStream, server_tls
from nagaya.simulators.tenant.machines import Machine, Machines
from nagaya.simulators.tenant.releases import release_of
from nagaya.simulators.tenant.settings import Fault, TenantSettings
from nagaya.wire.etcd.maintenance import AlarmType
from nagaya.world import Clock

CLIENT_PORT: Final = 2379
_PEER_PORT: Final = 2380
_LINGERING: Final = 0.1  # seconds that a member which was removed still runs, for the answer that says so
_REMOVAL: Final = "/etcdserverpb.Cluster/MemberRemove"
_ALARMS: Final = ((Fault.ETCD_NO_SPACE, AlarmType.NOSPACE), (Fault.ETCD_CORRUPT, AlarmType.CORRUPT))


class Etcd:
    """All members. `stopped` is told the node of each member that was removed."""

    def __init__(
        self, machines: Machines, settings: TenantSettings, clock: Clock, stopped: Callable[[Machine], None]
    ) -> None:
        self._machines = machines
        self._settings = settings
        self._clock = clock
        self._stopped = stopped
        self._cluster: Membership | None = None
        self._keys = Keys()
        self._authority: CertificateAuthority | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}  # by node
        self._clients: dict[str, set[asyncio.Task[None]]] = {}  # by node

    @property
    def cluster(self) -> Membership | None:
        """The members; None before the first one has started."""
        return self._cluster

    def exists(self) -> bool:
        """Whether there is a member that runs."""
        return self._cluster is not None and any(self._is_up(each) for each in self._cluster.members)

    def begin(self, machine: Machine, authority: CertificateAuthority | None) -> None:
        """A new cluster, of one member. Without an authority it makes its own, which nobody else has."""
        self._authority = authority or new_authority(ETCD, Inputs(), keys.generate(), self._clock)
        self._contexts.clear()
        self._keys = Keys()
        peer, client = _urls(machine)
        self._cluster = Membership(machine.settings.name, peer, client, self._is_up)

    def admit(self, machine: Machine) -> None:
        """A machine joins: its member is added as a learner, and starts. Raises Refused."""
        assert self._cluster is not None, "there is a cluster to join"
        name, (peer, client) = machine.settings.name, _urls(machine)
        known = next((each for each in self._cluster.members if peer in each.peer_urls), None)
        if known is None:
            known = self._cluster.add([peer], self._clock.now().timestamp(), learner=True)
        if not known.started:
            self._cluster.start(known.id, name, [client])

    def promote(self, node: str) -> None:
        """The member of a node has caught up. Raises Refused."""
        assert self._cluster is not None
        member = self._cluster.named(node)
        if member is not None and member.learner:
            self._cluster.promote(member.id)

    def restore(self, machine: Machine) -> None:
        """A machine is there again that was a member in a life before: it votes from the start."""
        assert self._cluster is not None, "there is a cluster to return to"
        cluster, name, (peer, client) = self._cluster, machine.settings.name, _urls(machine)
        if cluster.named(name) is None:
            cluster.restore(name, peer, client)

    def runs_on(self, machine: Machine) -> bool:
        """Whether the member of a machine runs."""
        member = None if self._cluster is None else self._cluster.named(machine.settings.name)
        return member is not None and not machine.gone and Fault.ETCD_DOWN not in machine.faults

    def look_at(self, machine: Machine) -> None:
        """A machine is not what it was: alarms are raised or over, and clients of a member that stopped are cut off."""
        member = None if self._cluster is None else self._cluster.named(machine.settings.name)
        if self._cluster is not None and member is not None:
            for fault, alarm in _ALARMS:
                if fault in machine.faults:
                    self._cluster.raise_alarm(member.id, alarm)
                elif fault in machine.alarmed:
                    self._cluster.disarm(member.id, alarm)
            machine.alarmed = frozenset(fault for fault, _ in _ALARMS if fault in machine.faults)
        if not self.runs_on(machine):
            self._contexts.pop(machine.settings.name, None)
            for task in self._clients.get(machine.settings.name, ()):
                task.cancel()

    async def serve(self, machine: Machine, stream: ByteStream) -> None:
        """Speak with a client of a machine's member until it goes, or the member does. Raises OSError."""
        cluster, name = self._cluster, machine.settings.name
        member = None if cluster is None else cluster.named(name)
        if cluster is None or member is None or not self.runs_on(machine):
            raise ConnectionRefusedError(f"dial tcp4 127.0.0.1:{CLIENT_PORT}: connect: connection refused")
        task = asyncio.ensure_future(self._speak(cluster, member, machine, stream))
        clients = self._clients.setdefault(name, set())
        clients.add(task)
        try:
            await asyncio.wait([task])
        finally:
            clients.discard(task)
            if not clients:
                self._clients.pop(name, None)
            task.cancel()
        if task.cancelled():
            raise ConnectionResetError(f"read tcp4 127.0.0.1:{CLIENT_PORT}: connection reset by peer")
        if (problem := task.exception()) is not None:
            raise problem

    async def _speak(self, cluster: Membership, member: Member, machine: Machine, stream: ByteStream) -> None:
        secured = await TlsStream.open(stream, self._context(machine), self._clock)
        version = release_of(machine.settings.version or self._settings.version).etcd_version
        service = MemberService(cluster, self._keys, member, version, self._clock)

        async def answer(path: str, message: bytes) -> bytes:
            if Fault.ETCD_SLOW in machine.faults:
                await asyncio.sleep(self._settings.timing.etcd_slow)
            answered = await service(path, message)
            if path == _REMOVAL:
                asyncio.get_running_loop().call_later(_LINGERING, self._sweep)
            return answered

        await GrpcConnection(secured, answer).run()

    def _sweep(self) -> None:
        """Stop what has been removed."""
        for machine in list(self._machines):
            if machine.settings.control_plane and not self.runs_on(machine):
                self.look_at(machine)
                self._stopped(machine)

    def _context(self, machine: Machine) -> ssl.SSLContext:
        name = machine.settings.name
        if name not in self._contexts:
            assert self._authority is not None
            # As long as its authority: the library compares it with the machine's clock, the cluster has its own.
            lasting = self._authority.certificate.not_valid_after_utc - self._clock.now()
            inputs = replace(
                Inputs(), node_name=name, advertise_address=machine.address, leaf_validity=max(lasting, timedelta(0))
            )
            pair = new_leaf(ETCD_SERVER, self._authority, inputs, keys.generate(), self._clock)
            self._contexts[name] = server_tls(pair, self._authority, "h2")
        return self._contexts[name]

    def _is_up(self, member: Member) -> bool:
        machine = self._machines.get(member.name) if member.started else None
        return machine is not None and not machine.gone and not machine.faults & {Fault.ETCD_DOWN, Fault.NETWORK_GONE}


def _urls(machine: Machine) -> tuple[str, str]:
    address = f"[{machine.address}]" if ":" in machine.address else machine.address
    return f"https://{address}:{_PEER_PORT}", f"https://{address}:{CLIENT_PORT}"
