from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from nagaya.api.cluster.cluster import Cluster
from nagaya.clusters.pause import status_while_paused
from nagaya.core.cluster.plan import plan
from nagaya.core.cluster.status import NEWS, OWNED_CONDITIONS, OWNED_FIELDS, next_look, phase, status
from nagaya.kube.conditions import get
from nagaya.kube.remote import Probe
from nagaya.kube.status_change import is_news
from support.builders import EARLIER, NOW, Draft, date, machine, machine_deployment
from support.seen_cluster import ENDPOINT, bare_cluster, control_plane, grown_cluster, infrastructure, new_cluster, seen


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (bare_cluster(), "Pending"),
        (new_cluster(), "Provisioning"),
        (grown_cluster(), "Provisioned"),
        (grown_cluster().having(spec={"controlPlaneEndpoint": None}), "Provisioning"),
        (bare_cluster().having(spec={"controlPlaneEndpoint": ENDPOINT}), "Provisioned"),
        (grown_cluster().deleting(), "Deleting"),
    ],
)
def test_the_phase_is_the_state_in_one_word(subject: Draft[Cluster], expected: str) -> None:
    view = seen(subject, infrastructure(), control_plane())
    assert phase(view.cluster, plan(view)) == expected


def test_a_new_cluster_tells_all_it_owns_and_nothing_else() -> None:
    view = seen(new_cluster(), infrastructure(), control_plane(), probe=Probe(), deployments=[machine_deployment()])
    told = status(view, plan(view))
    assert {each.type for each in told.conditions} == OWNED_CONDITIONS
    assert all(each.observed_generation == 1 and each.last_transition_time == NOW for each in told.conditions)
    summed = get(told.conditions, "Available")
    assert summed is not None
    assert summed.message == (
        "* RemoteConnectionProbe: Remote connection not established yet\n"
        "* InfrastructureReady: BoatCluster status.initialization.provisioned is false\n"
        "* ControlPlaneAvailable: BoatControlPlane status.initialization.controlPlaneInitialized is false\n"
        "* WorkersAvailable:\n  * MachineDeployment workers: Condition Available not yet reported"
    )
    assert (told.phase, told.observed_generation) == ("Provisioning", 1)
    assert "controlPlane.upgradePlan" not in OWNED_FIELDS


def test_telling_twice_says_the_same_and_keeps_times() -> None:
    view = seen(grown_cluster(), infrastructure(), control_plane(), workers=[machine("a")])
    told = status(view, plan(view))
    later = seen(
        grown_cluster().having(status=msgspec.to_builtins(told)),
        infrastructure(),
        control_plane(),
        workers=[machine("a")],
        now=NOW + timedelta(hours=1),
        probe=Probe(NOW + timedelta(hours=1)),
    )
    assert status(later, plan(later)) == told


def test_a_paused_cluster_says_why_and_stays_as_it_was() -> None:
    before = grown_cluster().reporting("Available", "True").having(status={"phase": "Provisioned"}).made()
    told = status_while_paused(before, "Cluster spec.paused is set to true", NOW)
    assert [(each.type, each.status, each.reason) for each in told.conditions] == [
        ("Available", "True", "Available"),
        ("Paused", "True", "Paused"),
    ]
    assert (told.phase, told.initialization) == (before.status.phase, before.status.initialization)
    assert told.observed_generation is None


def test_a_problem_keeps_the_observed_generation_back() -> None:
    before = grown_cluster().having(metadata={"generation": 4}, status={"observedGeneration": 3})
    view = seen(before, "no contract", control_plane())
    assert status(view, plan(view)).observed_generation == 3


def test_conditions_of_others_are_left_alone() -> None:
    before = grown_cluster().reporting("Backup", "True")
    view = seen(before, infrastructure(), control_plane())
    backup = get(status(view, plan(view)).conditions, "Backup")
    assert backup is not None
    assert backup.last_transition_time == EARLIER
    assert backup.observed_generation is None


def test_other_numbers_and_messages_are_no_news() -> None:
    told = grown_cluster().reporting("WorkersAvailable", "False", message="2 missing")
    other = told.reporting("WorkersAvailable", "False", message="1 missing").having(status={"workers": {"replicas": 2}})
    assert not news(told, other)
    assert not news(told, told.reporting("WorkerMachinesReady", "True").reporting("ScalingUp", "Unknown"))
    assert news(told, told.reporting("WorkersAvailable", "True"))
    pending = told.having(status={"phase": "Pending"})
    assert not news(told, pending)
    assert news(pending, pending.having(status={"phase": "Provisioning"}))
    assert news(new_cluster(), new_cluster().having(status={"initialization": {"infrastructureProvisioned": True}}))


def news(before: Draft[Cluster], after: Draft[Cluster]) -> bool:
    return is_news(msgspec.to_builtins(before.made().status), msgspec.to_builtins(after.made().status), NEWS)


def test_time_alone_is_looked_after() -> None:
    assert next_look(seen(grown_cluster(), workers=[machine("a")])) is None
    young = machine("a").having(metadata={"creationTimestamp": date(NOW - timedelta(seconds=7))})
    assert next_look(seen(grown_cluster(), workers=[young])) == 3.0
    lost = Probe(NOW - timedelta(seconds=50), failures=1)
    assert next_look(seen(grown_cluster(), workers=[young], probe=lost)) == 1.0
