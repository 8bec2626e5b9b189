"""The simulated clusters that machines of a data center can join, by the address that boot data name.

A cluster comes here in one of three ways. Somebody adds it, and keeps it: its control plane is elsewhere. Or a machine
initializes it, and then its control plane is machines here: its API answers as long as one of them runs. Or nobody has
heard of it, and it is looked for on the network, where a real API server may be at its address.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
from collections.abc import Iterator
from typing import Any

from nagaya.apiserver.web.request import Request
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.proxmox.guests.kubeadm_call import KubeadmCall, normalized
from nagaya.simulators.proxmox.guests.remote_cluster import RemoteCluster
from nagaya.simulators.tenant.joining import JoinRefused
from nagaya.simulators.tenant.settings import Fault, NodeSettings, TenantSettings
from nagaya.simulators.tenant.shared import Shared
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import World

_PATIENCE = 10.0
"""Seconds that a machine waits for an API to answer."""


class Cluster:
    """One cluster and the machines that are in it. Changes happen one after another."""

    def __init__(self, tenant: Tenant, *, made_here: bool = False) -> None:
        self.tenant = tenant
        self.made_here = made_here
        self._members: dict[str, tuple[object, bool]] = {}
        """By the names of their nodes: which machine it is, and whether it is one of the control plane."""
        self._open = True
        self._lock = asyncio.Lock()

    @property
    def deserted(self) -> bool:
        """Whether no machine of it runs."""
        return not self._members

    async def answers(self) -> bool:
        """Whether the API does."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self.tenant.handle(Request.make("GET", "/readyz", b"", {"User-Agent": "kubeadm"}))
        except (OSError, TimeoutError):
            return False
        return True

    async def join(self, machine: object, node: NodeSettings, *, returns: bool = False) -> None:
        """A machine comes up. Raises JoinRefused and JoinDelayed, as the tenant does."""
        async with self._lock:
            # Before it is known how it ends: a machine that is switched off meanwhile leaves again.
            self._members[node.name] = machine, node.control_plane
            try:
                await self.tenant.join(node, returns=returns)
            except Exception:
                del self._members[node.name]
                raise
            await self._turn()

    async def leave(self, machine: object, name: str) -> None:
        """A machine does not run any more. One whose name another machine has taken is not missed."""
        async with self._lock:
            if self._members.get(name, (None, False))[0] is machine:
                del self._members[name]
                await self.tenant.leave(name)
                await self._turn()

    def pause(self, machine: object, name: str, paused: bool) -> None:
        """A machine stands still, or goes on."""
        if self._members.get(name, (None, False))[0] is machine:
            (self.tenant.fail if paused else self.tenant.recover)(name, Fault.NETWORK_GONE)

    def hang(self) -> None:
        """Its API takes requests and does not answer them, until it is to `answer_again`."""
        self.tenant.hang()

    async def answer_again(self) -> None:
        """Its API answers, if there is a machine that can."""
        async with self._lock:
            await (self.tenant.recover_api() if self._open else self.tenant.refuse())

    async def _turn(self) -> None:
        wanted = not self.made_here or any(control_plane for _, control_plane in self._members.values())
        if wanted is not self._open:
            self._open = wanted
            await (self.tenant.recover_api() if wanted else self.tenant.refuse())


AnyCluster = Cluster | RemoteCluster


class Clusters:
    """All of them."""

    def __init__(
        self, world: World, shared: Shared | None = None, *, listen: bool = False, network: bool = False
    ) -> None:
        """With `listen`, the API of a cluster that a machine initializes is also at its address, which this computer
        must have then; else it is reached through its tenant alone. With `network` machines also join clusters that
        are not here, if a real API server answers at the address that their boot data name."""
        self._world = world
        self._shared = shared or Shared()
        self._listen = listen
        self._network = network
        self._clusters: dict[str, Cluster] = {}
        self._remote: dict[str, RemoteCluster] = {}
        self._lock = asyncio.Lock()

    def add(self, endpoint: str, tenant: Tenant) -> None:
        """A cluster whose control plane is elsewhere. It is not ended with the others."""
        self._clusters[normalized(endpoint)] = Cluster(tenant)

    def remove(self, endpoint: str) -> None:
        """Machines do not find it any more."""
        self._clusters.pop(normalized(endpoint), None)

    def __iter__(self) -> Iterator[Cluster]:
        """All that there are now."""
        return iter([*self._clusters.values()])

    def at(self, endpoint: str) -> AnyCluster | None:
        """The cluster whose API is at an address. Whether one on the network is there only shows when it is asked."""
        address = normalized(endpoint)
        if address in self._clusters or not self._network:
            return self._clusters.get(address)
        if address not in self._remote:
            self._remote[address] = RemoteCluster(address, self._world)
        return self._remote[address]

    async def initialized(self, call: KubeadmCall) -> Cluster:
        """The cluster that `kubeadm init` makes. One of the same address of which nothing runs any more makes room.
        Raises OSError if its address cannot be had, JoinRefused if it never can."""
        async with self._lock:
            known = self._clusters.get(call.endpoint)
            if known is not None and not (known.made_here and known.deserted):
                return known
            if known is not None:
                del self._clusters[call.endpoint]
                await known.tenant.stop()
            try:
                tenant = await Tenant.start(self._settings(call), self._world)
            except OSError as error:
                why = (
                    f"the cluster's API cannot listen at {call.endpoint}: {error.strerror or error}. Its "
                    "controlPlaneEndpoint has to be an address of the computer on which this Proxmox VE is emulated, "
                    "such as 127.0.0.10."
                )
                # An address that is in use may become free; one that is elsewhere does not come here.
                raise JoinRefused(why) if error.errno == errno.EADDRNOTAVAIL else OSError(why) from error
            self._clusters[call.endpoint] = cluster = Cluster(tenant, made_here=True)
            return cluster

    def _settings(self, call: KubeadmCall) -> TenantSettings:
        told = call.boot.cluster
        host, _, port = call.endpoint.rpartition(":")
        name = str(told.get("clusterName") or "kubernetes")
        authority = call.authority or CertificateAuthority.create("kubernetes", self._world.clock)
        defaults = TenantSettings(name, authority)
        networking: dict[str, Any] = told.get("networking") or {}
        return TenantSettings(
            name,
            authority,
            version=str(told.get("kubernetesVersion") or defaults.version),
            host=host.strip("[]"),
            port=int(port),
            listen=self._listen,
            control_plane_endpoint=call.endpoint,
            service_subnet=_range(networking.get("serviceSubnet"), defaults.service_subnet),
            pod_subnet=_range(networking.get("podSubnet"), defaults.pod_subnet),
            shared=self._shared,
        )

    async def close(self) -> None:
        """End the clusters that were made here; machines of others are silent."""
        for remote in self._remote.values():
            await remote.close()
        for endpoint, cluster in list(self._clusters.items()):
            if cluster.made_here:
                del self._clusters[endpoint]
                await cluster.tenant.stop()


def _range(given: object, default: str) -> str:
    """The first range of IPv4: nodes and pods of a simulated cluster have such addresses only."""
    for each in str(given or "").split(","):
        try:
            return str(ipaddress.IPv4Network(each.strip(), strict=False))
        except ValueError:
            continue
    return default
