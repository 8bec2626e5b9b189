"""KubeadmConfigTemplate: what the KubeadmConfigs of a group of machines are made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.bootstrap.kubeadm_config import PROVIDER_LABELS
from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.definition import Column, Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc


class KubeadmConfigTemplateResource(Model):
    """The KubeadmConfig to make."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations of the KubeadmConfigs.")] = TemplateMetadata()
    spec: Annotated[KubeadmConfigSpec, doc("Content of the KubeadmConfigs.")] = KubeadmConfigSpec()


class KubeadmConfigTemplateSpec(Model):
    """What is made from the template."""

    template: Annotated[KubeadmConfigTemplateResource, doc("The KubeadmConfig to make for each machine.")]


class KubeadmConfigTemplate(Resource):
    """What the KubeadmConfigs of a MachineSet, MachineDeployment or topology are made from.

    To change how machines of a MachineDeployment boot, make another template and refer to it: that rolls them.
    """

    spec: Annotated[KubeadmConfigTemplateSpec, doc("What is made from the template.")] = KubeadmConfigTemplateSpec(
        template=KubeadmConfigTemplateResource()
    )


KUBEADM_CONFIG_TEMPLATES: Final = Kind(
    "bootstrap.cluster.x-k8s.io",
    "v1beta2",
    "KubeadmConfigTemplate",
    "kubeadmconfigtemplates",
    KubeadmConfigTemplate,
)
DEFINITION: Final = Definition(
    KUBEADM_CONFIG_TEMPLATES,
    columns=(
        Column(
            "ClusterClass",
            '.metadata.ownerReferences[?(@.kind=="ClusterClass")].name',
            description="The ClusterClass that owns the template.",
        ),
        Column(
            "Cluster",
            '.metadata.ownerReferences[?(@.kind=="Cluster")].name',
            description="The Cluster that owns the template.",
        ),
        age("KubeadmConfigTemplate"),
    ),
    status=False,
    labels=PROVIDER_LABELS,
)
