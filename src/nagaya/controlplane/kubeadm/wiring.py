"""The KubeadmControlPlane controller with everything that it stands on, as a process runs it."""

from __future__ import annotations

from collections.abc import Callable

from nagaya.clusters.certificates.key_maker import Keys
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.controlplane.kubeadm import controller as control_planes
from nagaya.controlplane.kubeadm.cluster_secrets import ClusterSecrets
from nagaya.controlplane.kubeadm.workload.tenants import Tenants
from nagaya.kube.controller import Controller
from nagaya.kube.runtime import Runtime
from nagaya.kube.streams.stream import MakeDialer


def controller(
    rt: Runtime, reader: SecretReader, keys: Keys, dialers: MakeDialer, guard: Callable[[], None]
) -> Controller:
    """The controller, to be run by a manager. `dialers` make ways to the pods of tenants; `guard` is called before
    anything is changed in their etcd, which no client sees, and raises if this process may not do that any more."""
    return control_planes.controller(rt, ClusterSecrets(rt, reader, keys), Tenants(rt, reader, keys, dialers, guard))
