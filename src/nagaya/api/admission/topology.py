"""Admission of the topology of a Cluster, as far as it can be judged without its ClusterClass.

What the class has to say (its variables, classes of workers and versions) needs a look at another object, and so is
not done here.
"""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.api.admission.content import Content, items, mapping, number, text
from nagaya.api.admission.field_error import FieldError, forbidden, invalid, required
from nagaya.api.admission.golang import NotANumber, parse_int, quote
from nagaya.api.admission.machine_checks import check_rollout_strategy, check_share, check_taints
from nagaya.api.admission.machine_health_check import check_health_check
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.admission.version_checks import check_version, parse_version
from nagaya.api.cluster import annotations as annotation

_FIELD = "spec.topology"
_VERSION_PROBLEM = "version must be a valid semantic version"


def check_topology(new: Content, old: Content | None) -> Iterator[FieldError]:
    """What is wrong with the topology of a Cluster that has one."""
    topology = mapping(new, "spec", "topology")
    if not text(topology, "classRef", "name"):
        yield required(f"{_FIELD}.class", "classRef.name cannot be empty")
        return
    yield from check_version(text(topology, "version") or "v", f"{_FIELD}.version", _VERSION_PROBLEM)
    yield from _check_parts(topology)
    yield from _check_upgrade_concurrency(new)
    yield from _check_autoscaled_replicas(new, topology)
    if old is not None:
        yield from _check_update(new, old, topology)


def _check_parts(topology: Content) -> Iterator[FieldError]:
    parts = [(mapping(topology, "controlPlane"), f"{_FIELD}.controlPlane")]
    for kind in ("machineDeployments", "machinePools"):
        workers = items(topology, "workers", kind)
        parts += [(part, f"{_FIELD}.workers.{kind}[{text(part, 'name')}]") for part in workers]
    for part, field in parts:
        yield from check_metadata(mapping(part, "metadata"), f"{field}.metadata")
    for part, field in parts:
        yield from check_rollout_strategy(mapping(part, "rollout", "strategy"), f"{field}.rollout.strategy")
    for part, field in parts:
        yield from check_taints(part, f"{field}.taints")
    for part, field in parts:
        health_check = mapping(part, "healthCheck")
        yield from check_health_check(health_check, f"{field}.healthCheck")
        most = mapping(health_check, "remediation").get("maxInFlight")
        yield from check_share(most, f"{field}.healthCheck.remediation.maxInFlight")


def _check_upgrade_concurrency(new: Content) -> Iterator[FieldError]:
    given = mapping(new, "metadata", "annotations")
    if annotation.UPGRADE_CONCURRENCY not in given:
        return
    field = f"metadata.annotations.{annotation.UPGRADE_CONCURRENCY}"
    value = text(given, annotation.UPGRADE_CONCURRENCY)
    try:
        if parse_int(value) < 1:
            yield invalid(field, value, "value cannot be less than 1")
    except NotANumber as error:
        yield invalid(field, value, f"could not parse the value of the annotation: {error}")


def _check_autoscaled_replicas(new: Content, topology: Content) -> Iterator[FieldError]:
    for part in items(topology, "workers", "machineDeployments"):
        replicas = number(part, "replicas")
        given = mapping(part, "metadata", "annotations")
        if replicas is not None and (
            annotation.AUTOSCALER_MIN_SIZE in given or annotation.AUTOSCALER_MAX_SIZE in given
        ):
            name, namespace = text(new, "metadata", "name"), text(new, "metadata", "namespace")
            yield invalid(
                f"{_FIELD}.workers.machineDeployments[{text(part, 'name')}].replicas",
                replicas,
                f"cannot be set for cluster {quote(name)} in namespace {quote(namespace)} if the same "
                "MachineDeploymentTopology has autoscaler annotations",
            )


def _check_update(new: Content, old: Content, topology: Content) -> Iterator[FieldError]:
    given = mapping(new, "metadata", "annotations")
    if not text(old, "spec", "topology", "classRef", "name"):
        if annotation.UNSAFE_UPDATE_CLASS_NAME not in given:
            yield forbidden(f"{_FIELD}.class", "classRef cannot be set on an existing Cluster")
        return
    version = text(topology, "version")
    wanted, before = parse_version(version), parse_version(text(old, "spec", "topology", "version"))
    if annotation.UNSAFE_UPDATE_VERSION in given or wanted is None or before is None:
        return
    if wanted.numbers < before.numbers:
        detail = f"version cannot be decreased from {quote(before.text)} to {quote(wanted.text)}"
        yield invalid(f"{_FIELD}.version", version, detail)
