"""A cluster of simulated machines whose control plane is real, and not here: a hosted one.

Nothing of its API is in this process, so it is reached over the network like any other. Machines of it are kubelets
that are data (`simulators.kubelet`). They have no need of kubeadm: their certificates are made from the authority of
the cluster, which the management API has, so that they come back as the same after a restart of this process.
"""

from __future__ import annotations

import asyncio

from nagaya.kube.key import Key
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec, to_pem
from nagaya.simulators.kubelet.calls import Credentials
from nagaya.simulators.kubelet.kubelets import Kubelets
from nagaya.simulators.tenant.settings import Fault, NodeSettings
from nagaya.world import World


class Elsewhere:
    """One cluster, from the moment its address is known."""

    def __init__(self, key: Key, endpoint: str, world: World) -> None:
        self.key = key
        self._world = world
        self._kubelets = Kubelets(endpoint, world)
        self._members: dict[str, str] = {}
        """The uids of the machines that have joined, by the names of their nodes."""
        self._lock = asyncio.Lock()

    @property
    def serving(self) -> bool:
        """Whether machines may try: only the API itself knows whether it answers."""
        return True

    def joined(self, name: str, uid: str) -> bool:
        """Whether the machine of a uid has joined under a name."""
        return self._members.get(name) == uid

    async def join(self, uid: str, node: NodeSettings, authority: CertificateAuthority) -> None:
        """A machine comes up. Raises JoinDelayed and OSError if the API does not take it now."""
        async with self._lock:
            if self.joined(node.name, uid):
                return
            spec = CertificateSpec(f"system:node:{node.name}", ("system:nodes",))
            certificate, key = authority.issue_pair(spec, self._world.clock)
            credentials = Credentials(to_pem(authority.certificate), to_pem(certificate), keys.to_pem(key))
            await self._kubelets.start(node, credentials)
            self._members[node.name] = uid

    async def leave(self, name: str, uid: str) -> None:
        """A machine is gone for good."""
        async with self._lock:
            if self.joined(name, uid):
                del self._members[name]
                await self._kubelets.stop(name)

    def afflict(self, name: str, uid: str, faults: frozenset[Fault]) -> None:
        """Have a machine suffer from these faults and no others."""
        if self.joined(name, uid):
            self._kubelets.suffer(name, faults)

    async def stop(self) -> None:
        """End everything."""
        async with self._lock:
            self._members.clear()
            await self._kubelets.close()
