"""Available: the one condition that says whether a cluster works, made from the others."""

from __future__ import annotations

from typing import Final

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_conditions import ClusterCondition, ClusterReason
from nagaya.api.cluster.gate import NEGATIVE
from nagaya.api.meta import Condition
from nagaya.kube.conditions import Conditions, DefaultMerge, Source, Weigh, Weight, reasons, summary, weigh

_COUNTED: Final = (
    ClusterCondition.DELETING,
    ClusterCondition.REMOTE_CONNECTION_PROBE,
    ClusterCondition.INFRASTRUCTURE_READY,
    ClusterCondition.CONTROL_PLANE_AVAILABLE,
    ClusterCondition.WORKERS_AVAILABLE,
    ClusterCondition.TOPOLOGY_RECONCILED,
)
_GONE: Final = (ClusterReason.OBJECT_DELETED, ClusterReason.OBJECT_DOES_NOT_EXIST)
_TOPOLOGY_ISSUES: Final = (ClusterReason.RECONCILE_FAILED, ClusterReason.CLUSTER_CLASS_NOT_RECONCILED)


def available(cluster: Cluster, conditions: Conditions) -> Condition:
    """Whether the cluster works: all that counts is good, the gates of the user included."""
    gates = cluster.spec.availability_gates
    negative = [gate.condition_type for gate in gates if gate.polarity == NEGATIVE]
    return summary(
        Source("Cluster", cluster.metadata.name, conditions),
        ClusterCondition.AVAILABLE,
        [*_COUNTED, *(gate.condition_type for gate in gates)],
        ignore_if_missing=() if cluster.spec.topology is not None else (ClusterCondition.TOPOLOGY_RECONCILED,),
        strategy=DefaultMerge(
            _weigh(cluster, weigh([ClusterCondition.DELETING, *negative])),
            reason=reasons(ClusterReason.NOT_AVAILABLE, ClusterReason.AVAILABLE_UNKNOWN, ClusterReason.AVAILABLE),
        ),
    )


def _weigh(cluster: Cluster, usual: Weigh) -> Weigh:
    deleting = cluster.metadata.deleting

    def weight(condition: Condition) -> Weight:
        expected = (ClusterCondition.INFRASTRUCTURE_READY, ClusterCondition.CONTROL_PLANE_AVAILABLE)
        if deleting and condition.type in expected and condition.reason in _GONE:
            return Weight.INFO  # that they go is what was asked for
        if condition.type == ClusterCondition.TOPOLOGY_RECONCILED and condition.status == "False":
            # An upgrade that waits its turn does not make the cluster unavailable.
            return Weight.ISSUE if condition.reason in _TOPOLOGY_ISSUES else Weight.INFO
        return usual(condition)

    return weight
