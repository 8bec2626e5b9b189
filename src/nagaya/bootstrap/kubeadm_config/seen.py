"""Everything that a plan for a KubeadmConfig may depend on, read from the cache in one go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.bootstrap import annotations as annotation
from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.cluster_conditions import ClusterCondition
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.provider import ControlPlane, InfrastructureCluster
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.bootstrap.kubeadm_config.config_owner import ConfigOwner, owner_of
from nagaya.bootstrap.preparation import KubeletFacts
from nagaya.clusters.external import look_up, served
from nagaya.kube.conditions import is_true
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS, TenantSecret

_NOTHING_ASKED: Final = KubeletFacts()
_EXTERNAL: Final = "external"
NOT_CONNECTED: Final = "the API of the cluster has not been reached yet"


@dataclass(frozen=True, slots=True)
class Seen:
    """A KubeadmConfig and what it has to do with."""

    config: KubeadmConfig
    owner: ConfigOwner
    cluster: Cluster
    now: datetime
    data: TenantSecret | None = None
    """The Secret with the boot data, without its content."""
    connected: bool = False
    problem: str = ""
    """Why the cluster's API cannot be reached, if it cannot."""
    control_plane_version: str = ""
    kubelet: KubeletFacts = _NOTHING_ASKED

    @property
    def cluster_key(self) -> Key:
        """The tenant."""
        return Key.of(self.cluster)

    @property
    def initialized(self) -> bool:
        """Whether the cluster has a control plane that others can join."""
        return is_true(self.cluster.status.conditions, ClusterCondition.CONTROL_PLANE_INITIALIZED)


def observe(rt: Runtime, config: KubeadmConfig) -> Seen | None:
    """Look. None if it belongs to no machine, or its machine or Cluster is not there yet."""
    owner = owner_of(rt.cache, config)
    if owner is None:
        return None
    namespace = config.metadata.namespace
    cluster = rt.cache.get(CLUSTERS, Key(namespace, owner.cluster_name))
    if cluster is None:
        return None
    key = Key.of(cluster)
    return Seen(
        config,
        owner,
        cluster,
        rt.world.clock.now(),
        rt.cache.get(TENANT_SECRETS, Key.of(config)),
        rt.remotes.get(key) is not None,
        rt.remotes.probe(key).problem or NOT_CONNECTED,
        _control_plane_version(rt, cluster),
        _kubelet(rt, cluster),
    )


def provider_kinds(rt: Runtime, cluster: Cluster) -> list[Kind[Untyped]]:
    """The kinds of other providers that are looked at, as far as they are installed."""
    references = (cluster.spec.infrastructure_ref, cluster.spec.control_plane_ref)
    return [kind for each in references if each is not None and (kind := _served(rt, each)) is not None]


def _served(rt: Runtime, reference: ContractReference) -> Kind[Untyped] | None:
    return served(rt.kinds, reference.api_group, reference.kind)


def _control_plane_version(rt: Runtime, cluster: Cluster) -> str:
    reference = cluster.spec.control_plane_ref
    if reference is None:
        return ""
    found = look_up(rt, cluster.metadata.namespace, reference, ControlPlane).provider
    return "" if found is None else found.read(str, "", "spec", "version")


def _kubelet(rt: Runtime, cluster: Cluster) -> KubeletFacts:
    """What the infrastructure wants kubelets to be told, by annotations of its object for the cluster."""
    reference = cluster.spec.infrastructure_ref
    if reference is None:
        return KubeletFacts()
    found = look_up(rt, cluster.metadata.namespace, reference, InfrastructureCluster).provider
    if found is None:
        return KubeletFacts()
    said = found.metadata.annotations
    return KubeletFacts(
        said.get(annotation.KUBELET_NODE_IP, ""),
        said.get(annotation.KUBELET_PROVIDER_ID, ""),
        said.get(annotation.KUBELET_CLOUD_PROVIDER, "") == _EXTERNAL,
    )
