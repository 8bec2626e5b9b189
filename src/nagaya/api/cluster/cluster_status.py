"""What is known of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.status_version import StatusVersion
from nagaya.api.cluster.v1beta1 import DEPRECATED, DeprecatedFailureStatus
from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc


class ClusterInitialization(Model):
    """How far the cluster has come into being. What became true stays true, whatever happens later."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    infrastructure_provisioned: Annotated[
        bool | None, doc("Whether the infrastructure provider has provided what the cluster needs.")
    ] = None
    control_plane_initialized: Annotated[
        bool | None, doc("Whether the control plane has answered once: from then on workers can join.")
    ] = None


class UpgradeStep(Model):
    """A version on the way to the one that is wanted."""

    version: Annotated[str, doc("The Kubernetes version of the step.", minLength=1, maxLength=256)]


class MachineCounts(Model):
    """How many machines there are, and how they fare."""

    desired_replicas: Annotated[int | None, doc("How many machines there are to be.")] = None
    replicas: Annotated[int | None, doc("How many machines there are.")] = None
    up_to_date_replicas: Annotated[int | None, doc("How many machines are UpToDate.")] = None
    ready_replicas: Annotated[int | None, doc("How many machines are Ready.")] = None
    available_replicas: Annotated[int | None, doc("How many machines are Available.")] = None
    versions: Annotated[
        tuple[StatusVersion, ...],
        doc(
            "The Kubernetes versions that the machines run now. More than one during an upgrade.",
            minItems=1,
            maxItems=32,
            list_type="atomic",
        ),
    ] = ()
    upgrade_plan: Annotated[
        tuple[UpgradeStep, ...],
        doc(
            "The versions that are still to come in an upgrade that takes several steps, in their order.",
            minItems=1,
            maxItems=32,
            list_type="atomic",
        ),
    ] = ()


class FailureDomainStatus(Model):
    """A part of the infrastructure that fails as a whole: a host, a rack, a zone."""

    name: Annotated[str, doc("The name of the failure domain, as machines refer to it.", minLength=1, maxLength=256)]
    control_plane: Annotated[bool | None, doc("Whether control plane machines may be placed there.")] = None
    attributes: Annotated[Mapping[str, str], doc("What else the infrastructure provider knows of it.")] = NONE


class ClusterStatus(Model):
    """What is known of a cluster."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        doc(
            "What holds of the cluster: Available, InfrastructureReady, ControlPlaneInitialized, "
            "ControlPlaneAvailable, WorkersAvailable, ControlPlaneMachinesReady, WorkerMachinesReady, "
            "ControlPlaneMachinesUpToDate, WorkerMachinesUpToDate, RemoteConnectionProbe, RollingOut, ScalingUp, "
            "ScalingDown, Remediating, Deleting, Paused; with a topology also TopologyReconciled."
        ),
    ] = ()
    initialization: Annotated[
        ClusterInitialization, doc("How far the cluster has come into being. What became true stays true.")
    ] = ClusterInitialization()
    control_plane: Annotated[MachineCounts, doc("How many control plane machines there are, and how they fare.")] = (
        MachineCounts()
    )
    workers: Annotated[MachineCounts, doc("How many workers there are, and how they fare.")] = MachineCounts()
    failure_domains: Annotated[
        tuple[FailureDomainStatus, ...],
        doc(
            "The failure domains that the infrastructure provider offers.",
            minItems=1,
            maxItems=100,
            list_type="map",
            list_map_keys=["name"],
        ),
    ] = ()
    phase: Annotated[
        str,
        doc(
            "The state of the cluster in one word. Programs should read conditions instead.",
            enum=["Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown"],
        ),
    ] = ""
    observed_generation: ObservedGeneration = None
    deprecated: Annotated[DeprecatedFailureStatus, DEPRECATED] = DeprecatedFailureStatus()
