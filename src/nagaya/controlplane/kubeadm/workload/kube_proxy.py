"""kube-proxy follows the version of its control plane: the image of the DaemonSet that kubeadm made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.api.controlplane.names import SKIP_KUBE_PROXY
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.controlplane.kubeadm.workload.image import Image
from nagaya.controlplane.kubeadm.workload.static_pod import NAMESPACE
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.kube.patches import Merge

NAME: Final = "kube-proxy"
DAEMON_SETS: Final = Kind("apps", "v1", "DaemonSet", "daemonsets", Untyped)


async def update_kube_proxy(client: Client, kcp: KubeadmControlPlane) -> None:
    """Bring the image in line. Without a DaemonSet there is nothing to do: not every cluster has kube-proxy.

    Raises what the tenant refuses, and ValueError if the image is not one whose version could be told.
    """
    if SKIP_KUBE_PROXY in kcp.metadata.annotations:
        return
    try:
        present = await client.get(DAEMON_SETS, NAMESPACE, NAME)
    except NotFound:
        return
    containers: Sequence[dict[str, Any]] = present.at("spec", "template", "spec", "containers") or ()
    repository = kcp.spec.kubeadm_config_spec.cluster_configuration.image_repository
    wanted = [_updated(each, kcp.spec.version, repository) for each in containers]
    if wanted != [*containers]:
        content = {"spec": {"template": {"spec": {"containers": wanted}}}}
        await client.patch(DAEMON_SETS, NAMESPACE, NAME, Merge(content, present.metadata.resource_version))


def _updated(container: dict[str, Any], version: str, repository: str) -> dict[str, Any]:
    if container.get("name") != NAME:
        return container
    image = Image.parse(str(container.get("image", ""))).tagged(version).at(repository)
    return {**container, "image": str(image)}
