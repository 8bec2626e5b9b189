"""The ConfigMap kubeadm-config of a tenant, changed only where it says something else than it should."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.controlplane.kubeadm.workload import yaml_text
from nagaya.controlplane.kubeadm.workload.cluster_configuration import Document
from nagaya.controlplane.kubeadm.workload.initialization import KUBEADM_CONFIG
from nagaya.controlplane.kubeadm.workload.static_pod import NAMESPACE
from nagaya.kube.client import Client
from nagaya.kube.errors import Conflict
from nagaya.kube.patches import Merge, same

CONFIG_MAPS: Final = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
CLUSTER_CONFIGURATION: Final = "ClusterConfiguration"
ATTEMPTS: Final = 4
"""How often a write is tried that others come before."""


async def change_cluster_configuration(client: Client, change: Callable[[Mapping[str, Any]], Document]) -> bool:
    """Change the document. Returns whether there was anything to change.

    Raises what the tenant refuses, and ValueError if there is no document, or none that is understood.
    """
    for last in (*(False,) * (ATTEMPTS - 1), True):
        present = await client.get(CONFIG_MAPS, NAMESPACE, KUBEADM_CONFIG)
        text = (present.at("data") or {}).get(CLUSTER_CONFIGURATION)
        where = f"{CLUSTER_CONFIGURATION} in ConfigMap {NAMESPACE}/{KUBEADM_CONFIG}"
        if not isinstance(text, str):
            raise ValueError(f"there is no {where}")
        try:
            before = yaml_text.load(text)
            after = change(before)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
        if same(before, after):
            return False
        content = {"data": {CLUSTER_CONFIGURATION: yaml_text.dump(after)}}
        try:
            patch = Merge(content, present.metadata.resource_version)
            await client.patch(CONFIG_MAPS, NAMESPACE, KUBEADM_CONFIG, patch)
        except Conflict:
            if last:
                raise
        else:
            return True
    return False
