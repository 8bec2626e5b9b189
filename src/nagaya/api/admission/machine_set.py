"""Admission of MachineSets."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.api.admission.content import Content, mapping, put, text
from nagaya.api.admission.field_error import FieldError, invalid
from nagaya.api.admission.golang import quote
from nagaya.api.admission.machine import with_cluster_label
from nagaya.api.admission.machine_checks import (
    check_bootstrap,
    check_machine_naming,
    check_same_cluster,
    check_skipped_preflight_checks,
    check_taints,
    check_template_cluster,
    selector_or_error,
)
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.admission.replicas import with_replicas
from nagaya.api.admission.selector import is_empty
from nagaya.api.admission.version_checks import check_version, with_v
from nagaya.api.cluster import labels as label
from nagaya.api.cluster.label_value import as_label_value


def default(new: Content, old: Content | None) -> Content:
    """Replicas, a selector and labels if there are none, a v in front of the version. May raise Refusal."""
    new = with_replicas(with_cluster_label(new), old, "MachineSet")
    if is_empty(mapping(new, "spec", "selector")):
        name = as_label_value(text(new, "metadata", "name"))
        new = put(new, name, "spec", "selector", "matchLabels", label.MACHINE_SET_NAME)
        new = put(new, name, "spec", "template", "metadata", "labels", label.MACHINE_SET_NAME)
    return with_v(new, "spec", "template", "spec", "version")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a MachineSet."""
    return list(_validate(new, old))


def _validate(new: Content, old: Content | None) -> Iterator[FieldError]:
    yield from check_bootstrap(mapping(new, "spec", "template", "spec"), "spec.template.spec")
    selector, problems = selector_or_error(mapping(new, "spec", "selector"), "spec.selector")
    yield from problems
    template_labels = mapping(new, "spec", "template", "metadata", "labels")
    if selector is not None and not selector.matches(template_labels):
        detail = f"must match spec.selector {quote(str(selector))}"
        yield invalid("spec.template.metadata.labels", dict(sorted(template_labels.items())) or None, detail)
    yield from check_skipped_preflight_checks(new)
    yield from check_same_cluster(new, old)
    yield from check_template_cluster(new)
    template = mapping(new, "spec", "template")
    yield from check_version(text(template, "spec", "version"), "spec.template.spec.version")
    yield from check_taints(mapping(template, "spec"), "spec.template.spec.taints", workers=True)
    yield from check_machine_naming(new)
    yield from check_metadata(mapping(template, "metadata"), "spec.template.metadata")
