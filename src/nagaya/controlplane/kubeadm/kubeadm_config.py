"""The KubeadmConfig of each machine: the first one starts the cluster, all others join it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from nagaya.api.bootstrap.join_configuration import JoinControlPlane
from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES, KubeadmControlPlane
from nagaya.clusters import owners
from nagaya.clusters.kubernetes_version import parse
from nagaya.controlplane.kubeadm.machine_content import machine_annotations, machine_labels

LOCAL_MODE: Final = "ControlPlaneKubeletLocalMode"
"""Kubelets of control planes talk to the API server beside them: a newer kubelet must not meet an older one."""
LOCAL_MODE_FROM: Final = (1, 31)
LOCAL_MODE_UNTIL: Final = (1, 36)
"""From this version on it is always so, and kubeadm does not know the gate any more."""
API_SERVER_PORT: Final = 6443

_NOTHING: Final = KubeadmConfigSpec()


def kubeadm_spec(kcp: KubeadmControlPlane, *, join: bool) -> KubeadmConfigSpec:
    """What the KubeadmConfig of a machine says.

    One that joins keeps the settings of the cluster, by which the bootstrap provider knows an external etcd, and has a
    `joinConfiguration.controlPlane`, by which it is told from the first.
    """
    spec = _with_local_mode(kcp.spec.kubeadm_config_spec, kcp.spec.version)
    if not join:
        return msgspec.structs.replace(spec, join_configuration=_NOTHING.join_configuration)
    joining = spec.join_configuration
    if joining.control_plane is None:
        joining = msgspec.structs.replace(joining, control_plane=JoinControlPlane())
    return msgspec.structs.replace(spec, init_configuration=_NOTHING.init_configuration, join_configuration=joining)


def new_config(kcp: KubeadmControlPlane, cluster: str, name: str, *, join: bool) -> dict[str, Any]:
    """The content of a KubeadmConfig that is to be made. It belongs to the control plane until its Machine takes it."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": kcp.metadata.namespace,
        "labels": machine_labels(kcp, cluster),
        "ownerReferences": [msgspec.to_builtins(owners.owner(KUBEADM_CONTROL_PLANES, kcp))],
    }
    if annotations := machine_annotations(kcp):
        metadata["annotations"] = annotations
    content = _without_empty(msgspec.to_builtins(kubeadm_spec(kcp, join=join)))
    if join:
        content.setdefault("joinConfiguration", {}).setdefault("controlPlane", {})
    return {"metadata": metadata, "spec": content} if content else {"metadata": metadata}


def is_for_join(config: KubeadmConfig) -> bool:
    """Whether a machine joins. The first machine has nothing in its join configuration but, at most, time limits."""
    return config.spec.join_configuration.control_plane is not None


def api_server_port(config: KubeadmConfig) -> int:
    """Where the API server of a machine listens."""
    joining = config.spec.join_configuration.control_plane
    own = config.spec.init_configuration.local_api_endpoint.bind_port
    return own or (0 if joining is None else joining.local_api_endpoint.bind_port) or API_SERVER_PORT


def _with_local_mode(spec: KubeadmConfigSpec, version: str) -> KubeadmConfigSpec:
    parsed = parse(version)
    cluster = spec.cluster_configuration
    if parsed is None or not LOCAL_MODE_FROM <= (parsed.major, parsed.minor) < LOCAL_MODE_UNTIL:
        return spec
    if LOCAL_MODE in cluster.feature_gates:
        return spec
    gates = {**cluster.feature_gates, LOCAL_MODE: True}
    return msgspec.structs.replace(spec, cluster_configuration=msgspec.structs.replace(cluster, feature_gates=gates))


def _without_empty(content: Mapping[str, Any]) -> dict[str, Any]:
    """Objects without content are refused nearly everywhere; a list without any may mean something."""
    kept: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, Mapping):
            inner = _without_empty(value)
            if inner:
                kept[name] = inner
        else:
            kept[name] = value
    return kept
