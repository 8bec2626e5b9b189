"""SimulatedMachineTemplate: what the SimulatedMachines of a group of machines are made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.definition import Column, Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc
from nagaya.api.simulated.group import GROUP, PROVIDER_LABELS, VERSION
from nagaya.api.simulated.simulated_machine import SimulatedMachineSpec


class SimulatedMachineTemplateResource(Model):
    """The SimulatedMachine to make."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations of the SimulatedMachines.")] = TemplateMetadata()
    spec: Annotated[SimulatedMachineSpec, doc("Content of the SimulatedMachines.")] = SimulatedMachineSpec()


class SimulatedMachineTemplateSpec(Model):
    """What is made from the template."""

    template: Annotated[SimulatedMachineTemplateResource, doc("The SimulatedMachine to make for each machine.")]


class TemplateNodeInfo(Model):
    """What the nodes run on."""

    architecture: Annotated[str, doc("The processor, as Nodes name it: amd64.")] = ""
    operating_system: Annotated[str, doc("The operating system, as Nodes name it: linux.")] = ""


class SimulatedMachineTemplateStatus(Model):
    """What machines from the template will be like: the cluster autoscaler reads it when there are none yet."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    capacity: Annotated[Mapping[str, str], doc("What each Node will offer to pods, as quantities by resource.")] = NONE
    node_info: Annotated[TemplateNodeInfo, doc("What each Node will run on.")] = TemplateNodeInfo()


class SimulatedMachineTemplate(Resource):
    """What the SimulatedMachines of a MachineSet, MachineDeployment or control plane are made from.

    To change the machines of a MachineDeployment, make another template and refer to it: that rolls them.
    """

    spec: Annotated[SimulatedMachineTemplateSpec, doc("What is made from the template.")]
    status: Annotated[SimulatedMachineTemplateStatus, doc("What machines from the template will be like.")] = (
        SimulatedMachineTemplateStatus()
    )


SIMULATED_MACHINE_TEMPLATES: Final = Kind(
    GROUP, VERSION, "SimulatedMachineTemplate", "simulatedmachinetemplates", SimulatedMachineTemplate
)
DEFINITION: Final = Definition(
    SIMULATED_MACHINE_TEMPLATES,
    columns=(
        Column("Simulated CPU", ".status.capacity.cpu", description="Processors that each Node pretends to have."),
        Column("Memory", ".status.capacity.memory", description="Memory that each Node pretends to have."),
        age("SimulatedMachineTemplate"),
    ),
    labels=PROVIDER_LABELS,
)
