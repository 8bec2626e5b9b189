"""Admission of ProxmoxClusters."""

from __future__ import annotations

from nagaya.api.admission.content import Content, at, mapping
from nagaya.api.admission.field_error import FieldError
from nagaya.api.admission.proxmox_cluster_checks import check_cluster, check_endpoint


def validate(new: Content, _: Content | None) -> list[FieldError]:
    """What is wrong with a ProxmoxCluster. One that goes is not judged any more."""
    if at(new, "metadata", "deletionTimestamp") is not None:
        return []
    spec = mapping(new, "spec")
    return [*check_cluster(spec, "spec"), *check_endpoint(spec, "spec")]
