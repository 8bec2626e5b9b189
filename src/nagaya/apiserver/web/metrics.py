"""Figures about a server, in the form Prometheus reads, under the names of the real server where it has them.

Every server has a registry of its own. What the store knows anyway (objects, revisions, queue lengths) is asked for
when someone looks, and costs nothing in between.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from nagaya.apiserver.web.observer import Done, followed
from nagaya.apiserver.web.request import Response
from nagaya.wire import exposition

if TYPE_CHECKING:
    from nagaya.apiserver.controllers.runner import Runner
    from nagaya.apiserver.storage import Store
    from nagaya.apiserver.web.handler import Endpoint, Exchange
    from nagaya.apiserver.web.listener import Listener

_BUCKETS: Final = (
    0.005,
    0.025,
    0.05,
    0.1,
    0.2,
    0.4,
    0.6,
    0.8,
    1.0,
    1.25,
    1.5,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    15,
    20,
    30,
    45,
    60,
)
_LABELS: Final = ("verb", "group", "version", "resource", "subresource", "scope")
_NOWHERE: Final = ("",) * (len(_LABELS) - 1)
_VERBS: Final = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
}


class Metrics:
    """The figures of one server. An `Observer`."""

    def __init__(
        self,
        store: Store,
        runner: Callable[[], Runner],
        data_dir: Path | None,
        listener: Callable[[], Listener | None] = lambda: None,
    ) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "apiserver_request_total",
            "Requests, by what they asked for and how they were answered.",
            (*_LABELS, "code"),
            registry=self.registry,
        )
        self._durations = Histogram(
            "apiserver_request_duration_seconds",
            "Seconds until the answer was ready, streams left out.",
            _LABELS,
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._sizes = Counter(
            "apiserver_response_bytes_total",
            "Bytes of answers, before encryption.",
            _LABELS,
            registry=self.registry,
        )
        self._in_flight = Gauge(
            "apiserver_current_inflight_requests",
            "Requests being served, streams left out.",
            ("request_kind",),
            registry=self.registry,
        )
        self._streams = Gauge(
            "apiserver_longrunning_requests",
            "Streams that are open.",
            _LABELS,
            registry=self.registry,
        )
        self._watch_events = Counter(
            "apiserver_watch_events_total",
            "Pieces sent to watchers; each holds one event or several.",
            ("group", "version", "resource"),
            registry=self.registry,
        )
        self.registry.register(_State(store, runner, data_dir, listener))

    def begin(self, exchange: Exchange) -> Done:
        """A request has come."""
        kind = "readOnly" if exchange.info.verb in ("get", "list", "watch") else "mutating"
        in_flight = self._in_flight.labels(kind)
        in_flight.inc()

        def done(response: Response, seconds: float) -> None:
            in_flight.dec()
            labels = _labels(exchange)
            self._requests.labels(*labels, str(response.status)).inc()
            if response.stream is None:
                self._durations.labels(*labels).observe(seconds)
                self._sizes.labels(*labels).inc(len(response.body))
            else:
                response.stream = self._followed(response.stream, labels)

        return done

    def _followed(self, stream: AsyncIterator[bytes], labels: tuple[str, ...]) -> AsyncIterator[bytes]:
        events = self._watch_events.labels(*labels[1:4])
        open_streams, sent = self._streams.labels(*labels), self._sizes.labels(*labels)
        open_streams.inc()

        def count(chunk: bytes) -> None:
            events.inc()
            sent.inc(len(chunk))

        return followed(stream, open_streams.dec, count)

    def endpoint(self) -> Endpoint:
        """Serves the figures."""

        def answer(exchange: Exchange) -> Response:
            return Response(200, *exposition.page(self.registry, exchange.request.headers.get("accept", "")))

        return answer


def _labels(exchange: Exchange) -> tuple[str, ...]:
    """What is told of a request. Names that clients invent are left out, or they could fill the memory."""
    info = exchange.info
    verb = _VERBS.get(info.verb, info.verb.upper() if info.verb in ("connect", "proxy") else "other")
    if exchange.call is None:
        return (verb, *_NOWHERE)
    scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
    return verb, info.group, info.version, info.resource, info.subresource, scope


class _State:
    """What the parts of the server know of themselves, read when it is asked for."""

    def __init__(
        self,
        store: Store,
        runner: Callable[[], Runner],
        data_dir: Path | None,
        listener: Callable[[], Listener | None],
    ) -> None:
        self._listener = listener
        self._store = store
        self._runner = runner
        self._data_dir = data_dir

    def collect(self) -> Iterable[Metric]:
        """The figures of this moment."""
        objects = GaugeMetricFamily("apiserver_resource_objects", "Objects stored, by table.", labels=["resource"])
        for table in self._store.tables:
            group, _, resource = table.rpartition("/")
            objects.add_metric([f"{resource}.{group}" if group else resource], self._store.count(table))
        yield objects
        yield GaugeMetricFamily("nagaya_storage_revision", "The newest revision.", self._store.revision)
        yield GaugeMetricFamily(
            "nagaya_storage_compacted_revision",
            "The oldest revision that can still be read.",
            self._store.compacted_revision,
        )
        if self._data_dir is not None:
            size = sum(path.stat().st_size for path in self._data_dir.glob("state.db*"))
            yield GaugeMetricFamily("apiserver_storage_size_bytes", "Bytes of the database on disk.", size)
        if (listener := self._listener()) is not None:
            yield from _places(listener)
        yield from self._controllers()

    def _controllers(self) -> Iterable[Metric]:
        depth = GaugeMetricFamily("workqueue_depth", "Keys that wait to be looked at.", labels=["name"])
        failing = GaugeMetricFamily("nagaya_controller_failing_keys", "Keys that failed last time.", labels=["name"])
        retries = CounterMetricFamily("workqueue_retries_total", "Failures so far.", labels=["name"])
        for figures in self._runner().figures():
            depth.add_metric([figures.name], figures.waiting)
            failing.add_metric([figures.name], figures.failing)
            retries.add_metric([figures.name], figures.failures)
        yield from (depth, failing, retries)


def _places(listener: Listener) -> Iterable[Metric]:
    """What clients hold, and how many did not get a place."""
    gate = listener.gate
    found = GaugeMetricFamily("nagaya_apiserver_connections", "Connections open, by who made them.", labels=["client"])
    found.add_metric(["user"], gate.total - gate.strangers)
    found.add_metric(["stranger"], gate.strangers)
    yield found
    turned = CounterMetricFamily(
        "nagaya_apiserver_connections_ended_total",
        "Connections that were refused, or closed for others while idle, because there were too many.",
        labels=["how"],
    )
    turned.add_metric(["refused"], gate.refused)
    turned.add_metric(["displaced"], gate.displaced)
    yield turned
    yield GaugeMetricFamily(
        "nagaya_apiserver_bytes_in_flight", "Bytes of requests and answers in memory.", listener.bytes_in_flight
    )
