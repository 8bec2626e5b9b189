"""PodDisruptionBudgets: a drain of the management cluster's nodes takes one pod of a kind at a time.

With a single replica it may take that one: a budget that forbids it would only make nodes impossible to drain.
"""

from __future__ import annotations

from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.kubernetes.kinds import DISRUPTION_BUDGETS, Planned
from nagaya.controlplane.hosted.kubernetes.metadata import metadata
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy


def planned(tenancy: Tenancy, part: str) -> Planned:
    """The budget of a Deployment."""
    spec = {
        "maxUnavailable": 1,
        "selector": {"matchLabels": names.selector(tenancy.name, part)},
        # A pod that does not work protects nobody, and may be waiting for another node.
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    body = {**metadata(tenancy, part), "spec": spec}
    return Planned(DISRUPTION_BUDGETS, tenancy.namespace, names.object_name(tenancy.name, part), body)
