"""HostedControlPlaneTemplate: what the control planes of a ClusterClass are made from.

It lacks what the topology of a Cluster says itself, version and replicas, and what no two clusters share: the endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.controlplane.hosted_control_plane import HostedSettings
from nagaya.api.controlplane.hosted_group import GROUP, PROVIDER_LABELS, VERSION
from nagaya.api.definition import Column, Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc


class HostedControlPlaneTemplateResource(Model):
    """The HostedControlPlane to make."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations of the control plane.")] = TemplateMetadata()
    spec: Annotated[HostedSettings, doc("Content of the control plane.")] = HostedSettings()


class HostedControlPlaneTemplateSpec(Model):
    """What is made from the template."""

    template: Annotated[
        HostedControlPlaneTemplateResource, doc("The HostedControlPlane to make for each Cluster of the class.")
    ]


class HostedControlPlaneTemplate(Resource):
    """What the hosted control planes of a ClusterClass are made from."""

    spec: Annotated[HostedControlPlaneTemplateSpec, doc("What is made from the template.")]


HOSTED_CONTROL_PLANE_TEMPLATES: Final = Kind(
    GROUP, VERSION, "HostedControlPlaneTemplate", "hostedcontrolplanetemplates", HostedControlPlaneTemplate
)
DEFINITION: Final = Definition(
    HOSTED_CONTROL_PLANE_TEMPLATES,
    columns=(
        Column(
            "ClusterClass",
            '.metadata.ownerReferences[?(@.kind=="ClusterClass")].name',
            description="The ClusterClass that owns the template.",
        ),
        age("HostedControlPlaneTemplate"),
    ),
    status=False,
    labels=PROVIDER_LABELS,
)
