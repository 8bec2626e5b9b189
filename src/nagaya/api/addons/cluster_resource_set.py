"""ClusterResourceSet: manifests that every cluster with certain labels gets, such as a network plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.selector import LabelSelector
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.v1beta1 import DEPRECATED, DeprecatedStatus
from nagaya.api.definition import PAUSED_COLUMN, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc

FINALIZER: Final = "addons.cluster.x-k8s.io"
"""Keeps a ClusterResourceSet until its bindings no longer mention it."""

SECRET_TYPE: Final = "addons.cluster.x-k8s.io/resource-set"  # noqa: S105 - the name of a kind of Secret
"""The only type of Secret that may hold manifests."""

SECRET: Final = "Secret"  # noqa: S105 - a kind
CONFIG_MAP: Final = "ConfigMap"

APPLY_ONCE: Final = "ApplyOnce"
"""Each resource is applied to each cluster once; later changes are not carried over."""

RECONCILE: Final = "Reconcile"
"""Resources are applied again when their content changes."""

# Conditions

RESOURCES_APPLIED: Final = "ResourcesApplied"
"""All resources are applied to all clusters that match."""

# Reasons of ResourcesApplied

APPLIED: Final = "Applied"
NOT_APPLIED: Final = "NotApplied"
WRONG_SECRET_TYPE: Final = "WrongSecretType"  # noqa: S105 - a reason
INTERNAL_ERROR: Final = "InternalError"


class ResourceRef(Model):
    """A ConfigMap or Secret with manifests."""

    name: Annotated[str, doc("Name of the ConfigMap or Secret, in the same namespace.", minLength=1, maxLength=253)]
    kind: Annotated[
        str,
        doc(
            "What it is: ConfigMap, or Secret of the type addons.cluster.x-k8s.io/resource-set.",
            enum=[SECRET, CONFIG_MAP],
        ),
    ]


class ClusterResourceSetSpec(Model):
    """What is applied to which clusters."""

    cluster_selector: Annotated[
        LabelSelector,
        doc("Which Clusters of the namespace get the resources, by their labels. Cannot be empty nor be changed."),
    ]
    resources: Annotated[
        tuple[ResourceRef, ...],
        doc(
            "ConfigMaps and Secrets whose entries are manifests, each in YAML or JSON; applied in this order.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ]
    strategy: Annotated[
        str,
        doc(
            "ApplyOnce applies each resource to each cluster once. Reconcile applies it again whenever it changes. "
            "ApplyOnce if left out. Cannot be changed.",
            enum=[APPLY_ONCE, RECONCILE],
        ),
    ] = ""


class ClusterResourceSetStatus(Model):
    """Whether the clusters have what they should."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Conditions = ()
    observed_generation: ObservedGeneration = None
    deprecated: Annotated[DeprecatedStatus, DEPRECATED] = DeprecatedStatus()


class ClusterResourceSet(Resource):
    """Manifests that every cluster with certain labels gets as soon as its API answers."""

    spec: Annotated[ClusterResourceSetSpec, doc("What is applied to which clusters.")]
    status: Annotated[ClusterResourceSetStatus, doc("Whether the clusters have what they should.")] = (
        ClusterResourceSetStatus()
    )


CLUSTER_RESOURCE_SETS: Final = Kind(
    "addons.cluster.x-k8s.io", "v1beta2", "ClusterResourceSet", "clusterresourcesets", ClusterResourceSet
)
DEFINITION: Final = Definition(
    CLUSTER_RESOURCE_SETS,
    columns=(
        condition(
            RESOURCES_APPLIED, "Applied", description="Whether all resources are applied to all clusters that match."
        ),
        PAUSED_COLUMN,
        age("ClusterResourceSet"),
    ),
)
