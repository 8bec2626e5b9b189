from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.status_version import StatusVersion
from nagaya.core.cluster.versions import of_machines, rank, together
from support.builders import machine


def test_what_the_kubelet_says_beats_what_is_asked_for() -> None:
    names = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion")
    more = ("kubeProxyVersion", "operatingSystem", "architecture")
    info = dict.fromkeys((*names, *more), "")
    old = machine("a").having(status={"nodeInfo": {**info, "kubeletVersion": "v1.35.4"}})
    found = of_machines(each.made() for each in (machine("b"), old, machine("c")))
    assert [(each.version, each.replicas) for each in found] == [("v1.35.4", 1), ("v1.36.3", 2)]


def test_versions_are_in_the_order_of_their_rules() -> None:
    ordered = ["v1.9.9", "v1.36.0-alpha.2", "v1.36.0-alpha.10", "v1.36.0-rc.1", "v1.36.0", "v1.36.0+k3s.2", "v1.36.3"]
    shuffled = ordered[3:] + ordered[:3]
    assert sorted(shuffled, key=rank) == ordered
    assert sorted(["latest", "v1.0.0", "edge"], key=rank) == ["v1.0.0", "edge", "latest"]


@given(st.lists(st.tuples(st.sampled_from(["v1.36.3", "v1.35.4", "x", ""]), st.integers(1, 9))))
def test_no_machine_is_lost_or_counted_twice(told: list[tuple[str, int]]) -> None:
    found = together(StatusVersion(version=version, replicas=count) for version, count in told)
    assert sum(each.replicas or 0 for each in found) == sum(count for version, count in told if version)
    assert len({each.version for each in found}) == len(found)
