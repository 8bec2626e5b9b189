"""What the client measures of itself. Labels come from small sets: connections, hosts, methods, codes, error kinds."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ClientMetrics:
    """The collectors of one registry, for all connections."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self.calls = Counter(
            "nagaya_proxmox_calls",
            "Calls to Proxmox VE by host, method and HTTP status; 0 stands for no answer.",
            ("connection", "host", "method", "code"),
            registry=self.registry,
        )
        self.errors = Counter(
            "nagaya_proxmox_errors",
            "Calls to Proxmox VE that failed, by host and class of error.",
            ("connection", "host", "kind"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "nagaya_proxmox_call_duration_seconds",
            "How long an answer of Proxmox VE took.",
            ("connection", "host"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.open = Gauge(
            "nagaya_proxmox_host_unreachable",
            "1 while a host is not asked because it did not answer, else 0.",
            ("connection", "host"),
            registry=self.registry,
        )
        self.tasks = Gauge(
            "nagaya_proxmox_tasks_watched",
            "Tasks of Proxmox VE whose end is waited for.",
            ("connection",),
            registry=self.registry,
        )
        self.oldest_task = Gauge(
            "nagaya_proxmox_oldest_task_timestamp_seconds",
            "When the oldest task that is waited for was begun, as a Unix time; not there if there is none.",
            ("connection",),
            registry=self.registry,
        )

    def forget(self, connection: str) -> None:
        """What was so of a connection that is no longer used must not be told for ever."""
        for gauge in (self.open, self.tasks, self.oldest_task):
            gauge.remove_by_labels({"connection": connection})
