from __future__ import annotations

from typing import Any

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.cluster_status import MachineCounts
from nagaya.api.cluster.machine_pool import MACHINE_POOLS, MachinePool
from nagaya.core.cluster.counts import control_plane_counts, worker_counts
from support.builders import CLUSTER, NAMESPACE, Draft, machine, machine_deployment, machine_set
from support.seen_cluster import bare_cluster, control_plane, grown_cluster, seen

COUNTS = {"replicas": 3, "readyReplicas": 2, "availableReplicas": 1, "upToDateReplicas": 3}
OWNER = grown_cluster().made()


def numbers(counts: MachineCounts) -> tuple[int | None, ...]:
    return (
        counts.desired_replicas,
        counts.replicas,
        counts.ready_replicas,
        counts.available_replicas,
        counts.up_to_date_replicas,
    )


def versions(counts: MachineCounts) -> list[tuple[str, int | None]]:
    return [(each.version, each.replicas) for each in counts.versions]


def pool() -> Draft[MachinePool]:
    content: dict[str, Any] = {
        "metadata": {"name": "pool", "namespace": NAMESPACE},
        "spec": {"clusterName": CLUSTER, "replicas": 1, "template": machine_set().content["spec"]["template"]},
        "status": {"replicas": 1, "versions": [{"version": "v1.35.0", "replicas": 1}]},
    }
    return Draft(MACHINE_POOLS, content)


def test_a_control_plane_object_tells_its_numbers() -> None:
    plane = control_plane().having(
        spec={"replicas": 3}, status={**COUNTS, "versions": [{"version": "v1.36.3", "replicas": 3}]}
    )
    counts = control_plane_counts(seen(grown_cluster(), None, plane))
    assert numbers(counts) == (3, 3, 2, 1, 3)
    assert versions(counts) == [("v1.36.3", 3)]


def test_the_old_contract_tells_how_many_are_missing() -> None:
    plane = control_plane().having(
        spec={"replicas": 3}, status={"replicas": 4, "unavailableReplicas": 1, "updatedReplicas": 2}
    )
    assert numbers(control_plane_counts(seen(grown_cluster(), None, plane, contract="v1beta1"))) == (3, 4, None, 2, 2)
    none = plane.having(status={"unavailableReplicas": 5})
    assert numbers(control_plane_counts(seen(grown_cluster(), None, none, contract="v1beta1")))[3] == 0


def test_numbers_that_are_not_told_stay_and_those_of_a_missing_control_plane_go() -> None:
    before = grown_cluster().having(status={"controlPlane": {"desiredReplicas": 3, "replicas": 3}})
    assert numbers(control_plane_counts(seen(before, None, control_plane()))) == (3, 3, None, None, None)
    assert numbers(control_plane_counts(seen(before, None, None))) == (None,) * 5


def test_machines_of_a_control_plane_without_an_object_are_counted() -> None:
    machines = [
        machine("a").control_plane().reporting("Ready", "True").reporting("Available", "True"),
        machine("b").control_plane().reporting("UpToDate", "True").having(spec={"version": "v1.35.0"}),
    ]
    counts = control_plane_counts(seen(bare_cluster(), control_plane_machines=machines))
    assert numbers(counts) == (2, 2, 1, 1, 1)
    assert versions(counts) == [("v1.35.0", 1), ("v1.36.3", 1)]
    assert numbers(control_plane_counts(seen(bare_cluster()))) == (None,) * 5


def test_workers_are_counted_once_each_by_whoever_speaks_for_them() -> None:
    told = {**COUNTS, "versions": [{"version": "v1.36.3", "replicas": 3}]}
    view = seen(
        grown_cluster(),
        pools=[pool()],
        deployments=[machine_deployment().having(spec={"replicas": 3}, status=told)],
        sets=[
            machine_set("managed").having(spec={"replicas": 9}, status={"replicas": 9}),
            machine_set("alone", "").having(spec={"replicas": 2}, status={"replicas": 2}).owned_by(OWNER, CLUSTERS),
        ],
        workers=[
            machine("managed"),
            machine("alone").owned_by(OWNER, CLUSTERS).reporting("Ready", "True"),
            machine("pooled").owned_by(OWNER, CLUSTERS).labelled({"cluster.x-k8s.io/pool-name": "pool"}),
        ],
    )
    counts = worker_counts(view)
    assert numbers(counts) == (7, 7, 3, 1, 3)
    assert versions(counts) == [("v1.35.0", 1), ("v1.36.3", 4)]


def test_without_workers_nothing_is_counted() -> None:
    assert worker_counts(seen(grown_cluster())) == MachineCounts()


def test_an_upgrade_plan_is_left_to_whoever_made_it() -> None:
    steps = {"workers": {"upgradePlan": [{"version": "v1.37.0"}]}}
    assert worker_counts(seen(grown_cluster().having(status=steps))).upgrade_plan[0].version == "v1.37.0"
