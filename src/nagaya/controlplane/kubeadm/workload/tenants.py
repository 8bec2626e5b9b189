"""The tenants of all kubeadm control planes: what is kept of each for as long as its connection lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.controlplane.kubeadm.workload.etcd_credentials import EtcdCredentials
from nagaya.controlplane.kubeadm.workload.tenant import Tenant
from nagaya.controlplane.kubeadm.workload_port import Workload
from nagaya.kube.calls import nothing
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.streams.stream import MakeDialer


class Tenants:
    """Tenants, as `Workloads` asks for them."""

    def __init__(
        self,
        rt: Runtime,
        reader: SecretReader,
        keys: Keys,
        dialers: MakeDialer,
        guard: Callable[[], None] = nothing,
    ) -> None:
        """`guard` is called before an etcd is changed, as clients call it before every write."""
        self._rt = rt
        self._reader = reader
        self._keys = keys
        self._dialers = dialers
        self._guard = guard
        self._tenants: dict[Key, Tenant] = {}
        self._subscribers: tuple[Callable[[Key], None], ...] = ()
        self._closing: set[asyncio.Task[None]] = set()
        rt.remotes.subscribe(self._connection_changed)

    def get(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> Workload | None:
        """The tenant of a cluster; None if it is not connected."""
        key = Key.of(cluster)
        remote = self._rt.remotes.get(key)
        if remote is None:
            self._forget(key)
            return None
        known = self._tenants.get(key)
        if known is not None and known.remote is remote:
            return known
        self._forget(key)
        credentials = EtcdCredentials(key, self._reader, self._keys, self._rt.world.clock)
        dialer = self._dialers(remote.connection)
        made = Tenant(remote, dialer, credentials, self._rt.world, lambda: self._tell(key), self._guard)
        self._tenants[key] = made
        return made

    def on_change(self, changed: Callable[[Key], None]) -> None:
        """Call a function with the key of a Cluster when a look at its tenant may find something else."""
        self._subscribers = (*self._subscribers, changed)

    async def close(self) -> None:
        """Let go of all tenants."""
        for key in [*self._tenants]:
            self._forget(key)
        await asyncio.gather(*self._closing)

    def _connection_changed(self, key: Key) -> None:
        known = self._tenants.get(key)
        if known is not None and self._rt.remotes.get(key) is not known.remote:
            self._forget(key)
        self._tell(key)

    def _forget(self, key: Key) -> None:
        known = self._tenants.pop(key, None)
        if known is not None:
            task = asyncio.get_running_loop().create_task(known.close(), name=f"tenant {key} is let go of")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _tell(self, key: Key) -> None:
        for changed in self._subscribers:
            changed(key)
