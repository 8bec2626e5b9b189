"""Admission of MachinePools."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.api.admission.content import Content, items, mapping, put_if_missing, text
from nagaya.api.admission.field_error import FieldError, forbidden
from nagaya.api.admission.machine import with_cluster_label
from nagaya.api.admission.machine_checks import check_bootstrap, check_same_cluster, check_template_cluster
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.admission.replicas import with_replicas
from nagaya.api.admission.version_checks import check_version, with_v
from nagaya.api.cluster.machine_deletion import DEFAULT_NODE_DELETION_TIMEOUT_SECONDS

_TEMPLATE = ("spec", "template", "spec")


def default(new: Content, old: Content | None) -> Content:
    """Replicas, how long the Node's deletion is tried, a v in front of the version. May raise Refusal."""
    new = with_replicas(with_cluster_label(new), old, "MachinePool")
    seconds = DEFAULT_NODE_DELETION_TIMEOUT_SECONDS
    new = put_if_missing(new, seconds, *_TEMPLATE, "deletion", "nodeDeletionTimeoutSeconds")
    return with_v(new, *_TEMPLATE, "version")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a MachinePool."""
    return list(_validate(new, old))


def _validate(new: Content, old: Content | None) -> Iterator[FieldError]:
    yield from check_bootstrap(mapping(new, *_TEMPLATE), "spec.template.spec")
    yield from check_same_cluster(new, old)
    yield from check_template_cluster(new)
    yield from check_version(text(new, *_TEMPLATE, "version"), "spec.template.spec.version")
    if items(new, *_TEMPLATE, "taints"):
        yield forbidden("spec.taints", "taints feature for MachinePools is not yet implemented")
    yield from check_metadata(mapping(new, "spec", "template", "metadata"), "spec.template.metadata")
