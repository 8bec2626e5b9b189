"""MachineDeployments: a number of equal machines, replaced bit by bit when their template changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.machine_group import (
    AvailableReplicas,
    GroupDeletion,
    MachineNaming,
    ReadyReplicas,
    ReplicaCount,
    SelectorText,
    UpToDateReplicas,
)
from nagaya.api.cluster.machine_spec import ClusterName, MachineTemplate
from nagaya.api.cluster.rollout import Rollout
from nagaya.api.cluster.selector import LabelSelector
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.status_version import Versions
from nagaya.api.cluster.v1beta1 import (
    DEPRECATED,
    V1BETA1,
    NodesAvailable,
    NodesReady,
    NodesUnavailable,
    V1Beta1Conditions,
)
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, Scale, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc

FINALIZER: Final = "cluster.x-k8s.io/machinedeployment"
TOPOLOGY_FINALIZER: Final = "machinedeployment.topology.cluster.x-k8s.io"


class DeploymentRemediation(Model):
    """How unhealthy machines are replaced."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    max_in_flight: Annotated[
        int | str | None,
        doc(
            "How many unhealthy machines may be replaced at the same time: a number, or a share such as 20%, rounded "
            "up. Those over it wait. No limit if left out."
        ),
    ] = None


class MachineDeploymentSpec(Model):
    """How many machines there are to be, of what kind, and how they are replaced."""

    cluster_name: ClusterName
    replicas: Annotated[
        int | None,
        doc(
            "How many machines there are to be. If left out: 1, or, with the annotations of the cluster autoscaler, "
            "what keeps the number between its minimum and maximum."
        ),
    ] = None
    rollout: Annotated[Rollout, doc("When and how machines are replaced.")] = Rollout()
    selector: Annotated[
        LabelSelector,
        doc(
            "Which machines belong to the deployment. The labels of the template must match it. If it is empty, labels "
            "of its own are made up for both. It cannot be changed."
        ),
    ]
    template: Annotated[
        MachineTemplate,
        doc(
            "What machines are made from. A change of what cannot be changed in place replaces the machines, as "
            "rollout.strategy says."
        ),
    ]
    machine_naming: Annotated[MachineNaming, doc("How machines are named.")] = MachineNaming()
    remediation: Annotated[DeploymentRemediation, doc("How unhealthy machines are replaced.")] = DeploymentRemediation()
    deletion: Annotated[GroupDeletion, doc("Which machines go first when there are too many.")] = GroupDeletion()
    paused: Annotated[
        bool | None, doc("Whether rollouts wait. Scaling goes on, and so does everything for machines that exist.")
    ] = None


class MachineDeploymentV1Beta1Status(Model):
    """The part of a MachineDeployment's status that v1beta1 had."""

    conditions: V1Beta1Conditions = ()
    updated_replicas: Annotated[int | None, doc("How many machines the newest MachineSet has.")] = None
    ready_replicas: NodesReady = None
    available_replicas: NodesAvailable = None
    unavailable_replicas: NodesUnavailable = None


class MachineDeploymentDeprecatedStatus(Model):
    """What only clients of older versions of the API read."""

    v1beta1: Annotated[MachineDeploymentV1Beta1Status, V1BETA1] = MachineDeploymentV1Beta1Status()


class MachineDeploymentStatus(Model):
    """How many machines there are, and how they fare."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        doc(
            "What holds of the deployment: Available, MachinesReady, MachinesUpToDate, RollingOut, ScalingUp, "
            "ScalingDown, Remediating, Deleting, Paused."
        ),
    ] = ()
    observed_generation: ObservedGeneration = None
    selector: SelectorText = ""
    replicas: ReplicaCount = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    phase: Annotated[
        str,
        doc(
            "The state of the deployment in one word. Programs should read conditions instead.",
            enum=["ScalingUp", "ScalingDown", "Running", "Failed", "Unknown"],
        ),
    ] = ""
    versions: Versions = ()
    deprecated: Annotated[MachineDeploymentDeprecatedStatus, DEPRECATED] = MachineDeploymentDeprecatedStatus()


class MachineDeployment(Resource):
    """A number of equal machines. When the template changes, new ones come and old ones go, bit by bit."""

    spec: Annotated[
        MachineDeploymentSpec, doc("How many machines there are to be, of what kind, and how they are replaced.")
    ]
    status: Annotated[MachineDeploymentStatus, doc("How many machines there are, and how they fare.")] = (
        MachineDeploymentStatus()
    )


MACHINE_DEPLOYMENTS: Final = Kind(
    "cluster.x-k8s.io", "v1beta2", "MachineDeployment", "machinedeployments", MachineDeployment
)

DEFINITION: Final = Definition(
    MACHINE_DEPLOYMENTS,
    short_names=("md",),
    scale=Scale(),
    columns=(
        Column("Cluster", ".spec.clusterName", description="The Cluster that the machines belong to."),
        condition("Available", description="Whether enough machines are available."),
        Column("Desired", ".spec.replicas", "integer", description="How many machines there are to be."),
        Column("Current", ".status.replicas", "integer", description="How many machines there are."),
        Column("Ready", ".status.readyReplicas", "integer", description="How many are Ready."),
        Column("Available", ".status.availableReplicas", "integer", description="How many are Available."),
        Column("Up-to-date", ".status.upToDateReplicas", "integer", description="How many are UpToDate."),
        PAUSED_COLUMN,
        Column("Phase", ".status.phase", description="The state of the deployment in one word."),
        age("deployment"),
        Column("Version", ".spec.template.spec.version", description="The Kubernetes version of new machines."),
    ),
)
