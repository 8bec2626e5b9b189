"""How clusters and their machines stand, as figures: phases, conditions, numbers of machines, and who answers.

The names are those that upstream configures kube-state-metrics to tell, so dashboards made for it show these too. What
always holds: everything is read from the cache at the moment somebody asks, so it costs nothing otherwise, and an
object that is gone is not told of any more. Unlike all other figures these have objects' names as labels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.kube.cache.cache import Cache
from nagaya.kube.remote import Remotes

_STATUSES: Final = ("True", "False", "Unknown")
_IDENTITY: Final = ("namespace", "name", "uid", "cluster_name")
_PHASES: Final[Mapping[Kind[Any], tuple[str, ...]]] = {
    CLUSTERS: ("Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown"),
    MACHINES: ("Pending", "Provisioning", "Provisioned", "Running", "Deleting", "Deleted", "Failed", "Unknown"),
    MACHINE_DEPLOYMENTS: ("ScalingUp", "ScalingDown", "Running", "Failed", "Unknown"),
}
_REPLICAS: Final = {
    "status_replicas": ("replicas", "Machines there are."),
    "status_replicas_ready": ("ready_replicas", "Machines that are ready."),
    "status_replicas_available": ("available_replicas", "Machines that are ready for long enough."),
    "status_replicas_updated": ("up_to_date_replicas", "Machines that are as declared."),
}
_SETS: Final[tuple[Kind[Any], ...]] = (MACHINE_DEPLOYMENTS, MACHINE_SETS, KUBEADM_CONTROL_PLANES, HOSTED_CONTROL_PLANES)
_TOLD: Final[tuple[Kind[Any], ...]] = (CLUSTERS, MACHINES, *_SETS, PROXMOX_CONNECTIONS)


class StateMetrics(Collector):
    """Told by a process for the kinds that it keeps."""

    def __init__(self, cache: Cache, remotes: Remotes) -> None:
        self._cache = cache
        self._remotes = remotes

    def collect(self) -> Iterator[Metric]:
        """All figures as they are now."""
        asleep = self._asleep()
        for kind in _TOLD:
            if not self._cache.has(kind):
                continue
            objects = self._cache.list(kind)
            prefix = f"capi_{kind.kind.lower()}"
            yield _created(prefix, objects)
            yield _conditions(prefix, objects)
            if kind in _PHASES:
                yield _phases(prefix, objects, _PHASES[kind])
            if kind in _SETS:
                yield from _replicas(prefix, objects)
            if kind is CLUSTERS:
                yield _paused(objects)
                yield _sleeping(objects, asleep)
            if kind is MACHINES:
                yield _machine_info(objects)
        yield from self._tenants(asleep)

    def _asleep(self) -> set[tuple[str, str]]:
        """Clusters whose hosted control plane is declared to be stopped, by namespace and name."""
        if not self._cache.has(HOSTED_CONTROL_PLANES):
            return set()
        planes = self._cache.list(HOSTED_CONTROL_PLANES)
        return {(each.metadata.namespace, _cluster(each)) for each in planes if each.spec.replicas == 0}

    def _tenants(self, asleep: Collection[tuple[str, str]]) -> Iterator[Metric]:
        labels = ("namespace", "cluster")
        up = GaugeMetricFamily("nagaya_tenant_up", "1 while a tenant's API answers, else 0.", labels=labels)
        seen = GaugeMetricFamily(
            "nagaya_tenant_last_answer_timestamp_seconds", "When a tenant's API last answered a probe.", labels=labels
        )
        for key in self._remotes.wanted():
            probe, where = self._remotes.probe(key), (key.namespace, key.name)
            if where in asleep:
                continue  # that nobody answers is as declared
            up.add_metric(where, float(self._remotes.get(key) is not None and not probe.failures))
            if probe.last_success is not None:
                seen.add_metric(where, probe.last_success.timestamp())
        yield up
        yield seen


def _identity(obj: Any) -> tuple[str, ...]:
    metadata = obj.metadata
    return (metadata.namespace, metadata.name, metadata.uid, _cluster(obj))


def _cluster(obj: Any) -> str:
    if isinstance(obj, Cluster):
        return obj.metadata.name
    return str(obj.metadata.labels.get(CLUSTER_NAME) or getattr(obj.spec, "cluster_name", ""))


def _sleeping(clusters: Iterable[Any], asleep: Collection[tuple[str, str]]) -> Metric:
    text = "1 if the cluster's hosted control plane is declared to be stopped."
    family = GaugeMetricFamily("nagaya_cluster_asleep", text, labels=_IDENTITY)
    for each in clusters:
        family.add_metric(_identity(each), float((each.metadata.namespace, each.metadata.name) in asleep))
    return family


def _created(prefix: str, objects: Iterable[Any]) -> Metric:
    family = GaugeMetricFamily(f"{prefix}_created", "When it was made, as a Unix time.", labels=_IDENTITY)
    for each in objects:
        if each.metadata.creation_timestamp is not None:
            family.add_metric(_identity(each), each.metadata.creation_timestamp.timestamp())
    return family


def _conditions(prefix: str, objects: Iterable[Any]) -> Metric:
    name, text = f"{prefix}_status_condition", "1 for the status that a condition has, 0 for those that it has not."
    family = GaugeMetricFamily(name, text, labels=(*_IDENTITY, "type", "status"))
    for each in objects:
        who = _identity(each)
        for condition in each.status.conditions:
            for status in _STATUSES:
                family.add_metric((*who, condition.type, status), float(condition.status == status))
    return family


def _phases(prefix: str, objects: Iterable[Any], phases: Iterable[str]) -> Metric:
    name, text = f"{prefix}_status_phase", "1 for the phase that it is in, 0 for those that it is not in."
    family = GaugeMetricFamily(name, text, labels=(*_IDENTITY, "phase"))
    for each in objects:
        for phase in phases:
            family.add_metric((*_identity(each), phase), float((each.status.phase or "Unknown") == phase))
    return family


def _replicas(prefix: str, objects: list[Any]) -> Iterator[Metric]:
    wanted = GaugeMetricFamily(f"{prefix}_spec_replicas", "Machines there are to be.", labels=_IDENTITY)
    for each in objects:
        if each.spec.replicas is not None:
            wanted.add_metric(_identity(each), each.spec.replicas)
    yield wanted
    for name, (field, text) in _REPLICAS.items():
        family = GaugeMetricFamily(f"{prefix}_{name}", text, labels=_IDENTITY)
        for each in objects:
            family.add_metric(_identity(each), getattr(each.status, field) or 0)
        yield family


def _paused(clusters: Iterable[Any]) -> Metric:
    family = GaugeMetricFamily("capi_cluster_spec_paused", "1 if nothing is done for the cluster.", labels=_IDENTITY)
    for each in clusters:
        family.add_metric(_identity(each), float(bool(each.spec.paused)))
    return family


def _machine_info(machines: Iterable[Any]) -> Metric:
    labels = (*_IDENTITY, "version", "provider_id", "failure_domain", "node_name")
    family = GaugeMetricFamily("capi_machine_info", "1 for each machine, with what is known of it.", labels=labels)
    for each in machines:
        spec, status = each.spec, each.status
        node = status.node_ref.name if status.node_ref is not None else ""
        domain = status.failure_domain or spec.failure_domain or ""
        family.add_metric((*_identity(each), spec.version or "", spec.provider_id or "", domain, node), 1)
    return family
