"""MachineSets: a number of equal machines. MachineDeployments make them; few people write them."""

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
from nagaya.api.cluster.selector import LabelSelector
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.status_version import Versions
from nagaya.api.cluster.v1beta1 import (
    DEPRECATED,
    V1BETA1,
    FailureMessage,
    FailureReason,
    NodesAvailable,
    NodesReady,
    V1Beta1Conditions,
)
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, Scale, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc

FINALIZER: Final = "cluster.x-k8s.io/machineset"
TOPOLOGY_FINALIZER: Final = "machineset.topology.cluster.x-k8s.io"

PREFLIGHT_CHECKS: Final = (
    "All",
    "ControlPlaneIsStable",
    "ControlPlaneVersionSkew",
    "KubeadmVersionSkew",
    "KubernetesVersionSkew",
)
"""What the annotation that skips preflight checks may name."""


class MachineSetSpec(Model):
    """How many machines there are to be, and of what kind."""

    cluster_name: ClusterName
    replicas: Annotated[
        int | None,
        doc(
            "How many machines there are to be. If left out: 1, or, with the annotations of the cluster autoscaler, "
            "what keeps the number between its minimum and maximum."
        ),
    ] = None
    selector: Annotated[
        LabelSelector,
        doc(
            "Which machines belong to the set: those that it selects and that nobody else controls. The labels of the "
            "template must match it. It cannot be changed."
        ),
    ]
    template: Annotated[
        MachineTemplate, doc("What new machines are made from. Machines that exist are not changed with it.")
    ]
    machine_naming: Annotated[MachineNaming, doc("How machines are named.")] = MachineNaming()
    deletion: Annotated[GroupDeletion, doc("Which machines go first when there are too many.")] = GroupDeletion()


class MachineSetV1Beta1Status(Model):
    """The part of a MachineSet's status that v1beta1 had."""

    conditions: V1Beta1Conditions = ()
    failure_reason: FailureReason = ""
    failure_message: FailureMessage = ""
    fully_labeled_replicas: Annotated[int | None, doc("How many machines have all labels of the template.")] = None
    ready_replicas: NodesReady = None
    available_replicas: NodesAvailable = None


class MachineSetDeprecatedStatus(Model):
    """What only clients of older versions of the API read."""

    v1beta1: Annotated[MachineSetV1Beta1Status, V1BETA1] = MachineSetV1Beta1Status()


class MachineSetStatus(Model):
    """How many machines there are, and how they fare."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        doc(
            "What holds of the set: MachinesReady, MachinesUpToDate, ScalingUp, ScalingDown, Remediating, Deleting, "
            "Paused."
        ),
    ] = ()
    selector: SelectorText = ""
    replicas: ReplicaCount = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    versions: Versions = ()
    observed_generation: ObservedGeneration = None
    deprecated: Annotated[MachineSetDeprecatedStatus, DEPRECATED] = MachineSetDeprecatedStatus()


class MachineSet(Resource):
    """A number of machines made from one template. A MachineDeployment makes a new one when its template changes."""

    spec: Annotated[MachineSetSpec, doc("How many machines there are to be, and of what kind.")]
    status: Annotated[MachineSetStatus, doc("How many machines there are, and how they fare.")] = MachineSetStatus()


MACHINE_SETS: Final = Kind("cluster.x-k8s.io", "v1beta2", "MachineSet", "machinesets", MachineSet)

DEFINITION: Final = Definition(
    MACHINE_SETS,
    short_names=("ms",),
    scale=Scale(),
    columns=(
        Column("Cluster", ".spec.clusterName", description="The Cluster that the machines belong to."),
        Column("Desired", ".spec.replicas", "integer", description="How many machines there are to be."),
        Column("Current", ".status.replicas", "integer", description="How many machines there are."),
        Column("Ready", ".status.readyReplicas", "integer", description="How many are Ready."),
        Column("Available", ".status.availableReplicas", "integer", description="How many are Available."),
        Column("Up-to-date", ".status.upToDateReplicas", "integer", description="How many are UpToDate."),
        PAUSED_COLUMN,
        age("set"),
        Column("Version", ".spec.template.spec.version", description="The Kubernetes version of new machines."),
    ),
)
