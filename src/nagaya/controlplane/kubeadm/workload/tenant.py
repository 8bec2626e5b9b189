"""One tenant that can be talked to, for as long as its connection lasts.

Nodes and static pods come from a cache that the connection keeps; etcd is asked when what it said last may not be true
any more; kubeadm's configuration and add-ons are looked at when something else is declared, and once in a while. So a
look at a control plane in which nothing happens costs its tenant nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.clusters.news import is_news
from nagaya.clusters.node import BY_PROVIDER_ID, NODES, Node, nodes_of, provider_ids
from nagaya.controlplane.kubeadm.tenant_seen import COMPONENTS, EtcdSeen, MemberSeen, TenantSeen, pod_name
from nagaya.controlplane.kubeadm.workload import etcd
from nagaya.controlplane.kubeadm.workload.api_certificate import certificate_expiry
from nagaya.controlplane.kubeadm.workload.cluster_configuration import updated
from nagaya.controlplane.kubeadm.workload.core_dns import update_core_dns
from nagaya.controlplane.kubeadm.workload.etcd_credentials import EtcdCredentials, NoEtcdCredentials
from nagaya.controlplane.kubeadm.workload.initialization import Initialization
from nagaya.controlplane.kubeadm.workload.kube_proxy import update_kube_proxy
from nagaya.controlplane.kubeadm.workload.kubeadm_config_map import change_cluster_configuration
from nagaya.controlplane.kubeadm.workload.permissions import allow_kubeadm
from nagaya.controlplane.kubeadm.workload.recent_etcd import RecentEtcd
from nagaya.controlplane.kubeadm.workload.static_pod import (
    NAMESPACE,
    SELECTOR,
    STATIC_PODS,
    StaticPod,
    pod_seen,
    trimmed,
)
from nagaya.controlplane.kubeadm.workload_port import Question, WorkloadError
from nagaya.kube.cache.change import Change
from nagaya.kube.calls import nothing
from nagaya.kube.errors import ApiError
from nagaya.kube.etcd.pool import EtcdPool
from nagaya.kube.key import Key
from nagaya.kube.remote import Remote
from nagaya.kube.streams.stream import Dialer
from nagaya.kube.transport import NoAnswer
from nagaya.world import World

CONTROL_PLANE_LABEL: Final = "node-role.kubernetes.io/control-plane"
BY_ROLE: Final = "control plane nodes"
WATCHER: Final = "kubeadmcontrolplane"
LISTING_PATIENCE: Final = 3.0
"""Seconds that the first look waits for Nodes and pods, which takes moments if all is well."""
KEPT_FOR: Final = 600.0
"""Seconds after which what was brought in line is looked at again although nothing else was declared."""


class Tenant:
    """A tenant, as `Workload` asks for it."""

    def __init__(
        self,
        remote: Remote,
        dialer: Dialer,
        credentials: EtcdCredentials,
        world: World,
        changed: Callable[[], None],
        guard: Callable[[], None] = nothing,
    ) -> None:
        """`changed` is called when a look may find something else than the last one; `guard` before etcd is changed,
        and raises if this process may not do that any more."""
        self.remote = remote
        self._dialer = dialer
        self._credentials = credentials
        self._clock = world.clock
        self._changed = changed
        self._guard = guard
        self._etcd = RecentEtcd(self._ask_etcd, world.clock, changed)
        self._initialization = Initialization(remote, world, changed)
        self._kept: dict[str, tuple[object, float]] = {}
        self._followed = False
        self._waited = False

    def follow(self) -> None:
        """Keep its Nodes and static pods in the cache. Again: no effect."""
        if self._followed:
            return
        self._followed = True
        cache = self.remote.cache
        self.remote.watch(WATCHER, NODES, self._node_changed)
        cache.add_index(NODES, BY_PROVIDER_ID, provider_ids)
        cache.add_index(NODES, BY_ROLE, _role)
        cache.start(STATIC_PODS, namespace=NAMESPACE, labels=SELECTOR, transform=trimmed)
        cache.subscribe(STATIC_PODS, self._pod_changed)

    async def close(self) -> None:
        """Let go of everything but the connection, which is somebody else's."""
        self._etcd.close()
        await self._initialization.close()

    async def look(self, question: Question) -> TenantSeen:
        """Look at it."""
        if not question.pods:
            return TenantSeen(kubeadm_config=self._initialization.complete())
        self.follow()
        if problem := await self._unlisted():
            return TenantSeen(kubeadm_config=True, nodes_problem=problem)
        cache = self.remote.cache
        nodes = {each.metadata.name: each for each in self._nodes(question)}
        found = ((name, cache.get(STATIC_PODS, Key(NAMESPACE, name))) for name in _pod_names(nodes))
        # etcd is on none of the Nodes that are gone.
        through = tuple(each for each in question.etcd_on if each in nodes)
        return TenantSeen(
            kubeadm_config=True,
            nodes=nodes,
            pods={name: pod_seen(pod) for name, pod in found if pod is not None},
            etcd=await self._etcd.seen(through),
        )

    async def move_leader(self, leader: str, candidates: Sequence[str]) -> str:
        """Have etcd's leader hand over to the first candidate that takes it."""
        pool = await self._pool()
        self._guard()
        try:
            return await etcd.move_leader(pool, leader, candidates)
        finally:
            self._etcd.doubt()

    async def remove_member(self, member: MemberSeen, through: Collection[str]) -> None:
        """Take a member out of etcd."""
        pool = await self._pool()
        self._guard()
        try:
            await etcd.remove_member(pool, member, through)
        finally:
            self._etcd.doubt()

    async def allow_kubeadm(self, version: str) -> None:
        """Have the roles that kubeadm of a version needs."""
        with self._once("roles for kubeadm", version) as due:
            if due:
                await allow_kubeadm(self.remote.client, version)

    async def update_kubeadm_config(self, control_plane: KubeadmControlPlane) -> None:
        """Bring the cluster configuration in line with what is declared."""
        with self._once("the cluster configuration", _facts(control_plane)) as due:
            if due:
                await change_cluster_configuration(self.remote.client, lambda present: updated(present, control_plane))

    async def update_kube_proxy(self, control_plane: KubeadmControlPlane) -> None:
        """Bring kube-proxy in line with the version."""
        with self._once("kube-proxy", _facts(control_plane)) as due:
            if due:
                await update_kube_proxy(self.remote.client, control_plane)

    async def update_core_dns(self, control_plane: KubeadmControlPlane) -> None:
        """Bring CoreDNS in line with what is declared."""
        with self._once("CoreDNS", _facts(control_plane)) as due:
            if due:
                await update_core_dns(self.remote.client, control_plane)

    async def certificate_expiry(self, node: str, port: int) -> datetime:
        """When the serving certificate of the API server on a Node ends."""
        return await certificate_expiry(self._dialer, node, port)

    @contextmanager
    def _once(self, what: str, facts: object) -> Iterator[bool]:
        """Whether something is due, because it depends on facts that are new or was done a while ago. It counts as
        done when the block is left in peace. Raises WorkloadError for what goes wrong in it."""
        known = self._kept.get(what)
        now = self._clock.monotonic()
        if known is not None and known[0] == facts and now - known[1] < KEPT_FOR:
            yield False
            return
        try:
            yield True
        except (ApiError, NoAnswer, ValueError) as error:
            raise WorkloadError(f"{what} cannot be brought in line: {error}") from error
        self._kept[what] = facts, now

    async def _unlisted(self) -> str:
        """Why not all Nodes and pods are known yet. Empty if they are."""
        cache = self.remote.cache
        if cache.is_synced(NODES) and cache.is_synced(STATIC_PODS):
            return ""
        try:
            # Once: a hundred tenants that hang would keep all others waiting. When they are listed, that is news.
            async with asyncio.timeout(0 if self._waited else LISTING_PATIENCE):
                await cache.synced(NODES, STATIC_PODS)
        except TimeoutError:
            self._waited = True
            return "; ".join(cache.unfollowed()) or "they have not been listed yet"
        return ""

    def _nodes(self, question: Question) -> Iterator[Node]:
        cache = self.remote.cache
        yield from cache.by(NODES, BY_ROLE, CONTROL_PLANE_LABEL)
        for name in question.nodes:
            if (found := cache.get(NODES, Key("", name))) is not None:
                yield found
        for provider_id in question.provider_ids:
            yield from nodes_of(cache, provider_id)

    async def _pool(self) -> EtcdPool:
        try:
            return EtcdPool(self._dialer, await self._credentials.context())
        except (NoEtcdCredentials, ApiError, NoAnswer) as error:
            raise WorkloadError(f"etcd cannot be reached: {error}") from error

    async def _ask_etcd(self, nodes: tuple[str, ...]) -> EtcdSeen:
        try:
            context = await self._credentials.context()
        except (NoEtcdCredentials, ApiError, NoAnswer) as error:
            return EtcdSeen(problem=f"Failed to connect to etcd: {error}")
        return await etcd.ask(EtcdPool(self._dialer, context), nodes)

    def _node_changed(self, change: Change[Node]) -> None:
        if not any(each is not None and CONTROL_PLANE_LABEL in each.metadata.labels for each in change):
            return
        if is_news(change, lambda node: (node.metadata.labels, node.spec, node.status.conditions)):
            self._etcd.doubt()
            self._changed()

    def _pod_changed(self, change: Change[StaticPod]) -> None:
        if is_news(change, lambda pod: (pod.status, pod.metadata.deletion_timestamp)):
            self._etcd.doubt()
            self._changed()


def _role(node: Node) -> Iterable[str]:
    return (CONTROL_PLANE_LABEL,) if CONTROL_PLANE_LABEL in node.metadata.labels else ()


def _pod_names(nodes: Iterable[str]) -> Iterator[str]:
    return (pod_name(component, node) for node in nodes for component in COMPONENTS)


def _facts(kcp: KubeadmControlPlane) -> tuple[object, ...]:
    """What the configuration of a tenant and its add-ons depend on."""
    return kcp.spec.version, kcp.spec.kubeadm_config_spec.cluster_configuration, kcp.metadata.annotations
