"""Which machines go first. The cases are those of Cluster API's own tests."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.core.machine_set.deletion_order import UnknownOrder, first_to_go
from support.builders import NOW
from unit.core.machine_set.examples import Worker, worker

DAY = timedelta(days=1)


def names(order: str, *machines: Worker) -> list[str]:
    return [each.metadata.name for each in first_to_go((each.it for each in machines), order, NOW)]


GOING = worker("going").working().going()
MARKED = worker("marked").working().marked("cluster.x-k8s.io/delete-machine")
UPDATING = worker("updating").working().marked("in-place-updates.internal.cluster.x-k8s.io/update-in-progress")
PENDING = worker("pending").working().annotated({"runtime.cluster.x-k8s.io/pending-hooks": "Other,UpdateMachine"})
NO_NODE = worker("no-node")
SICK_NODE = worker("sick-node").working().reporting("NodeHealthy", "False")
UNHEALTHY = worker("unhealthy").working().reporting("HealthCheckSucceeded", "False")
UNKNOWN = worker("unknown").working().reporting("NodeHealthy", "Unknown")
GOOD = worker("good").working()


@pytest.mark.parametrize("order", ["", "Random", "Newest", "Oldest"])
def test_what_must_go_goes_before_what_may(order: str) -> None:
    everything = (GOOD, UNKNOWN, UNHEALTHY, SICK_NODE, NO_NODE, PENDING, UPDATING, MARKED, GOING)
    assert names(order, *everything) == [
        "going",
        "marked",
        "pending",
        "updating",
        "no-node",
        "sick-node",
        "unhealthy",
        "good",
        "unknown",
    ]


def test_the_oldest_or_the_newest_goes_first_if_all_work() -> None:
    old, middle, new = (worker(name).working().created(age * DAY) for name, age in (("b", 12), ("c", 5), ("a", 1)))
    assert names("Oldest", new, old, middle) == ["b", "c", "a"]
    assert names("Newest", new, old, middle) == ["a", "c", "b"]
    assert names("Random", new, old, middle) == ["a", "b", "c"]


def test_a_machine_from_the_future_counts_as_new() -> None:
    future, now = worker("z").working().created(-DAY), worker("a").working().created(2 * DAY)
    assert names("Newest", now, future) == ["z", "a"]
    assert names("Oldest", future, now) == ["a", "z"]


def test_nothing_goes_in_an_order_that_nobody_knows() -> None:
    with pytest.raises(UnknownOrder, match="Unsupported deletion order Alphabetic"):
        names("Alphabetic", GOOD)


@given(st.permutations([GOOD, UNKNOWN, UNHEALTHY, NO_NODE, MARKED, GOING]), st.sampled_from(["", "Newest", "Oldest"]))
def test_the_answer_does_not_depend_on_how_the_question_is_put(machines: list[Worker], order: str) -> None:
    assert names(order, *machines) == names(order, *reversed(machines))
