"""What the runtime measures of itself, under the names that controller-runtime uses: existing dashboards work.

One `Metrics` belongs to one registry, so that several planes fit into one process. Labels come from a small fixed set
(controllers, verbs, kinds, codes); no object's name is ever a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

ReconcileResult = Literal["success", "error", "requeue_after"]

_WAITS: Final = tuple(10.0**exponent for exponent in range(-6, 4))  # seconds in the queue: a microsecond to 17 minutes
_RECONCILES: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_REQUESTS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 30.0, 60.0)


class Metrics:
    """The collectors of one registry. `request` is what a Client tells."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        queue, controller = ("name",), ("controller",)
        self.depth = Gauge("workqueue_depth", "Keys that wait for a worker.", queue, registry=self.registry)
        self.adds = Counter("workqueue_adds", "Keys that were added.", queue, registry=self.registry)
        self.retries = Counter("workqueue_retries", "Keys that were added again.", queue, registry=self.registry)
        self.waited = Histogram(
            "workqueue_queue_duration_seconds",
            "How long keys waited for a worker.",
            queue,
            buckets=_WAITS,
            registry=self.registry,
        )
        self.worked = Histogram(
            "workqueue_work_duration_seconds",
            "How long workers had a key.",
            queue,
            buckets=_WAITS,
            registry=self.registry,
        )
        self.longest = Gauge(
            "workqueue_longest_running_processor_seconds",
            "How long the slowest worker has had its key by now.",
            queue,
            registry=self.registry,
        )
        self.reconciles = Counter(
            "controller_runtime_reconcile",
            "Reconciles by how they ended: success, requeue_after, error.",
            ("controller", "result"),
            registry=self.registry,
        )
        self.errors = Counter(
            "controller_runtime_reconcile_errors", "Reconciles that failed.", controller, registry=self.registry
        )
        self.duration = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "How long a reconcile took.",
            controller,
            buckets=_RECONCILES,
            registry=self.registry,
        )
        self.active = Gauge(
            "controller_runtime_active_workers", "Workers that have a key.", controller, registry=self.registry
        )
        self.workers = Gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers there are.", controller, registry=self.registry
        )
        self.requests = Counter(
            "rest_client_requests",
            "Requests to API servers by verb, resource and HTTP status; 0 stands for no answer.",
            ("verb", "kind", "code"),
            registry=self.registry,
        )
        self.latency = Histogram(
            "rest_client_request_duration_seconds",
            "How long an answer took; of a watch, its head.",
            ("verb",),
            buckets=_REQUESTS,
            registry=self.registry,
        )
        self.leading = Gauge(
            "leader_election_master_status", "1 while this process leads, else 0.", queue, registry=self.registry
        )
        self.events_dropped = Counter(
            "nagaya_events_dropped", "Events that were not sent, by reason.", ("reason",), registry=self.registry
        )
        self._requests: dict[tuple[str, str, int], Counter] = {}
        self._latency: dict[str, Histogram] = {}

    def request(self, verb: str, kind: str, code: int, seconds: float) -> None:
        """Count a request. The collectors of labels are kept, as looking them up costs more than counting."""
        counter = self._requests.get((verb, kind, code))
        if counter is None:
            counter = self._requests[verb, kind, code] = self.requests.labels(verb, kind, str(code))
        counter.inc()
        histogram = self._latency.get(verb)
        if histogram is None:
            histogram = self._latency[verb] = self.latency.labels(verb)
        histogram.observe(seconds)


@dataclass(frozen=True, slots=True)
class Measures:
    """What is counted of one controller, for all its workers."""

    waited: Histogram
    worked: Histogram
    duration: Histogram
    errors: Counter
    retries: Counter
    results: Mapping[ReconcileResult, Counter]

    @classmethod
    def of(cls, name: str, metrics: Metrics) -> Measures:
        """Those of a controller."""
        return cls(
            metrics.waited.labels(name),
            metrics.worked.labels(name),
            metrics.duration.labels(name),
            metrics.errors.labels(name),
            metrics.retries.labels(name),
            {result: metrics.reconciles.labels(name, result) for result in get_args(ReconcileResult)},
        )
