"""Checks, machines and Nodes for tests of health checks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine_health_check import MACHINE_HEALTH_CHECKS, MachineHealthCheck
from nagaya.api.untyped import Untyped
from nagaya.clusters.node import NODES, Node
from nagaya.core.machine_health_check.external import External
from nagaya.core.machine_health_check.seen import Seen, Target
from support.builders import CLUSTER, NAMESPACE, NOW, Draft, MachineDraft, cluster, date, machine

CHECKS: dict[str, Any] = {
    "nodeStartupTimeoutSeconds": 600,
    "unhealthyNodeConditions": [
        {"type": "Ready", "status": "Unknown", "timeoutSeconds": 300},
        {"type": "Ready", "status": "False", "timeoutSeconds": 60},
    ],
    "unhealthyMachineConditions": [{"type": "Paint", "status": "False", "timeoutSeconds": 120}],
}
LONG_AGO = NOW - timedelta(hours=2)


def check(**spec: Any) -> Draft[MachineHealthCheck]:
    """A check of all machines of the cluster."""
    content = {"clusterName": CLUSTER, "selector": {"matchLabels": {"role": "worker"}}, "checks": CHECKS, **spec}
    metadata = {"namespace": NAMESPACE, "name": "workers", "uid": "uid-workers", "generation": 3}
    return Draft(MACHINE_HEALTH_CHECKS, {"metadata": metadata, "spec": content})


def worker(name: str = "a", created: datetime = LONG_AGO) -> MachineDraft:
    """A Machine that the check selects."""
    return machine(name).labelled({"role": "worker"}).having(metadata={"creationTimestamp": date(created)})


def harbour(initialized: datetime | None = LONG_AGO, ready: datetime | None = LONG_AGO) -> Cluster:
    """A Cluster; its control plane is initialized and its infrastructure ready since the given dates, or not at all."""
    draft = cluster()
    for type, since in (("ControlPlaneInitialized", initialized), ("InfrastructureReady", ready)):
        draft = draft.reporting(type, "False" if since is None else "True", since=since or LONG_AGO)
    return draft.made()


def node(name: str = "node-a", status: str = "True", since: timedelta = timedelta(hours=1)) -> Node:
    """A Node whose condition Ready has a status for so long."""
    ready = {"type": "Ready", "status": status, "reason": "Said", "lastTransitionTime": date(NOW - since)}
    return NODES.convert({"metadata": {"name": name}, "status": {"conditions": [ready]}})


def healthy(name: str) -> Target:
    return Target(worker(name).running().made(), node(f"node-{name}"))


def sick(name: str) -> Target:
    return Target(worker(name).running().made(), node(f"node-{name}", "Unknown"))


def starting(name: str) -> Target:
    return Target(worker(name, created=NOW).made())


def seen(targets: Iterable[Target], external: External | None = None, **remediation: Any) -> Seen:
    """A look at a check with a limit."""
    return Seen(check(remediation=remediation).made(), harbour(), NOW, tuple(targets), external)


def request(name: str) -> Untyped:
    return Untyped({"kind": "BoatRemediation", "metadata": {"namespace": NAMESPACE, "name": name, "uid": f"r-{name}"}})
