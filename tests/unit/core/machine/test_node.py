from __future__ import annotations

from datetime import timedelta

import pytest

from nagaya.api.cluster.machine_status import NodeReference
from nagaya.core.machine.node import connection_counts_until, node_conditions, node_of, node_problem
from nagaya.core.machine.seen import Seen
from nagaya.kube.remote import Probe
from support.builders import EARLIER, NOW, cluster, date, machine
from support.machine_seen import GOOD, node, seen

ID = "boat:///a"
NODE = NodeReference(name="node-a")


def both(view: Seen, reference: NodeReference | None = None, provider_id: str = ID) -> tuple[str, str, str]:
    ready, healthy = node_conditions(view, provider_id, reference)
    assert (ready.type, healthy.type) == ("NodeReady", "NodeHealthy")
    assert (ready.status, ready.reason, ready.message) == (healthy.status, healthy.reason, healthy.message)
    return ready.status, ready.reason, ready.message


def test_a_cluster_without_infrastructure_has_no_nodes_to_ask_for() -> None:
    bare = cluster().having(status={"initialization": None})
    waits = "Waiting for Cluster status.initialization.infrastructureProvisioned to be true"
    assert both(seen(cluster=bare)) == ("Unknown", "InspectionFailed", waits)


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_control_plane_that_never_answered_is_not_asked(status: str) -> None:
    waits = "Waiting for Cluster control plane to be initialized"
    young = cluster().reporting("ControlPlaneInitialized", status)
    assert both(seen(cluster=young)) == ("Unknown", "InspectionFailed", waits)


def test_a_node_that_is_known_is_told_even_if_its_cluster_does_not_say_so_yet() -> None:
    young = cluster().reporting("ControlPlaneInitialized", "False")
    ready, healthy = node_conditions(seen(nodes=(node(),), cluster=young), ID, None)
    assert (ready.status, healthy.status) == ("True", "True")


def test_before_the_first_answer_the_connection_is_not_there_yet() -> None:
    view = seen(probe=Probe(None, failures=4), nodes=None)
    assert both(view) == ("Unknown", "ConnectionDown", "Remote connection not established yet")


def test_after_a_restart_the_last_known_state_is_shown_until_the_tenant_answers() -> None:
    known = machine().running().reporting("NodeReady", "True").reporting("NodeHealthy", "True")
    assert node_conditions(seen(known, probe=Probe(), nodes=None), ID, NODE) == ()


def test_a_short_silence_changes_nothing() -> None:
    known = machine().running().reporting("NodeReady", "True").reporting("NodeHealthy", "True")
    view = seen(known, probe=Probe(NOW - timedelta(minutes=5), failures=9), nodes=None)
    assert node_conditions(view, ID, NODE) == ()


def test_a_long_silence_is_told_with_the_last_answer() -> None:
    known = machine().running().reporting("NodeReady", "True").reporting("NodeHealthy", "True")
    last = NOW - timedelta(minutes=5, seconds=1)
    view = seen(known, probe=Probe(last, failures=9), nodes=None)
    assert both(view, NODE) == ("Unknown", "ConnectionDown", f"Last successful probe at {date(last)}")


def test_the_silence_is_counted_from_when_the_tenant_could_answer() -> None:
    young = cluster().reporting("ControlPlaneInitialized", "True", since=NOW - timedelta(minutes=1))
    assert both(seen(cluster=young, probe=Probe(None, failures=5), nodes=None)) == ("Unknown", "ConnectionDown", "")


def test_a_machine_looks_again_when_the_silence_begins_to_count() -> None:
    view = seen(probe=Probe(NOW - timedelta(minutes=2), failures=3))
    assert connection_counts_until(view) == timedelta(minutes=3)
    assert connection_counts_until(seen()) is None
    assert connection_counts_until(seen(nodes=None, probe=Probe(NOW))) == timedelta(minutes=5)
    assert connection_counts_until(seen(probe=Probe(EARLIER, failures=300))) is None


def test_a_good_node_is_ready_and_healthy() -> None:
    ready, healthy = node_conditions(seen(nodes=(node(),)), ID, None)
    assert (ready.status, ready.reason, ready.message) == ("True", "NodeReady", "")
    assert (healthy.status, healthy.reason, healthy.message) == ("True", "NodeHealthy", "")


@pytest.mark.parametrize(
    ("conditions", "messages", "expected"),
    [
        (
            {**GOOD, "Ready": "False"},
            {"Ready": "kubelet stopped"},
            ("False", "NodeNotReady", "* Node.Ready: kubelet stopped"),
        ),
        ({**GOOD, "Ready": "False"}, {}, ("False", "NodeNotReady", "")),
        (
            {**GOOD, "Ready": "Unknown"},
            {"Ready": "silence"},
            ("Unknown", "NodeReadyUnknown", "* Node.Ready: silence"),
        ),
        ({}, {}, ("Unknown", "NodeReadyUnknown", "* Node.Ready: Condition not yet reported")),
    ],
)
def test_ready_says_what_the_node_says(
    conditions: dict[str, str], messages: dict[str, str], expected: tuple[str, str, str]
) -> None:
    ready, _ = node_conditions(seen(nodes=(node(conditions=conditions, messages=messages),)), ID, None)
    assert (ready.status, ready.reason, ready.message) == expected


@pytest.mark.parametrize(
    ("conditions", "messages", "expected"),
    [
        (
            {**GOOD, "MemoryPressure": "True"},
            {"MemoryPressure": "no memory left"},
            ("False", "NodeNotHealthy", "* Node.MemoryPressure: no memory left"),
        ),
        (
            {**GOOD, "DiskPressure": "True", "Ready": "Unknown"},
            {},
            ("False", "NodeNotHealthy", "* Node.Ready: Condition is Unknown\n* Node.DiskPressure: Condition is True"),
        ),
        (
            dict.fromkeys(GOOD, "Unknown"),
            dict.fromkeys(GOOD, "kubelet stopped posting"),
            ("Unknown", "NodeHealthyUnknown", "* Node.AllConditions: kubelet stopped posting"),
        ),
        (
            {"Ready": "True", "MemoryPressure": "False"},
            {},
            (
                "Unknown",
                "NodeHealthyUnknown",
                "* Node.DiskPressure: Condition not yet reported\n* Node.PIDPressure: Condition not yet reported",
            ),
        ),
    ],
)
def test_healthy_puts_all_together(
    conditions: dict[str, str], messages: dict[str, str], expected: tuple[str, str, str]
) -> None:
    _, healthy = node_conditions(seen(nodes=(node(conditions=conditions, messages=messages),)), ID, None)
    assert (healthy.status, healthy.reason, healthy.message) == expected


def test_a_missing_node_is_waited_for_by_the_name_that_it_will_have() -> None:
    assert both(seen()) == ("Unknown", "InspectionFailed", f"Waiting for a Node with spec.providerID {ID} to exist")
    waits = "Waiting for BoatMachine to report spec.providerID"
    assert both(seen(), provider_id="") == ("Unknown", "InspectionFailed", waits)


def test_a_node_that_went_away_is_told() -> None:
    gone = "Node node-a has been deleted while the Machine still exists"
    assert both(seen(machine().running()), NODE) == ("False", "NodeDeleted", gone)
    assert node_problem(seen(machine().running()), ID, NODE) == gone


def test_a_node_that_went_away_with_its_machine_is_no_problem() -> None:
    going = seen(machine().running().deleting())
    assert both(going, NODE) == ("False", "NodeDeleted", "Node node-a has been deleted")
    assert both(going) == ("Unknown", "NodeDoesNotExist", "Node does not exist")
    assert node_problem(going, ID, NODE) == ""


def test_two_nodes_with_one_name_are_nobodys() -> None:
    view = seen(nodes=(node("one"), node("two")))
    assert node_of(view, ID) is None
    problem = f"unexpectedly found more than one Node matching the providerID {ID}: one, two"
    assert node_problem(view, ID, None) == problem
    assert both(view) == ("Unknown", "InternalError", problem)


def test_a_node_found_by_a_name_that_the_machine_does_not_have_yet_is_not_its_node() -> None:
    assert node_of(seen(nodes=(node(),)), "") is None
    assert node_of(seen(nodes=(node(),)), "boat:///other") is None
