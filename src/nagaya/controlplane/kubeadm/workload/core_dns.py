"""CoreDNS follows what its control plane declares: `dns.imageTag` and where images come from.

Without a tag its version stays what it is. The image is changed last: a crash before that leaves a CoreDNS that works,
and all is done again. What Cluster API's provider may have left half-way, a Deployment that reads the backup of its
configuration, is put right with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from nagaya.api.bootstrap.cluster_configuration import ClusterConfiguration
from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.api.controlplane.names import SKIP_COREDNS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.kubernetes_version import parse
from nagaya.controlplane.kubeadm.workload.cluster_configuration import with_dns
from nagaya.controlplane.kubeadm.workload.corefile import Version, migrated
from nagaya.controlplane.kubeadm.workload.image import Image
from nagaya.controlplane.kubeadm.workload.kubeadm_config_map import CONFIG_MAPS, change_cluster_configuration
from nagaya.controlplane.kubeadm.workload.static_pod import NAMESPACE
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.kube.patches import Merge

NAME: Final = "coredns"
COREFILE: Final = "Corefile"
BACKUP: Final = "Corefile-backup"
DEPLOYMENTS: Final = Kind("apps", "v1", "Deployment", "deployments", Untyped)
_VOLUME: Final = "config-volume"
_RENAMED_FROM: Final = (1, 8, 0)
_OFFICIAL: Final = ("registry.k8s.io", "k8s.gcr.io")
_UNDECLARED: Final = ClusterConfiguration()


@dataclass(frozen=True, slots=True)
class Update:
    """What is to change."""

    image: str
    corefile: str


async def update_core_dns(client: Client, kcp: KubeadmControlPlane) -> None:
    """Bring it in line, where there is one. Raises what the tenant refuses, and ValueError for what cannot be."""
    declared = kcp.spec.kubeadm_config_spec.cluster_configuration
    if SKIP_COREDNS in kcp.metadata.annotations or declared == _UNDECLARED:
        return
    try:
        settings = await client.get(CONFIG_MAPS, NAMESPACE, NAME)
        deployment = await client.get(DEPLOYMENTS, NAMESPACE, NAME)
    except NotFound:
        return
    data: Mapping[str, str] = settings.at("data") or {}
    containers: Sequence[dict[str, Any]] = deployment.at("spec", "template", "spec", "containers") or ()
    image = next((str(each.get("image", "")) for each in containers if each.get("name") == NAME), None)
    if COREFILE not in data or image is None:
        raise ValueError(f"CoreDNS has no {COREFILE}, or no container {NAME}: it is not what kubeadm made")
    update = plan(image, data[COREFILE], declared)
    if update is None:
        return
    await change_cluster_configuration(client, lambda present: with_dns(present, kcp))
    if update.corefile != data[COREFILE]:
        content = {"data": {COREFILE: update.corefile, BACKUP: data[COREFILE]}}
        await client.patch(CONFIG_MAPS, NAMESPACE, NAME, Merge(content, settings.metadata.resource_version))
    await client.patch(
        DEPLOYMENTS, NAMESPACE, NAME, Merge(_changed(deployment, update.image), deployment.metadata.resource_version)
    )


def plan(image: str, corefile: str, declared: ClusterConfiguration) -> Update | None:
    """What to change; None if nothing is. Raises ValueError for what cannot be done, with the remedy."""
    present = Image.parse(image)
    before = _version(present)
    repository = declared.dns.image_repository or declared.image_repository
    wanted = present.at(repository)
    if declared.dns.image_tag:
        wanted = replace(wanted, tag=declared.dns.image_tag)
    after = _version(wanted)
    if wanted.repository in _OFFICIAL and wanted.name == NAME and after >= _RENAMED_FROM:
        wanted = replace(wanted, name=f"{NAME}/{NAME}")
    if str(wanted) == image:
        return None
    return Update(str(replace(wanted, digest="")), migrated(corefile, before, after))


def _version(image: Image) -> Version:
    parsed = parse(image.tag.replace("_", "+"))
    if not image.tag or parsed is None:
        raise ValueError(f"the version of CoreDNS cannot be told from its image {image}: it has no tag with a version")
    return parsed.major, parsed.minor, parsed.patch


def _changed(deployment: Untyped, image: str) -> dict[str, Any]:
    """The patch: the image, and the configuration that it reads."""
    spec: Mapping[str, Any] = deployment.at("spec", "template", "spec") or {}
    containers = [{**each, "image": image} if each.get("name") == NAME else each for each in spec.get("containers", ())]
    changed: dict[str, Any] = {"containers": containers}
    volumes = [_reading_corefile(each) for each in spec.get("volumes", ())]
    if volumes != [*spec.get("volumes", ())]:
        changed["volumes"] = volumes
    return {"spec": {"template": {"spec": changed}}}


def _reading_corefile(volume: dict[str, Any]) -> dict[str, Any]:
    source = volume.get("configMap") or {}
    if volume.get("name") != _VOLUME or source.get("name") != NAME or not source.get("items"):
        return volume
    items = [{**each, "key": COREFILE} if each.get("key") == BACKUP else each for each in source["items"]]
    return {**volume, "configMap": {**source, "items": items}}
