"""Everything that a plan for a KubeadmControlPlane may depend on: cached reads, and one look at the tenant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS, KubeadmConfig
from nagaya.api.cluster import labels as label
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_pool import MACHINE_POOLS
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES, KubeadmControlPlane
from nagaya.api.kind import Kind, Object
from nagaya.clusters import owners
from nagaya.clusters.external import keep
from nagaya.controlplane.kubeadm.certificates_port import AVAILABLE, CertificatesSeen, SecretsSeen
from nagaya.controlplane.kubeadm.hosts import Host, HostTemplate, host_of, made_by, template_of
from nagaya.controlplane.kubeadm.tenant_seen import TenantSeen
from nagaya.controlplane.kubeadm.workload_port import Question
from nagaya.kube.cache.cache import Cache
from nagaya.kube.conditions import is_true
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS, TenantSecret

BY_CLUSTER: Final = "machines and pools of the cluster of a control plane"
_INDEXED: Final[tuple[Kind[Any], ...]] = (MACHINES, MACHINE_POOLS)


@dataclass(frozen=True, slots=True)
class Connection:
    """What is known of how a tenant answers."""

    last_success: datetime | None = None
    failures: int = 0
    """How many probes have failed in a row."""


NEVER_CONNECTED: Final = Connection()


@dataclass(frozen=True, slots=True)
class Seen:
    """A KubeadmControlPlane and what it has to do with."""

    kcp: KubeadmControlPlane
    cluster: Cluster
    now: datetime
    template: HostTemplate
    machines: tuple[Machine, ...] = ()
    """Those of the control plane, by name, also those that are being deleted."""
    adoptable: tuple[Machine, ...] = ()
    """Control plane machines of the cluster that nobody manages."""
    foreign: tuple[str, ...] = ()
    """Names of control plane machines of the cluster that somebody else manages."""
    workers: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    """What a control plane outlives, by name."""
    configs: Mapping[str, KubeadmConfig] = field(default_factory=dict)
    hosts: Mapping[str, Host] = field(default_factory=dict)
    """Objects of providers, by the name of the machine, as far as they are there."""
    adoptable_configs: Mapping[str, KubeadmConfig] = field(default_factory=dict)
    """Of adoptable machines."""
    adoptable_secrets: tuple[TenantSecret, ...] = ()
    """What those configurations own besides their boot data."""
    unclaimed_configs: tuple[KubeadmConfig, ...] = ()
    unclaimed_hosts: tuple[Host, ...] = ()
    """What the control plane made for a machine that is not there."""
    authorities: SecretsSeen = AVAILABLE
    kubeconfig: SecretsSeen = AVAILABLE
    renewal: datetime | None = None
    """When one of these is to be renewed."""
    connection: Connection = NEVER_CONNECTED
    tenant: TenantSeen | None = None
    """None if the tenant could not be talked to."""
    settled: bool = False
    """Whether machines are known to have been brought in line with what is declared now."""

    @property
    def deleting(self) -> bool:
        """Whether the control plane goes."""
        return self.kcp.metadata.deleting

    @property
    def initialized(self) -> bool:
        """Whether the tenant's API took its first request."""
        return bool(self.kcp.status.initialization.control_plane_initialized)

    @property
    def provisioned(self) -> bool:
        """Whether the infrastructure that machines share is there."""
        return bool(self.cluster.status.initialization.infrastructure_provisioned)

    @property
    def has_endpoint(self) -> bool:
        """Whether it is known where the tenant's API will be."""
        return self.cluster.spec.control_plane_endpoint.valid


def cluster_of(cache: Cache, kcp: KubeadmControlPlane) -> Cluster | None:
    """The Cluster that owns a control plane; None before its controller has said so, or if it is gone."""
    for each in kcp.metadata.owner_references:
        if owners.is_a(each, CLUSTERS):
            return cache.get(CLUSTERS, Key(kcp.metadata.namespace, each.name))
    return None


def add_indexes(cache: Cache) -> None:
    """What a look at a control plane needs to find things. The kinds are kept from here on."""
    keep(cache, (CLUSTERS, KUBEADM_CONTROL_PLANES, KUBEADM_CONFIGS, *_INDEXED))
    for kind in _INDEXED:
        cache.add_index(kind, BY_CLUSTER, _cluster_of)


def observe(
    rt: Runtime, kcp: KubeadmControlPlane, cluster: Cluster, certificates: CertificatesSeen, *, settled: bool
) -> Seen:
    """Look at everything but the tenant. The kinds of `hosts.kinds_of` must be in the cache."""
    cache = rt.cache
    everything = _in_cluster(cache, MACHINES, cluster)
    ours = [each for each in everything if label.CONTROL_PLANE in each.metadata.labels]
    owned = tuple(each for each in ours if _is_owner(kcp, each))
    seen = Seen(
        kcp=kcp,
        cluster=cluster,
        now=rt.world.clock.now(),
        template=template_of(rt, kcp),
        connection=_connection(rt, cluster),
    )
    if not seen.deleting and not (seen.provisioned and seen.has_endpoint):
        # There can be no machines yet; those that look like some are not to be touched before they can be understood.
        owned, ours = (), []
    adoptable = tuple(each for each in ours if each.metadata.controller is None)
    adoptable_configs = _configs(cache, adoptable)
    unclaimed_configs, unclaimed_hosts = _unclaimed(rt, seen, owned)
    return replace(
        seen,
        machines=owned,
        adoptable=() if seen.deleting else adoptable,
        foreign=tuple(
            each.metadata.name for each in ours if each.metadata.controller is not None and not _is_owner(kcp, each)
        ),
        workers=tuple(each.metadata.name for each in everything if label.CONTROL_PLANE not in each.metadata.labels),
        pools=tuple(each.metadata.name for each in _in_cluster(cache, MACHINE_POOLS, cluster)),
        configs=_configs(cache, owned),
        hosts={each.metadata.name: host for each in owned if (host := host_of(rt, each)) is not None},
        adoptable_configs=adoptable_configs,
        adoptable_secrets=_secrets(cache, adoptable_configs.values()),
        unclaimed_configs=unclaimed_configs,
        unclaimed_hosts=unclaimed_hosts,
        authorities=certificates.authorities,
        kubeconfig=certificates.kubeconfig,
        renewal=certificates.look_again,
        settled=settled,
    )


def question(seen: Seen) -> Question:
    """What is to be looked at in the tenant."""
    there = [each for each in seen.machines if each.status.node_ref is not None]
    hosts = (seen.hosts.get(each.metadata.name) for each in seen.machines)
    ids = {each.spec.provider_id for each in seen.machines} | {each.provider_id for each in hosts if each is not None}
    # Members that were healthy are the most likely to answer.
    order = sorted(
        (each for each in there if not each.metadata.deleting),
        key=lambda each: (
            not is_true(each.status.conditions, kubeadm.MACHINE_ETCD_MEMBER_HEALTHY),
            each.metadata.name,
        ),
    )
    managed = seen.kcp.spec.kubeadm_config_spec.cluster_configuration.etcd.external is None
    return Question(
        nodes=frozenset(_node(each) for each in there),
        provider_ids=frozenset(ids - {""}),
        etcd_on=tuple(_node(each) for each in order) if managed and seen.initialized else (),
        pods=seen.initialized,
    )


def _node(machine: Machine) -> str:
    return "" if machine.status.node_ref is None else machine.status.node_ref.name


def _connection(rt: Runtime, cluster: Cluster) -> Connection:
    probe = rt.remotes.probe(Key.of(cluster))
    return Connection(probe.last_success, probe.failures)


def _is_owner(kcp: KubeadmControlPlane, machine: Machine) -> bool:
    return any(owners.names(each, KUBEADM_CONTROL_PLANES, kcp) for each in machine.metadata.owner_references)


def _configs(cache: Cache, machines: Iterable[Machine]) -> dict[str, KubeadmConfig]:
    found = {}
    for machine in machines:
        reference = machine.spec.bootstrap.config_ref
        if reference is None or reference.kind != KUBEADM_CONFIGS.kind:
            continue
        config = cache.get(KUBEADM_CONFIGS, Key(machine.metadata.namespace, reference.name))
        if config is not None:
            found[machine.metadata.name] = config
    return found


def _secrets(cache: Cache, configs: Iterable[KubeadmConfig]) -> tuple[TenantSecret, ...]:
    if not cache.has(TENANT_SECRETS):
        return ()
    return tuple(
        secret
        for config in configs
        for secret in cache.owned(TENANT_SECRETS, config.metadata.uid)
        if secret.metadata.name != config.status.data_secret_name
    )


def _unclaimed(
    rt: Runtime, seen: Seen, machines: Iterable[Machine]
) -> tuple[tuple[KubeadmConfig, ...], tuple[Host, ...]]:
    """A machine and its objects have one name, so what has no machine of its name is left over."""
    kcp, cache = seen.kcp, rt.cache
    kinds = {seen.template.made} if seen.template.made is not None and cache.has(seen.template.made) else set()
    configs = tuple(
        each
        for each in cache.owned(KUBEADM_CONFIGS, kcp.metadata.uid)
        if any(owners.is_a(owner, KUBEADM_CONTROL_PLANES) for owner in each.metadata.owner_references)
        and cache.get(MACHINES, Key.of(each)) is None
    )
    hosts = tuple(
        host for kind in kinds for host in made_by(rt, kind, kcp) if cache.get(MACHINES, Key.of(host.object)) is None
    )
    claimed = {each.spec.infrastructure_ref.name for each in machines}
    return (
        tuple(each for each in configs if each.metadata.name not in _config_names(machines)),
        tuple(each for each in hosts if each.object.metadata.name not in claimed),
    )


def _config_names(machines: Iterable[Machine]) -> set[str]:
    references = (each.spec.bootstrap.config_ref for each in machines)
    return {each.name for each in references if each is not None}


def _cluster_of(obj: Object) -> Iterable[str]:
    name = obj.metadata.labels.get(label.CLUSTER_NAME)
    return (f"{obj.metadata.namespace}/{name}",) if name else ()


def _in_cluster(cache: Cache, kind: Kind[Any], cluster: Cluster) -> list[Any]:
    return cache.by(kind, BY_CLUSTER, f"{cluster.metadata.namespace}/{cluster.metadata.name}")
