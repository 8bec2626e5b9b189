"""A cluster whose API is real and somewhere on the network, as machines of an emulated data center join it.

The control plane is nobody's here: a hosted one, for example. Each machine is a kubelet that is data, with a
certificate that the cluster gave it; a machine that comes back after a reboot still has it.
"""

from __future__ import annotations

import asyncio

from nagaya.simulators.kubelet import joining
from nagaya.simulators.kubelet.calls import Calls, Credentials, Refused, unverified
from nagaya.simulators.kubelet.kubelets import Kubelets
from nagaya.simulators.tenant.joining import JoinRefused
from nagaya.simulators.tenant.settings import Fault, NodeSettings
from nagaya.world import World


class RemoteCluster:
    """One cluster and the machines that are in it. Changes happen one after another."""

    made_here = False

    def __init__(self, endpoint: str, world: World) -> None:
        self._endpoint = endpoint
        self._world = world
        self._kubelets = Kubelets(endpoint, world)
        self._members: dict[str, object] = {}
        """By the names of their nodes: which machine it is."""
        self._credentials: dict[str, Credentials] = {}
        self._lock = asyncio.Lock()

    async def answers(self) -> bool:
        """Whether the API does."""
        calls = Calls(self._endpoint, unverified())
        try:
            await calls.get("/readyz")
        except (OSError, Refused):
            return False
        finally:
            await calls.close()
        return True

    async def join(self, machine: object, node: NodeSettings, *, returns: bool = False) -> None:
        """A machine comes up. Raises JoinRefused, JoinDelayed and OSError."""
        async with self._lock:
            if not returns or node.name not in self._credentials:
                if node.boot is None or not node.boot.token:
                    raise JoinRefused("kubeadm join has no bootstrap token for this cluster.")
                self._credentials[node.name] = await joining.join(self._endpoint, node.boot, node.name, self._world)
            await self._kubelets.start(node, self._credentials[node.name])
            self._members[node.name] = machine

    async def leave(self, machine: object, name: str) -> None:
        """A machine does not run any more. One whose name another machine has taken is not missed."""
        async with self._lock:
            if self._members.get(name) is machine:
                del self._members[name]
                await self._kubelets.stop(name)

    def pause(self, machine: object, name: str, paused: bool) -> None:
        """A machine stands still, or goes on: its kubelet is silent meanwhile."""
        if self._members.get(name) is machine:
            self._kubelets.suffer(name, frozenset({Fault.NETWORK_GONE} if paused else ()))

    async def close(self) -> None:
        """All of them are silent."""
        async with self._lock:
            self._members.clear()
            await self._kubelets.close()
