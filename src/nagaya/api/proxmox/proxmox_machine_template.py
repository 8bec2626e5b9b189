"""ProxmoxMachineTemplate: what the ProxmoxMachines of a group of machines are made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.definition import Column, Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc
from nagaya.api.proxmox.group import GROUP, PROVIDER_LABELS, VERSION
from nagaya.api.proxmox.proxmox_machine_spec import ProxmoxMachineSpec


class ProxmoxMachineTemplateResource(Model):
    """The ProxmoxMachine to make."""

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations of the ProxmoxMachines.")] = TemplateMetadata()
    spec: Annotated[ProxmoxMachineSpec, doc("Content of the ProxmoxMachines.")]


class ProxmoxMachineTemplateSpec(Model):
    """What is made from the template."""

    template: Annotated[ProxmoxMachineTemplateResource, doc("The ProxmoxMachine to make for each machine.")]


class TemplateNodeInfo(Model):
    """What the nodes run on."""

    architecture: Annotated[str, doc("The processor, as Nodes name it: amd64 or arm64.", maxLength=32)] = ""
    operating_system: Annotated[str, doc("The operating system, as Nodes name it: linux.", maxLength=32)] = ""


class ProxmoxMachineTemplateStatus(Model):
    """What machines from the template will be like: the cluster autoscaler reads it when there are none yet."""

    capacity: Annotated[Mapping[str, str], doc("What each Node will have, as quantities by resource.")] = NONE
    node_info: Annotated[TemplateNodeInfo, doc("What each Node will run on.")] = TemplateNodeInfo()


class ProxmoxMachineTemplate(Resource):
    """What the ProxmoxMachines of a MachineSet, MachineDeployment or control plane are made from.

    To change the machines of a MachineDeployment, make another template and refer to it: that rolls them.
    """

    spec: Annotated[ProxmoxMachineTemplateSpec, doc("What is made from the template. It cannot change.")]
    status: Annotated[ProxmoxMachineTemplateStatus, doc("What machines from the template will be like.")] = (
        ProxmoxMachineTemplateStatus()
    )


PROXMOX_MACHINE_TEMPLATES: Final = Kind(
    GROUP, VERSION, "ProxmoxMachineTemplate", "proxmoxmachinetemplates", ProxmoxMachineTemplate
)
DEFINITION: Final = Definition(
    PROXMOX_MACHINE_TEMPLATES,
    short_names=("pmt",),
    columns=(
        Column("CPU", ".status.capacity.cpu", description="Processors that each Node will have."),
        Column("Memory", ".status.capacity.memory", description="Memory that each Node will have."),
        age("ProxmoxMachineTemplate"),
    ),
    labels=PROVIDER_LABELS,
)
