"""KubeadmControlPlaneTemplate: what the control planes of a ClusterClass are made from.

It lacks what the topology of a Cluster says itself: replicas, version, infrastructure and names of machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.api.cluster.taint import Taints
from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.controlplane.kubeadm_control_plane import PROVIDER_LABELS, MachineDeletion
from nagaya.api.controlplane.rollout import MachineNaming, Remediation, Rollout
from nagaya.api.definition import Column, Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc


class KubeadmControlPlaneTemplateMachineSpec(Model):
    """What the Machines look like, as far as the template says."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    deletion: Annotated[MachineDeletion, doc("How long steps of the deletion of a machine may take.")] = (
        MachineDeletion()
    )
    taints: Taints = ()


class KubeadmControlPlaneTemplateMachineTemplate(Model):
    """What the Machines are made from, as far as the template says."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations of the machines.")] = TemplateMetadata()
    spec: Annotated[KubeadmControlPlaneTemplateMachineSpec, doc("What the machines look like.")] = (
        KubeadmControlPlaneTemplateMachineSpec()
    )


class KubeadmControlPlaneTemplateResourceSpec(Model):
    """Content of the control plane to make."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    machine_template: Annotated[
        KubeadmControlPlaneTemplateMachineTemplate, doc("What the machines of the control plane are made from.")
    ] = KubeadmControlPlaneTemplateMachineTemplate()
    kubeadm_config_spec: Annotated[KubeadmConfigSpec, doc("How the machines become nodes.")] = KubeadmConfigSpec()
    rollout: Annotated[Rollout, doc("When and how machines are replaced that nothing is wrong with.")] = Rollout()
    remediation: Annotated[Remediation, doc("How unhealthy machines are replaced.")] = Remediation()
    machine_naming: Annotated[MachineNaming, doc("How machines are named.")] = MachineNaming()


class KubeadmControlPlaneTemplateResource(Model):
    """The KubeadmControlPlane to make."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations of the control plane.")] = TemplateMetadata()
    spec: Annotated[KubeadmControlPlaneTemplateResourceSpec, doc("Content of the control plane.")] = (
        KubeadmControlPlaneTemplateResourceSpec()
    )


class KubeadmControlPlaneTemplateSpec(Model):
    """What is made from the template."""

    template: Annotated[
        KubeadmControlPlaneTemplateResource, doc("The KubeadmControlPlane to make for each Cluster of the class.")
    ]


class KubeadmControlPlaneTemplate(Resource):
    """What the control planes of a ClusterClass are made from."""

    spec: Annotated[KubeadmControlPlaneTemplateSpec, doc("What is made from the template.")] = (
        KubeadmControlPlaneTemplateSpec(template=KubeadmControlPlaneTemplateResource())
    )


KUBEADM_CONTROL_PLANE_TEMPLATES: Final = Kind(
    "controlplane.cluster.x-k8s.io",
    "v1beta2",
    "KubeadmControlPlaneTemplate",
    "kubeadmcontrolplanetemplates",
    KubeadmControlPlaneTemplate,
)
DEFINITION: Final = Definition(
    KUBEADM_CONTROL_PLANE_TEMPLATES,
    columns=(
        Column(
            "ClusterClass",
            '.metadata.ownerReferences[?(@.kind=="ClusterClass")].name',
            description="The ClusterClass that owns the template.",
        ),
        age("KubeadmControlPlaneTemplate"),
    ),
    status=False,
    labels=PROVIDER_LABELS,
)
