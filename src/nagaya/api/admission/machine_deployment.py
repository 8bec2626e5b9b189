"""Admission of MachineDeployments."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.api.admission.content import Content, at, mapping, put, put_if_missing, text
from nagaya.api.admission.field_error import FieldError, forbidden, invalid
from nagaya.api.admission.golang import quote
from nagaya.api.admission.machine import with_cluster_label
from nagaya.api.admission.machine_checks import (
    check_bootstrap,
    check_machine_naming,
    check_rollout_strategy,
    check_same_cluster,
    check_share,
    check_skipped_preflight_checks,
    check_taints,
    check_template_cluster,
    selector_or_error,
)
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.admission.names import label_value
from nagaya.api.admission.replicas import with_replicas
from nagaya.api.admission.selector import is_empty
from nagaya.api.admission.version_checks import check_version, with_v
from nagaya.api.cluster import labels as label
from nagaya.api.cluster.rollout import ROLLING_UPDATE

_STRATEGY = ("spec", "rollout", "strategy")
_MATCH_LABELS = ("spec", "selector", "matchLabels")
_TEMPLATE_LABELS = ("spec", "template", "metadata", "labels")


def default(new: Content, old: Content | None) -> Content:
    """Replicas, strategy, selector and labels, a v in front of the version. May raise Refusal."""
    new = with_replicas(with_cluster_label(new), old, "MachineDeployment")
    new = put_if_missing(new, ROLLING_UPDATE, *_STRATEGY, "type")
    if text(new, *_STRATEGY, "type") == ROLLING_UPDATE:
        new = put_if_missing(new, 1, *_STRATEGY, "rollingUpdate", "maxSurge")
        new = put_if_missing(new, 0, *_STRATEGY, "rollingUpdate", "maxUnavailable")
    if is_empty(mapping(new, "spec", "selector")):
        name = text(new, "metadata", "name")
        new = put(new, name, *_MATCH_LABELS, label.MACHINE_DEPLOYMENT_NAME)
        new = put(new, name, *_TEMPLATE_LABELS, label.MACHINE_DEPLOYMENT_NAME)
    if cluster := text(new, "spec", "clusterName"):
        new = put(new, cluster, *_MATCH_LABELS, label.CLUSTER_NAME)
        new = put(new, cluster, *_TEMPLATE_LABELS, label.CLUSTER_NAME)
    return with_v(new, "spec", "template", "spec", "version")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a MachineDeployment."""
    return list(_validate(new, old))


def _validate(new: Content, old: Content | None) -> Iterator[FieldError]:
    name = text(new, "metadata", "name")
    for problem in label_value(name):
        yield invalid("metadata.name", name, f"must be a valid label value: {problem}")
    yield from check_bootstrap(mapping(new, "spec", "template", "spec"), "spec.template.spec")
    selector, problems = selector_or_error(mapping(new, "spec", "selector"), "spec.selector")
    yield from problems
    if selector is not None and not selector.matches(mapping(new, *_TEMPLATE_LABELS)):
        yield forbidden("spec.template.metadata.labels", f"must match spec.selector {quote(str(selector))}")
    yield from check_skipped_preflight_checks(new)
    yield from check_same_cluster(new, old)
    yield from check_template_cluster(new)
    yield from check_rollout_strategy(mapping(new, *_STRATEGY), "spec.rollout.strategy")
    yield from check_share(at(new, "spec", "remediation", "maxInFlight"), "spec.remediation.maxInFlight")
    template = mapping(new, "spec", "template")
    yield from check_version(text(template, "spec", "version"), "spec.template.spec.version")
    yield from check_machine_naming(new)
    yield from check_taints(mapping(template, "spec"), "spec.template.spec.taints", workers=True)
    yield from check_metadata(mapping(template, "metadata"), "spec.template.metadata")
