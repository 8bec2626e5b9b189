"""Kinds that hardly changed: bindings of resource sets, and claims for addresses."""

from __future__ import annotations

from nagaya.api.cluster import labels
from nagaya.api.conversion.draft import Draft


def unchanged(draft: Draft) -> None:
    """A kind whose fields are where they were."""


def cluster_resource_set_binding(draft: Draft) -> None:
    """A ClusterResourceSetBinding: v1beta2 demands the name of the Cluster, which the binding has as its own."""
    name = (draft.at("metadata") or draft).content.get("name")
    spec = draft.at("spec")
    if spec is not None and not spec.content.get("clusterName"):
        spec.put(name, "clusterName")


def ip_address_claim(draft: Draft) -> None:
    """An IPAddressClaim: its first version had the name of the Cluster in a label only."""
    known = draft.at("metadata", "labels")
    spec = draft.at("spec")
    if spec is not None and known is not None and "clusterName" not in spec.content:
        spec.put(known.content.get(labels.CLUSTER_NAME), "clusterName")
