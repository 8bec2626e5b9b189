"""The topology of a Cluster: which class it is made from, and in which sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from nagaya.api.cluster.deletion_order import DeletionOrder
from nagaya.api.cluster.formats import DNS_LABEL, DNS_SUBDOMAIN
from nagaya.api.cluster.gate import ReadinessGates
from nagaya.api.cluster.health import CHECKS, REMEDIATION, HealthChecks, Remediation, WorkerRemediation
from nagaya.api.cluster.machine_deletion import MachineDeletion
from nagaya.api.cluster.machine_spec import FailureDomain, MinReadySeconds
from nagaya.api.cluster.rollout import Rollout, RolloutAfter
from nagaya.api.cluster.taint import Taints
from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.model import Model, doc

_DELETION = doc("How long the steps of a machine's deletion may take. As in the class if left out.")


class ClusterClassReference(Model):
    """A ClusterClass."""

    name: Annotated[str, doc("The name of the ClusterClass.", minLength=1, maxLength=253, pattern=DNS_SUBDOMAIN)]
    namespace: Annotated[
        str,
        doc(
            "The namespace of the ClusterClass. That of the Cluster if left out.",
            minLength=1,
            maxLength=63,
            pattern=DNS_LABEL,
        ),
    ] = ""


class ClusterVariable(Model):
    """A value for a variable that the class defines."""

    name: Annotated[str, doc("The name of the variable.", minLength=1, maxLength=256)]
    value: Annotated[Any, doc("The value: any JSON that the schema of the variable allows.")]


class VariableOverrides(Model):
    """Values for this part of the cluster only."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    overrides: Annotated[
        tuple[ClusterVariable, ...],
        doc(
            "Variables that have another value here than in the rest of the cluster.",
            minItems=1,
            maxItems=1000,
            list_type="map",
            list_map_keys=["name"],
        ),
    ] = ()


_VARIABLES = doc("Variables that have another value here than in the rest of the cluster.")


class ControlPlaneRollout(Model):
    """When control plane machines are replaced."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    after: RolloutAfter = None


_ENABLED = doc(
    "Whether there is a MachineHealthCheck. If left out: if one is defined, here or in the class. True is an error "
    "if none is."
)


class ControlPlaneHealthCheck(Model):
    """The health check of control plane machines."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    enabled: Annotated[bool | None, _ENABLED] = None
    checks: Annotated[HealthChecks, CHECKS] = HealthChecks()
    remediation: Annotated[Remediation, REMEDIATION] = Remediation()


class WorkerHealthCheck(Model):
    """The health check of the machines of a MachineDeployment."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    enabled: Annotated[bool | None, _ENABLED] = None
    checks: Annotated[HealthChecks, CHECKS] = HealthChecks()
    remediation: Annotated[WorkerRemediation, REMEDIATION] = WorkerRemediation()


class ControlPlaneTopology(Model):
    """The control plane of the cluster."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    metadata: Annotated[
        TemplateMetadata, doc("Labels and annotations for the control plane object and its machines.")
    ] = TemplateMetadata()
    replicas: Annotated[
        int | None,
        doc("How many control plane machines there are to be. Left to the control plane provider if left out."),
    ] = None
    rollout: Annotated[ControlPlaneRollout, doc("When the machines are replaced.")] = ControlPlaneRollout()
    health_check: Annotated[
        ControlPlaneHealthCheck, doc("The health check of the machines. It replaces the one of the class as a whole.")
    ] = ControlPlaneHealthCheck()
    deletion: Annotated[MachineDeletion, _DELETION] = MachineDeletion()
    taints: Taints = ()
    readiness_gates: ReadinessGates = ()
    variables: Annotated[VariableOverrides, _VARIABLES] = VariableOverrides()


class WorkerDeletion(MachineDeletion):
    """How machines of a MachineDeployment are deleted."""

    order: DeletionOrder = ""


class MachineDeploymentTopology(Model):
    """A MachineDeployment of the cluster."""

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations for the MachineDeployment and its machines.")] = (
        TemplateMetadata()
    )
    class_: Annotated[
        str,
        doc("Which of the classes of MachineDeployments in the ClusterClass it is.", minLength=1, maxLength=256),
    ] = msgspec.field(name="class")
    name: Annotated[
        str,
        doc(
            "How it is called within the topology. The names of objects are made from it.",
            minLength=1,
            maxLength=63,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    failure_domain: FailureDomain = ""
    replicas: Annotated[
        int | None,
        doc("How many machines there are to be. If left out, the number is not managed: leave it to an autoscaler."),
    ] = None
    health_check: Annotated[
        WorkerHealthCheck, doc("The health check of the machines. It replaces the one of the class as a whole.")
    ] = WorkerHealthCheck()
    deletion: Annotated[WorkerDeletion, doc("How machines are deleted. As in the class if left out.")] = (
        WorkerDeletion()
    )
    taints: Taints = ()
    min_ready_seconds: MinReadySeconds = None
    readiness_gates: ReadinessGates = ()
    rollout: Annotated[Rollout, doc("When and how machines are replaced. As in the class if left out.")] = Rollout()
    variables: Annotated[VariableOverrides, _VARIABLES] = VariableOverrides()


class MachinePoolTopology(Model):
    """A MachinePool of the cluster."""

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations for the MachinePool and its machines.")] = (
        TemplateMetadata()
    )
    class_: Annotated[
        str, doc("Which of the classes of MachinePools in the ClusterClass it is.", minLength=1, maxLength=256)
    ] = msgspec.field(name="class")
    name: Annotated[
        str,
        doc(
            "How it is called within the topology. The names of objects are made from it.",
            minLength=1,
            maxLength=63,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    failure_domains: Annotated[
        tuple[Annotated[str, doc("The name of a failure domain.", minLength=1, maxLength=256)], ...],
        doc(
            "Failure domains that the machines are spread over. As in the class if left out.",
            minItems=1,
            maxItems=100,
            list_type="atomic",
        ),
    ] = ()
    deletion: Annotated[MachineDeletion, _DELETION] = MachineDeletion()
    taints: Taints = ()
    min_ready_seconds: MinReadySeconds = None
    replicas: Annotated[
        int | None,
        doc("How many machines there are to be. If left out, the number is not managed: leave it to an autoscaler."),
    ] = None
    variables: Annotated[VariableOverrides, _VARIABLES] = VariableOverrides()


class WorkersTopology(Model):
    """The workers of the cluster."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    machine_deployments: Annotated[
        tuple[MachineDeploymentTopology, ...],
        doc(
            "The MachineDeployments of the cluster.",
            minItems=1,
            maxItems=2000,
            list_type="map",
            list_map_keys=["name"],
        ),
    ] = ()
    machine_pools: Annotated[
        tuple[MachinePoolTopology, ...],
        doc("The MachinePools of the cluster.", minItems=1, maxItems=2000, list_type="map", list_map_keys=["name"]),
    ] = ()


class Topology(Model):
    """Which class the cluster is made from, and in which sizes."""

    class_ref: Annotated[ClusterClassReference, doc("The ClusterClass that the cluster is made from.")]
    version: Annotated[
        str,
        doc(
            "The Kubernetes version of the whole cluster, for example v1.36.3. A change upgrades the control plane "
            "first and then the workers. A missing v in front is added.",
            minLength=1,
            maxLength=256,
        ),
    ]
    control_plane: Annotated[ControlPlaneTopology, doc("The control plane of the cluster.")] = ControlPlaneTopology()
    workers: Annotated[WorkersTopology, doc("The workers of the cluster. None if left out.")] = WorkersTopology()
    variables: Annotated[
        tuple[ClusterVariable, ...],
        doc(
            "Values for the variables that the class defines. Those with a default may be left out.",
            minItems=1,
            maxItems=1000,
            list_type="map",
            list_map_keys=["name"],
        ),
    ] = ()
