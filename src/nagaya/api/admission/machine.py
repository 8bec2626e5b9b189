"""Admission of Machines."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.api.admission.content import Content, items, mapping, put, put_if_missing, text
from nagaya.api.admission.field_error import FieldError
from nagaya.api.admission.machine_checks import check_bootstrap, check_same_cluster, check_taints
from nagaya.api.admission.version_checks import check_version, with_v
from nagaya.api.cluster import labels as label
from nagaya.api.cluster.machine_deletion import DEFAULT_NODE_DELETION_TIMEOUT_SECONDS


def with_cluster_label(content: Content) -> Content:
    """The object with the label that names its cluster."""
    name = text(content, "spec", "clusterName")
    return put(content, name, "metadata", "labels", label.CLUSTER_NAME) if name else content


def default(new: Content, _: Content | None) -> Content:
    """The label of the cluster, a v in front of the version, and how long the Node's deletion is tried."""
    new = with_v(with_cluster_label(new), "spec", "version")
    seconds = DEFAULT_NODE_DELETION_TIMEOUT_SECONDS
    return put_if_missing(new, seconds, "spec", "deletion", "nodeDeletionTimeoutSeconds")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a Machine."""
    return list(_validate(new, old))


def _validate(new: Content, old: Content | None) -> Iterator[FieldError]:
    spec = mapping(new, "spec")
    if not _belongs_to_machine_pool(new):
        yield from check_bootstrap(spec, "spec")
    yield from check_same_cluster(new, old)
    yield from check_version(text(spec, "version"), "spec.version")
    worker = label.CONTROL_PLANE not in mapping(new, "metadata", "labels")
    yield from check_taints(spec, "spec.taints", workers=worker)


def _belongs_to_machine_pool(machine: Content) -> bool:
    if label.MACHINE_POOL_NAME in mapping(machine, "metadata", "labels"):
        return True
    return any(text(owner, "kind") == "MachinePool" for owner in items(machine, "metadata", "ownerReferences"))
