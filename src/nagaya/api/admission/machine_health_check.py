"""Admission of MachineHealthChecks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.content import Content, at, mapping, number, put_if_missing, text
from nagaya.api.admission.field_error import FieldError, invalid, required
from nagaya.api.admission.machine import with_cluster_label
from nagaya.api.admission.machine_checks import check_same_cluster, check_share, selector_or_error
from nagaya.api.admission.selector import as_printed
from nagaya.api.cluster import labels as label
from nagaya.api.cluster.health import DEFAULT_NODE_STARTUP_TIMEOUT_SECONDS

_SHORTEST_NODE_STARTUP_TIMEOUT_SECONDS: Final = 30


def default(new: Content, _: Content | None) -> Content:
    """The label of the cluster, and how long a Node may take to appear."""
    seconds = DEFAULT_NODE_STARTUP_TIMEOUT_SECONDS
    return put_if_missing(with_cluster_label(new), seconds, "spec", "checks", "nodeStartupTimeoutSeconds")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a MachineHealthCheck."""
    return list(_validate(new, old))


def _validate(new: Content, old: Content | None) -> Iterator[FieldError]:
    content = mapping(new, "spec", "selector")
    selector, problems = selector_or_error(content, "spec.selector")
    yield from problems
    if selector is not None and not selector.requirements:
        yield required("spec.selector", "selector must not be empty")
    selected = mapping(content, "matchLabels")
    if label.CLUSTER_NAME in selected and selected[label.CLUSTER_NAME] != text(new, "spec", "clusterName"):
        detail = "cannot specify a cluster selector other than the one specified by ClusterName"
        yield invalid("spec.selector", as_printed(content), detail)
    yield from check_same_cluster(new, old)
    yield from check_health_check(mapping(new, "spec"), "spec")


def check_health_check(health_check: Content, field: str) -> Iterator[FieldError]:
    """What MachineHealthChecks and topologies have in common."""
    seconds = number(health_check, "checks", "nodeStartupTimeoutSeconds")
    if seconds is not None and seconds != 0 and seconds < _SHORTEST_NODE_STARTUP_TIMEOUT_SECONDS:
        yield invalid(f"{field}.checks.nodeStartupTimeoutSeconds", seconds, "must be at least 30s")
    most = at(health_check, "remediation", "triggerIf", "unhealthyLessThanOrEqualTo")
    yield from check_share(most, f"{field}.remediation.triggerIf.unhealthyLessThanOrEqualTo")
