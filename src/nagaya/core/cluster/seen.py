"""Everything that what happens to a Cluster may depend on, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.contract.provider import ControlPlane, InfrastructureCluster
from nagaya.clusters.external import Referenced
from nagaya.core.cluster import references
from nagaya.core.cluster.descendants import Descendants, descendants
from nagaya.kube.key import Key
from nagaya.kube.remote import Probe
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import SUFFIX, TENANT_SECRETS


@dataclass(frozen=True, slots=True)
class Seen:
    """A Cluster and its surroundings at one moment. If it is not in here, it does not matter."""

    cluster: Cluster
    now: datetime
    infrastructure: Referenced[InfrastructureCluster] | None = None
    control_plane: Referenced[ControlPlane] | None = None
    descendants: Descendants = field(default_factory=Descendants)
    has_kubeconfig: bool = False
    """Whether the Secret with the kubeconfig of the cluster is there."""
    probe: Probe = field(default_factory=Probe)
    """How the API of the cluster answered last."""
    connected: bool = False

    @property
    def problems(self) -> tuple[str, ...]:
        """What the references of the Cluster have of problems, a sentence each."""
        return tuple(each.problem for each in (self.infrastructure, self.control_plane) if each and each.problem)

    @property
    def waits_for_topology(self) -> bool:
        """Whether the references are still to be filled in from a ClusterClass."""
        return self.cluster.spec.topology is not None and (self.infrastructure is None or self.control_plane is None)


def observe(rt: Runtime, cluster: Cluster) -> Seen:
    """What is known of a Cluster now, all of it from memory."""
    key = Key.of(cluster)
    return Seen(
        cluster=cluster,
        now=rt.world.clock.now(),
        infrastructure=references.infrastructure(rt, cluster),
        control_plane=references.control_plane(rt, cluster),
        descendants=descendants(rt.cache, cluster),
        has_kubeconfig=rt.cache.get(TENANT_SECRETS, Key(key.namespace, key.name + SUFFIX)) is not None,
        probe=rt.remotes.probe(key),
        connected=rt.remotes.get(key) is not None,
    )
