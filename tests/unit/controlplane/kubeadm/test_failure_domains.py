from __future__ import annotations

from datetime import timedelta

import pytest

from nagaya.api.cluster.machine import Machine
from nagaya.controlplane.kubeadm.failure_domains import domains_of, fewest, one_of_most
from unit.controlplane.kubeadm.examples import cluster, pilot


def placed(name: str, domain: str, age: int = 0) -> Machine:
    return pilot(name).created(timedelta(minutes=age)).in_domain(domain).it if domain else pilot(name).it


def test_only_domains_for_control_planes_count() -> None:
    domains = [{"name": "b", "controlPlane": True}, {"name": "c"}, {"name": "a", "controlPlane": True}]
    assert domains_of(cluster(status={"failureDomains": domains})) == ("a", "b")


def test_a_new_machine_goes_where_the_fewest_stay() -> None:
    a1, a2, b1 = placed("1", "a"), placed("2", "a"), placed("3", "b")
    assert fewest((), [a1], [a1]) == ""
    assert fewest(("a", "b", "c"), [a1, a2, b1], [a1, a2, b1]) == "c"
    assert fewest(("a", "b"), [a1, a2, b1], [b1]) == "a"
    assert fewest(("a", "b"), [a1, a2, b1], []) == "b"
    assert fewest(("a", "b"), [], []) == "a"
    assert fewest(("a",), [placed("4", "gone")], [placed("4", "gone")]) == "a"


@pytest.mark.parametrize(
    ("eligible", "chosen"),
    [
        (("a-old", "a-new", "b-old"), "a-old"),
        (("a-new", "b-old"), "a-new"),
        (("b-old",), "b-old"),
        (("a-old", "gone", "nowhere"), "nowhere"),
        (("a-old", "gone"), "gone"),
        ((), None),
    ],
)
def test_a_machine_goes_where_the_most_are_and_first_where_none_should_be(
    eligible: tuple[str, ...], chosen: str | None
) -> None:
    machines = {
        "a-old": placed("a-old", "a", 9),
        "a-new": placed("a-new", "a", 1),
        "b-old": placed("b-old", "b", 30),
        "gone": placed("gone", "z", 2),
        "nowhere": placed("nowhere", "", 0),
    }
    found = one_of_most(("a", "b"), machines.values(), [machines[each] for each in eligible])
    assert (None if found is None else found.metadata.name) == chosen


def test_without_domains_the_oldest_machine_goes() -> None:
    machines = [placed("x", "", 0), pilot("y").created(timedelta(hours=9)).it]
    found = one_of_most((), machines, machines)
    assert found is not None
    assert found.metadata.name == "y"
