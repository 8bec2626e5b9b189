"""SimulatedClusterTemplate: what the SimulatedClusters of a ClusterClass are made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.definition import Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc
from nagaya.api.simulated.group import GROUP, PROVIDER_LABELS, VERSION
from nagaya.api.simulated.simulated_cluster import SimulatedClusterSpec


class SimulatedClusterTemplateResource(Model):
    """The SimulatedCluster to make."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations of the SimulatedClusters.")] = TemplateMetadata()
    spec: Annotated[SimulatedClusterSpec, doc("Content of the SimulatedClusters.")] = SimulatedClusterSpec()


class SimulatedClusterTemplateSpec(Model):
    """What is made from the template."""

    template: Annotated[SimulatedClusterTemplateResource, doc("The SimulatedCluster to make for each cluster.")]


class SimulatedClusterTemplate(Resource):
    """What the SimulatedClusters of a ClusterClass are made from."""

    spec: Annotated[SimulatedClusterTemplateSpec, doc("What is made from the template.")]


SIMULATED_CLUSTER_TEMPLATES: Final = Kind(
    GROUP, VERSION, "SimulatedClusterTemplate", "simulatedclustertemplates", SimulatedClusterTemplate
)
DEFINITION: Final = Definition(
    SIMULATED_CLUSTER_TEMPLATES,
    columns=(age("SimulatedClusterTemplate"),),
    status=False,
    labels=PROVIDER_LABELS,
)
