"""ClusterResourceSetBinding: what ClusterResourceSets applied to one cluster.

Written by the controller only. It is named after its Cluster, owned by it, and is what makes "apply once" hold across
restarts: what is noted here as applied is not applied again unless its hash says so.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from nagaya.api.addons.cluster_resource_set import ResourceRef
from nagaya.api.definition import Column, Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc


class ResourceBinding(ResourceRef):
    """A ConfigMap or Secret, and whether the cluster has what is in it."""

    hash: Annotated[
        str,
        doc(
            "Hash of the content that was applied. Reconcile compares it; ApplyOnce does not.",
            minLength=1,
            maxLength=256,
        ),
    ] = ""
    last_applied_time: Annotated[datetime | None, doc("When it was last applied.")] = None
    applied: Annotated[bool, doc("Whether all of it was applied without an error.")]


class ResourceSetBinding(Model):
    """What one ClusterResourceSet applied."""

    cluster_resource_set_name: Annotated[str, doc("Name of the ClusterResourceSet.", minLength=1, maxLength=253)]
    resources: Annotated[
        tuple[ResourceBinding, ...],
        doc("Its ConfigMaps and Secrets.", list_type="atomic", maxItems=100),
    ] = ()


class ClusterResourceSetBindingSpec(Model):
    """What was applied to one cluster."""

    bindings: Annotated[
        tuple[ResourceSetBinding, ...],
        doc("One entry for each ClusterResourceSet that matches the cluster.", list_type="atomic", maxItems=100),
    ] = ()
    cluster_name: Annotated[str, doc("Name of the Cluster.", required=True, minLength=1, maxLength=63)] = ""


class ClusterResourceSetBinding(Resource):
    """What ClusterResourceSets applied to one cluster. Kept by the controller; not meant to be edited."""

    spec: Annotated[ClusterResourceSetBindingSpec, doc("What was applied.")]


CLUSTER_RESOURCE_SET_BINDINGS: Final = Kind(
    "addons.cluster.x-k8s.io",
    "v1beta2",
    "ClusterResourceSetBinding",
    "clusterresourcesetbindings",
    ClusterResourceSetBinding,
)
DEFINITION: Final = Definition(
    CLUSTER_RESOURCE_SET_BINDINGS,
    columns=(
        Column("Cluster", ".spec.clusterName", description="The Cluster that things were applied to."),
        age("ClusterResourceSetBinding"),
    ),
    status=False,
)
