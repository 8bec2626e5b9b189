"""MachineHealthChecks: replace machines that do not work."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.health import REMEDIATION, HealthChecks, Remediation
from nagaya.api.cluster.machine_spec import ClusterName
from nagaya.api.cluster.selector import LabelSelector
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.v1beta1 import DEPRECATED, DeprecatedStatus
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc


class MachineHealthCheckCondition(StrEnum):
    """The types of conditions of a MachineHealthCheck."""

    REMEDIATION_ALLOWED = "RemediationAllowed"
    PAUSED = "Paused"


class MachineHealthCheckReason(StrEnum):
    """The reasons of conditions of a MachineHealthCheck."""

    REMEDIATION_ALLOWED = "RemediationAllowed"
    TOO_MANY_UNHEALTHY = "TooManyUnhealthy"  # remediation.triggerIf does not allow it
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"


class MachineHealthCheckSpec(Model):
    """Which machines are checked, for what, and what is done about them."""

    cluster_name: ClusterName
    selector: Annotated[LabelSelector, doc("Which machines of the cluster are checked. It must not be empty.")]
    checks: Annotated[
        HealthChecks, doc("When a machine counts as unhealthy. If left out: when its Node is not there after 600 s.")
    ] = HealthChecks()
    remediation: Annotated[Remediation, REMEDIATION] = Remediation()


class MachineHealthCheckStatus(Model):
    """How many machines are checked, and how many are well."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[Conditions, doc("What holds of the check: RemediationAllowed, Paused.")] = ()
    expected_machines: Annotated[int | None, doc("How many machines are checked.", minimum=0)] = None
    current_healthy: Annotated[int | None, doc("How many of them are healthy.", minimum=0)] = None
    remediations_allowed: Annotated[
        int | None,
        doc("How many more machines may turn unhealthy before remediation.triggerIf stops remediation.", minimum=0),
    ] = None
    observed_generation: ObservedGeneration = None
    targets: Annotated[
        tuple[Annotated[str, doc("The name of a Machine.", minLength=1, maxLength=253)], ...],
        doc("The machines that are checked, by name.", maxItems=10000, list_type="atomic"),
    ] = ()
    deprecated: Annotated[DeprecatedStatus, DEPRECATED] = DeprecatedStatus()


class MachineHealthCheck(Resource):
    """Finds machines that do not work and has them replaced."""

    spec: Annotated[
        MachineHealthCheckSpec, doc("Which machines are checked, for what, and what is done about unhealthy ones.")
    ]
    status: Annotated[MachineHealthCheckStatus, doc("How many machines are checked, and how many are well.")] = (
        MachineHealthCheckStatus()
    )


MACHINE_HEALTH_CHECKS: Final = Kind(
    "cluster.x-k8s.io", "v1beta2", "MachineHealthCheck", "machinehealthchecks", MachineHealthCheck
)

DEFINITION: Final = Definition(
    MACHINE_HEALTH_CHECKS,
    short_names=("mhc", "mhcs"),
    columns=(
        Column("Cluster", ".spec.clusterName", description="The Cluster that the machines belong to."),
        Column("Replicas", ".status.expectedMachines", "integer", description="How many machines are checked."),
        Column("Healthy", ".status.currentHealthy", "integer", description="How many of them are healthy."),
        PAUSED_COLUMN,
        age("check"),
    ),
)
