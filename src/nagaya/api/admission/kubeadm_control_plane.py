"""Admission of KubeadmControlPlanes: little of one may change, because every change is made on running machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.changes import Path, allowed, changed_paths
from nagaya.api.admission.content import Content, at, mapping, number, put, put_if_missing, text
from nagaya.api.admission.field_error import FieldError, forbidden, invalid, required
from nagaya.api.admission.kubeadm_config_checks import check_kubeadm_config
from nagaya.api.admission.kubeadm_control_plane_checks import (
    check_cluster_configuration,
    check_naming,
    check_rollout,
    image_version,
)
from nagaya.api.admission.machine_checks import check_taints
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.admission.version_checks import parse_version
from nagaya.api.controlplane.names import SKIP_COREDNS
from nagaya.api.controlplane.rollout import ROLLING_UPDATE

_CONFIG: Final = ("spec", "kubeadmConfigSpec")
_CLUSTER: Final = (*_CONFIG, "clusterConfiguration")


def _fields(prefix: Path, *names: str) -> Iterator[Path]:
    """Fields below a path, each with all that is in it."""
    for name in names:
        yield (*prefix, name)
        yield (*prefix, name, "*")


_MAY_CHANGE: Final[tuple[Path, ...]] = (
    ("metadata", "*"),
    *_fields(_CLUSTER, "etcd", "dns", "imageRepository", "featureGates", "apiServer", "controllerManager", "scheduler"),
    *_fields(_CLUSTER, "certificateValidityPeriodDays", "encryptionAlgorithm"),
    *_fields((*_CONFIG, "initConfiguration"), "nodeRegistration", "patches", "skipPhases", "timeouts"),
    *_fields((*_CONFIG, "initConfiguration"), "bootstrapTokens", "localAPIEndpoint"),
    *_fields((*_CONFIG, "joinConfiguration"), "nodeRegistration", "patches", "skipPhases", "timeouts"),
    *_fields((*_CONFIG, "joinConfiguration"), "caCertPath", "controlPlane", "discovery"),
    *_fields(_CONFIG, "bootCommands", "preKubeadmCommands", "postKubeadmCommands", "files", "verbosity", "users"),
    *_fields(_CONFIG, "ntp", "ignition", "diskSetup", "format", "mounts"),
    *_fields(("spec", "machineTemplate"), "metadata", "spec"),
    *_fields(("spec",), "replicas", "version", "remediation", "machineNaming", "rollout"),
)


def default(new: Content, _: Content | None) -> Content:
    """One replica, a v in front of the version, and one machine more during a rollout."""
    new = put_if_missing(new, 1, "spec", "replicas")
    version = at(new, "spec", "version")
    if isinstance(version, str) and not version.startswith("v"):
        new = put(new, f"v{version}", "spec", "version")
    new = put(new, ROLLING_UPDATE, "spec", "rollout", "strategy", "type")
    return put_if_missing(new, 1, "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a KubeadmControlPlane."""
    return list(_validate(new, old))


def _validate(new: Content, old: Content | None) -> Iterator[FieldError]:
    yield from _spec(mapping(new, "spec"))
    before = None
    if old is not None:
        for path in changed_paths(_without_status(new), _without_status(old)):
            if not allowed(path, _MAY_CHANGE):
                yield forbidden(".".join(path), "cannot be modified")
        yield from _upgrade(new, old)
        before = mapping(old, *_CLUSTER)
    yield from check_cluster_configuration(mapping(new, *_CLUSTER), before, ".".join(_CLUSTER))
    if old is not None:
        yield from _dns_upgrade(new, old)
    yield from check_kubeadm_config(mapping(new, *_CONFIG), ".".join(_CONFIG), control_plane=True)


def _spec(spec: Content) -> Iterator[FieldError]:
    replicas = number(spec, "replicas")
    if replicas is None:
        yield required("spec.replicas", "is required")
    elif replicas <= 0:
        yield forbidden("spec.replicas", "cannot be less than or equal to 0")
    external = mapping(spec, "kubeadmConfigSpec", "clusterConfiguration", "etcd", "external")
    if not external and replicas is not None and replicas % 2 == 0:
        yield forbidden("spec.replicas", "cannot be an even number when etcd is stacked")
    machines = mapping(spec, "machineTemplate")
    for name in ("apiGroup", "kind", "name"):
        if not text(machines, "spec", "infrastructureRef", name):
            yield invalid(f"spec.machineTemplate.infrastructure.{name}", "", "cannot be empty")
    yield from check_taints(mapping(machines, "spec"), "spec.machineTemplate.spec.taints")
    yield from check_metadata(mapping(machines, "metadata"), "spec.machineTemplate.metadata")
    version = text(spec, "version")
    if not version.startswith("v"):
        yield invalid("spec.version", version, "must start with v")
    if parse_version(version) is None:
        yield invalid("spec.version", version, "must be a valid semantic version")
    yield from check_rollout(spec, "spec", replicas)
    yield from check_naming(spec, "spec")


def _without_status(content: Content) -> Content:
    return {name: value for name, value in content.items() if name != "status"}


def _upgrade(new: Content, old: Content) -> Iterator[FieldError]:
    """At most one minor version at a time: that is what kubeadm can do."""
    wanted, running = text(new, "spec", "version"), text(old, "spec", "version")
    to, start = parse_version(wanted), parse_version(running)
    if to is not None and start is not None and to.numbers >= (start.major, start.minor + 2, 0):
        yield forbidden("spec.version", f"cannot update Kubernetes version from {running} to {wanted}")


def _dns_upgrade(new: Content, old: Content) -> Iterator[FieldError]:
    """The configuration of CoreDNS is carried forward only."""
    wanted, running = (image_version(text(each, *_CLUSTER, "dns", "imageTag")) for each in (new, old))
    if wanted is None or running is None or wanted.numbers >= running.numbers:
        return
    if SKIP_COREDNS in mapping(new, "metadata", "annotations"):
        return
    detail = (
        f"cannot migrate CoreDNS up to '{wanted.text}' from '{running.text}': "
        f"cannot migrate up to '{_plain(wanted.numbers)}' from '{_plain(running.numbers)}'"
    )
    yield forbidden(".".join((*_CLUSTER, "dns", "imageTag")), detail)


def _plain(numbers: tuple[int, int, int]) -> str:
    return ".".join(map(str, numbers))
