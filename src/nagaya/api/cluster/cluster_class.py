"""ClusterClasses: what clusters of one sort have in common, and what may differ."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.class_parts import ControlPlaneClass, InfrastructureClass, WorkersClass
from nagaya.api.cluster.class_patch import ClassPatch
from nagaya.api.cluster.gate import AvailabilityGates
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.v1beta1 import DEPRECATED, DeprecatedStatus
from nagaya.api.cluster.variable_schema import ClassVariable, StatusVariable
from nagaya.api.definition import PAUSED_COLUMN, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc

VARIABLE_DEFINED_INLINE: Final = "inline"
"""Where variables come from that the class itself defines."""


class ClusterClassCondition(StrEnum):
    """The types of conditions of a ClusterClass."""

    VARIABLES_READY = "VariablesReady"
    REF_VERSIONS_UP_TO_DATE = "RefVersionsUpToDate"
    PAUSED = "Paused"


class ClusterClassReason(StrEnum):
    """The reasons of conditions of a ClusterClass."""

    VARIABLES_READY = "VariablesReady"
    VARIABLE_DISCOVERY_FAILED = "VariableDiscoveryFailed"  # an extension did not say which variables it needs
    REF_VERSIONS_UP_TO_DATE = "RefVersionsUpToDate"
    REF_VERSIONS_NOT_UP_TO_DATE = "RefVersionsNotUpToDate"  # templates are referred to by an old version
    INTERNAL_ERROR = "InternalError"
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"


class ExternalUpgrade(Model):
    """Extensions that plan upgrades."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    generate_upgrade_plan_extension: Annotated[
        str,
        doc(
            "The extension that says which versions an upgrade goes through: HANDLER.EXTENSIONCONFIG.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""


class ClassUpgrade(Model):
    """How clusters of the class are upgraded."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    external: Annotated[ExternalUpgrade, doc("Extensions that plan upgrades.")] = ExternalUpgrade()


class ClusterClassSpec(Model):
    """What clusters of the class are made from."""

    availability_gates: Annotated[
        AvailabilityGates,
        doc("Further conditions that must be good before a Cluster of the class counts as Available."),
    ] = ()
    infrastructure: Annotated[InfrastructureClass, doc("The infrastructure of clusters of the class.")]
    control_plane: Annotated[ControlPlaneClass, doc("The control plane of clusters of the class.")]
    workers: Annotated[WorkersClass, doc("The kinds of workers that topologies can have.")] = WorkersClass()
    variables: Annotated[
        tuple[ClassVariable, ...],
        doc("What a Cluster can set, for patches to use.", minItems=1, maxItems=1000, list_type="atomic"),
    ] = ()
    patches: Annotated[
        tuple[ClassPatch, ...],
        doc(
            "How variables change the templates, in their order.",
            minItems=1,
            maxItems=1000,
            list_type="atomic",
        ),
    ] = ()
    upgrade: Annotated[ClassUpgrade, doc("How clusters of the class are upgraded.")] = ClassUpgrade()
    kubernetes_versions: Annotated[
        tuple[Annotated[str, doc("A Kubernetes version, for example v1.36.3.", minLength=1, maxLength=256)], ...],
        doc(
            "The versions that clusters of the class may have, the oldest first, with at least one of every minor "
            "version in between. Upgrades then go through all of them on the way. Any version if left out.",
            minItems=1,
            maxItems=100,
            list_type="atomic",
        ),
    ] = ()


class ClusterClassStatus(Model):
    """What is known of a class."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[Conditions, doc("What holds of the class: VariablesReady, RefVersionsUpToDate, Paused.")] = ()
    variables: Annotated[
        tuple[StatusVariable, ...],
        doc("All variables that Clusters can set, those of extensions included.", maxItems=1000, list_type="atomic"),
    ] = ()
    observed_generation: ObservedGeneration = None
    deprecated: Annotated[DeprecatedStatus, DEPRECATED] = DeprecatedStatus()


class ClusterClass(Resource):
    """What clusters of one sort are made from. A Cluster names its class, sizes and variables in spec.topology."""

    spec: Annotated[ClusterClassSpec, doc("What clusters of the class are made from.")]
    status: Annotated[ClusterClassStatus, doc("What is known of the class.")] = ClusterClassStatus()


CLUSTER_CLASSES: Final = Kind("cluster.x-k8s.io", "v1beta2", "ClusterClass", "clusterclasses", ClusterClass)

DEFINITION: Final = Definition(
    CLUSTER_CLASSES,
    short_names=("cc",),
    columns=(
        PAUSED_COLUMN,
        condition("VariablesReady", "Variables Ready", description="Whether all variables are known."),
        age("class"),
    ),
)
