"""What was meant by a kind that is not served."""

from __future__ import annotations

from nagaya.insight.foresight.unserved import Served, meant
from support.subtest_cases import subtest_cases

CORE = frozenset({"Cluster", "Machine", "MachineDeployment"})
SERVED: Served = {
    "apps": {"v1": frozenset({"Deployment"})},
    "cluster.x-k8s.io": {"v1beta2": CORE},
    "infrastructure.cluster.x-k8s.io": {
        "v1alpha2": frozenset({"ProxmoxCluster"}),
        "v1alpha1": frozenset({"ProxmoxCluster", "SimulatedCluster"}),
    },
}


@subtest_cases(
    ("api_version", "kind", "told"),
    [
        ("cluster.x-k8s.io/v1beta1", "Cluster", "`nagaya convert -f old.yaml`"),
        ("cluster.k8s.io/v1alpha1", "Cluster", "`nagaya convert -f old.yaml`"),
        ("cluster.x-k8s.io/v1alpha4", "Cluster", "It is served as cluster.x-k8s.io/v1beta2: write that"),
        ("infrastructure.cluster.x-k8s.io/v2", "ProxmoxCluster", "/v1alpha2 and infrastructure.cluster.x-k8s.io/v1a"),
        ("cluster.x-k8s.io/v1beta2", "MachineDeploymnt", "Did you mean MachineDeployment?"),
        ("cluster.x-k8.io/v1beta2", "Cluster", "Did you mean cluster.x-k8s.io/v1beta2?"),
        ("cluster.x-k8.io/v1", "Cluster", "Did you mean cluster.x-k8s.io/v1beta2?"),
        ("boats.example.com/v1", "Boat", "`nagaya crds`"),
    ],
)
def test_the_version_or_kind_that_was_meant_is_told(api_version: str, kind: str, told: str) -> None:
    assert told in meant(SERVED, api_version, kind, "old.yaml")


def test_what_was_read_from_a_pipe_is_called_a_file() -> None:
    assert "`nagaya convert -f FILE`" in meant(SERVED, "cluster.x-k8s.io/v1beta1", "Cluster", "standard input")
