"""RemoteConnectionProbe: whether the API of the cluster answers."""

from __future__ import annotations

from datetime import timedelta

from nagaya.api.cluster.cluster_conditions import ClusterCondition, ClusterReason
from nagaya.api.meta import Condition
from nagaya.core.cluster.seen import Seen
from nagaya.kube.conditions import condition, get
from nagaya.kube.remote import PROBE_FAILURES, PROBE_GRACE


def remote_connection_probe(seen: Seen) -> Condition | None:
    """None as long as nothing can be said, and something was: after a restart the old word stands for a while."""
    type, probe = ClusterCondition.REMOTE_CONNECTION_PROBE, seen.probe
    if probe.last_success is None and probe.failures < PROBE_FAILURES:
        if get(seen.cluster.status.conditions, type) is not None:
            return None
        return condition(type, False, ClusterReason.PROBE_FAILED, "Remote connection not established yet")
    if probe.fresh(seen.now):
        return condition(type, True, ClusterReason.PROBE_SUCCEEDED)
    message = "Remote connection probe failed"
    if probe.last_success is not None:
        message = f"{message}, probe last succeeded at {probe.last_success:%Y-%m-%dT%H:%M:%SZ}"
    return condition(type, False, ClusterReason.PROBE_FAILED, message)


def probe_expires(seen: Seen) -> float | None:
    """In how many seconds the last good probe is too old, if no other comes; None if one will."""
    if seen.probe.last_success is None or not seen.probe.fresh(seen.now):
        return None
    if seen.connected and not seen.probe.failures:
        return None
    # Just past the moment: at the very end of the grace a probe is still fresh.
    return (seen.probe.last_success + timedelta(seconds=PROBE_GRACE) - seen.now).total_seconds() + 1.0
