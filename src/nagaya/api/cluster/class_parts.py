"""The parts of a ClusterClass: control plane, infrastructure and kinds of workers, each with its templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from nagaya.api.cluster.gate import ReadinessGates
from nagaya.api.cluster.health import CHECKS, REMEDIATION, HealthChecks, Remediation, WorkerRemediation
from nagaya.api.cluster.machine_deletion import MachineDeletion
from nagaya.api.cluster.machine_spec import FailureDomain, MinReadySeconds
from nagaya.api.cluster.reference import TemplateReference
from nagaya.api.cluster.rollout import STRATEGY, RolloutStrategy
from nagaya.api.cluster.taint import Taints
from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.cluster.topology import WorkerDeletion
from nagaya.api.model import Model, doc

_DELETION = doc("How long the steps of a machine's deletion may take. A topology can say otherwise.")


class ClassTemplate(Model):
    """A template that objects are made from."""

    template_ref: Annotated[TemplateReference, doc("The template.")]


class ObjectNaming(Model):
    """How the object of a cluster is named."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    template: Annotated[
        str,
        doc(
            "A Go template for the name. It may use .cluster.name and .random, which are five letters or digits. Names "
            "over 63 characters are cut short. If left out: {{ .cluster.name }}-{{ .random }}.",
            minLength=1,
            maxLength=1024,
        ),
    ] = ""


class MachineDeploymentNaming(Model):
    """How MachineDeployments are named."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    template: Annotated[
        str,
        doc(
            "A Go template for the name. It may use .cluster.name, .machineDeployment.topologyName and .random. Names "
            "over 63 characters are cut short. If left out: "
            "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}-{{ .random }}.",
            minLength=1,
            maxLength=1024,
        ),
    ] = ""


class MachinePoolNaming(Model):
    """How MachinePools are named."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    template: Annotated[
        str,
        doc(
            "A Go template for the name. It may use .cluster.name, .machinePool.topologyName and .random. Names over "
            "63 characters are cut short. If left out: {{ .cluster.name }}-{{ .machinePool.topologyName }}-{{ .random "
            "}}.",
            minLength=1,
            maxLength=1024,
        ),
    ] = ""


class ClassHealthCheck(Model):
    """The health check of control plane machines."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    checks: Annotated[HealthChecks, CHECKS] = HealthChecks()
    remediation: Annotated[Remediation, REMEDIATION] = Remediation()


class WorkerClassHealthCheck(Model):
    """The health check of workers."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    checks: Annotated[HealthChecks, CHECKS] = HealthChecks()
    remediation: Annotated[WorkerRemediation, REMEDIATION] = WorkerRemediation()


class InfrastructureClass(Model):
    """The infrastructure of clusters of the class."""

    template_ref: Annotated[
        TemplateReference, doc("The template of the infrastructure cluster, for example a ProxmoxClusterTemplate.")
    ]
    naming: Annotated[ObjectNaming, doc("How the infrastructure cluster is named.")] = ObjectNaming()


class ControlPlaneClass(Model):
    """The control plane of clusters of the class."""

    metadata: Annotated[
        TemplateMetadata,
        doc("Labels and annotations for the control plane object and its machines. A topology can add to them."),
    ] = TemplateMetadata()
    template_ref: Annotated[
        TemplateReference, doc("The template of the control plane, for example a KubeadmControlPlaneTemplate.")
    ]
    machine_infrastructure: Annotated[
        ClassTemplate | None,
        doc(
            "The template of the machines' infrastructure, for control planes that run on machines. Such a control "
            "plane needs it, others must not have it."
        ),
    ] = None
    health_check: Annotated[
        ClassHealthCheck, doc("The health check of the machines. None if left out, unless a topology has one.")
    ] = ClassHealthCheck()
    naming: Annotated[ObjectNaming, doc("How the control plane object is named.")] = ObjectNaming()
    deletion: Annotated[MachineDeletion, _DELETION] = MachineDeletion()
    taints: Taints = ()
    readiness_gates: ReadinessGates = ()


class ClassRollout(Model):
    """How machines are replaced."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    strategy: Annotated[RolloutStrategy | None, STRATEGY] = None


_CLASS = doc(
    "How the class is called within the ClusterClass. Topologies refer to it.",
    minLength=1,
    maxLength=256,
)
_BOOTSTRAP = doc("The template of what the machines boot with.")
_INFRASTRUCTURE = doc("The template of the machines' infrastructure.")


class MachineDeploymentClass(Model):
    """A kind of workers, as MachineDeployments."""

    metadata: Annotated[
        TemplateMetadata,
        doc("Labels and annotations for the MachineDeployments and their machines. A topology can add to them."),
    ] = TemplateMetadata()
    class_: Annotated[str, _CLASS] = msgspec.field(name="class")
    bootstrap: Annotated[ClassTemplate, _BOOTSTRAP]
    infrastructure: Annotated[ClassTemplate, _INFRASTRUCTURE]
    health_check: Annotated[
        WorkerClassHealthCheck, doc("The health check of the machines. None if left out, unless a topology has one.")
    ] = WorkerClassHealthCheck()
    failure_domain: FailureDomain = ""
    naming: Annotated[MachineDeploymentNaming, doc("How MachineDeployments are named.")] = MachineDeploymentNaming()
    deletion: Annotated[WorkerDeletion, doc("How machines are deleted. A topology can say otherwise.")] = (
        WorkerDeletion()
    )
    taints: Taints = ()
    min_ready_seconds: MinReadySeconds = None
    readiness_gates: ReadinessGates = ()
    rollout: Annotated[ClassRollout, doc("How machines are replaced. A topology can say otherwise.")] = ClassRollout()


class MachinePoolClass(Model):
    """A kind of workers, as MachinePools."""

    metadata: Annotated[
        TemplateMetadata,
        doc("Labels and annotations for the MachinePools and their machines. A topology can add to them."),
    ] = TemplateMetadata()
    class_: Annotated[str, _CLASS] = msgspec.field(name="class")
    bootstrap: Annotated[ClassTemplate, _BOOTSTRAP]
    infrastructure: Annotated[ClassTemplate, _INFRASTRUCTURE]
    failure_domains: Annotated[
        tuple[Annotated[str, doc("The name of a failure domain.", minLength=1, maxLength=256)], ...],
        doc(
            "Failure domains that the machines are spread over. A topology can say otherwise.",
            maxItems=100,
            list_type="atomic",
        ),
    ] = ()
    naming: Annotated[MachinePoolNaming, doc("How MachinePools are named.")] = MachinePoolNaming()
    deletion: Annotated[MachineDeletion, _DELETION] = MachineDeletion()
    taints: Taints = ()
    min_ready_seconds: MinReadySeconds = None


class WorkersClass(Model):
    """The kinds of workers that topologies can have."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    machine_deployments: Annotated[
        tuple[MachineDeploymentClass, ...],
        doc("Kinds of MachineDeployments.", minItems=1, maxItems=100, list_type="map", list_map_keys=["class"]),
    ] = ()
    machine_pools: Annotated[
        tuple[MachinePoolClass, ...],
        doc("Kinds of MachinePools.", minItems=1, maxItems=100, list_type="map", list_map_keys=["class"]),
    ] = ()
