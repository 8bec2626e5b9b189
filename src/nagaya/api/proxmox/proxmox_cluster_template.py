"""ProxmoxClusterTemplate: what the ProxmoxClusters of a ClusterClass are made from."""

from __future__ import annotations

from typing import Annotated, Final

from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.definition import Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc
from nagaya.api.proxmox.group import GROUP, PROVIDER_LABELS, VERSION
from nagaya.api.proxmox.proxmox_cluster_spec import ProxmoxClusterSpec


class ProxmoxClusterTemplateResource(Model):
    """The ProxmoxCluster to make."""

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations of the ProxmoxClusters.")] = TemplateMetadata()
    spec: Annotated[ProxmoxClusterSpec, doc("Content of the ProxmoxClusters.")]


class ProxmoxClusterTemplateSpec(Model):
    """What is made from the template."""

    template: Annotated[ProxmoxClusterTemplateResource, doc("The ProxmoxCluster to make for each cluster.")]


class ProxmoxClusterTemplate(Resource):
    """What the ProxmoxClusters of a ClusterClass are made from."""

    spec: Annotated[ProxmoxClusterTemplateSpec, doc("What is made from the template. It cannot change.")]


PROXMOX_CLUSTER_TEMPLATES: Final = Kind(
    GROUP, VERSION, "ProxmoxClusterTemplate", "proxmoxclustertemplates", ProxmoxClusterTemplate
)
DEFINITION: Final = Definition(
    PROXMOX_CLUSTER_TEMPLATES,
    short_names=("pct",),
    columns=(age("ProxmoxClusterTemplate"),),
    status=False,
    labels=PROVIDER_LABELS,
)
