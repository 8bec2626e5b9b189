"""MachinePools: machines that the infrastructure itself keeps in number, such as a scaling group of a cloud."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.cluster.machine_group import AvailableReplicas, ReadyReplicas, ReplicaCount, UpToDateReplicas
from nagaya.api.cluster.machine_spec import ClusterName, MachineTemplate
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.status_version import Versions
from nagaya.api.cluster.v1beta1 import (
    DEPRECATED,
    V1BETA1,
    FailureMessage,
    FailureReason,
    NodesAvailable,
    NodesReady,
    NodesUnavailable,
    V1Beta1Conditions,
)
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, Scale, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc

FINALIZER: Final = "machinepool.cluster.x-k8s.io"


class MachinePoolCondition(StrEnum):
    """The types of conditions of a MachinePool."""

    AVAILABLE = "Available"
    BOOTSTRAP_CONFIG_READY = "BootstrapConfigReady"
    INFRASTRUCTURE_READY = "InfrastructureReady"
    MACHINES_READY = "MachinesReady"
    MACHINES_UP_TO_DATE = "MachinesUpToDate"
    SCALING_UP = "ScalingUp"
    SCALING_DOWN = "ScalingDown"
    REMEDIATING = "Remediating"
    DELETING = "Deleting"
    PAUSED = "Paused"


class MachinePoolSpec(Model):
    """How many machines the infrastructure is to keep, and of what kind."""

    cluster_name: ClusterName
    replicas: Annotated[
        int | None,
        doc(
            "How many machines there are to be. If left out: 1, or, with the annotations of the cluster autoscaler, "
            "what keeps the number between its minimum and maximum."
        ),
    ] = None
    template: Annotated[
        MachineTemplate, doc("What the machines are. The references name objects for the whole pool, not templates.")
    ]
    provider_id_list: Annotated[
        tuple[Annotated[str, doc("The provider ID of a machine.", minLength=1, maxLength=512)], ...],
        doc(
            "The provider IDs of the machines. They are filled in from the infrastructure object.",
            maxItems=10000,
            list_type="atomic",
        ),
    ] = msgspec.field(default=(), name="providerIDList")
    failure_domains: Annotated[
        tuple[Annotated[str, doc("The name of a failure domain.", minLength=1, maxLength=256)], ...],
        doc("Failure domains that the machines are spread over.", maxItems=100, list_type="atomic"),
    ] = ()


class MachinePoolInitialization(Model):
    """How far the pool has come into being. What became true stays true, whatever happens later."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    infrastructure_provisioned: Annotated[
        bool | None, doc("Whether the infrastructure provider has provided the pool.")
    ] = None
    bootstrap_data_secret_created: Annotated[
        bool | None, doc("Whether the data that the machines boot with has been made.")
    ] = None


class ObjectReference(Model):
    """An object of any kind."""

    __schema__: ClassVar[Mapping[str, object]] = {"map_type": "atomic"}

    api_version: Annotated[str, doc("Its API group and version.")] = ""
    kind: Annotated[str, doc("Its kind.")] = ""
    namespace: Annotated[str, doc("Its namespace.")] = ""
    name: Annotated[str, doc("Its name.")] = ""
    uid: Annotated[str, doc("Its UID.")] = ""
    resource_version: Annotated[str, doc("The version of it that is meant, if that matters.")] = ""
    field_path: Annotated[str, doc("The part of it that is meant, if not the whole.")] = ""


class MachinePoolV1Beta1Status(Model):
    """The part of a MachinePool's status that v1beta1 had."""

    conditions: V1Beta1Conditions = ()
    failure_reason: FailureReason = ""
    failure_message: FailureMessage = ""
    ready_replicas: NodesReady = None
    available_replicas: NodesAvailable = None
    unavailable_replicas: NodesUnavailable = None


class MachinePoolDeprecatedStatus(Model):
    """What only clients of older versions of the API read."""

    v1beta1: Annotated[MachinePoolV1Beta1Status, V1BETA1] = MachinePoolV1Beta1Status()


class MachinePoolStatus(Model):
    """How many machines there are, and how they fare."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        doc(
            "What holds of the pool: Available, BootstrapConfigReady, InfrastructureReady, MachinesReady, "
            "MachinesUpToDate, ScalingUp, ScalingDown, Remediating, Deleting, Paused."
        ),
    ] = ()
    initialization: Annotated[
        MachinePoolInitialization, doc("How far the pool has come into being. What became true stays true.")
    ] = MachinePoolInitialization()
    node_refs: Annotated[
        tuple[ObjectReference, ...], doc("The Nodes of the machines.", maxItems=10000, list_type="atomic")
    ] = ()
    replicas: ReplicaCount = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    phase: Annotated[
        str,
        doc(
            "The state of the pool in one word. Programs should read conditions instead.",
            enum=[
                "Pending",
                "Provisioning",
                "Provisioned",
                "Running",
                "ScalingUp",
                "ScalingDown",
                "Scaling",
                "Deleting",
                "Failed",
                "Unknown",
            ],
        ),
    ] = ""
    versions: Versions = ()
    observed_generation: ObservedGeneration = None
    deprecated: Annotated[MachinePoolDeprecatedStatus, DEPRECATED] = MachinePoolDeprecatedStatus()


class MachinePool(Resource):
    """Machines that the infrastructure itself makes and keeps in number, such as a scaling group of a cloud."""

    spec: Annotated[MachinePoolSpec, doc("How many machines the infrastructure is to keep, and of what kind.")]
    status: Annotated[MachinePoolStatus, doc("How many machines there are, and how they fare.")] = MachinePoolStatus()


MACHINE_POOLS: Final = Kind("cluster.x-k8s.io", "v1beta2", "MachinePool", "machinepools", MachinePool)

DEFINITION: Final = Definition(
    MACHINE_POOLS,
    short_names=("mp",),
    scale=Scale(selector=""),
    columns=(
        Column("Cluster", ".spec.clusterName", description="The Cluster that the machines belong to."),
        Column("Desired", ".spec.replicas", "integer", description="How many machines there are to be."),
        Column("Current", ".status.replicas", "integer", description="How many machines there are."),
        Column("Ready", ".status.readyReplicas", "integer", description="How many are Ready."),
        Column("Available", ".status.availableReplicas", "integer", description="How many are Available."),
        Column("Up-to-date", ".status.upToDateReplicas", "integer", description="How many are UpToDate."),
        PAUSED_COLUMN,
        Column("Phase", ".status.phase", description="The state of the pool in one word."),
        age("pool"),
        Column("Version", ".spec.template.spec.version", description="The Kubernetes version of the machines."),
    ),
)
