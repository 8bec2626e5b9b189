from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.status_version import StatusVersion
from nagaya.clusters.kubernetes_version import compare, of_machines, parse, together
from support.builders import NOW, date, machine
from support.subtest_cases import subtest_cases


def order(one: str, other: str) -> int | None:
    first, second = parse(one), parse(other)
    assert first is not None
    assert second is not None
    return compare(first, second)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("v1.36.3", "1.36.3"),
        ("1.36", "1.36.0"),
        ("v01.036.3", "1.36.3"),
        ("v1.36.3-rc.1+build.2", "1.36.3-rc.1+build.2"),
    ],
)
def test_versions_are_read_leniently(text: str, read: str) -> None:
    assert str(parse(text)) == read


@pytest.mark.parametrize("text", ["", "v", "latest", "1.36.3.4", "1.36-rc.1", "1.36.x"])
def test_what_is_no_version_is_none(text: str) -> None:
    assert parse(text) is None


@subtest_cases(
    ("one", "other", "answer"),
    [
        ("v1.36.3", "v1.36.3", 0),
        ("v1.9.0", "v1.10.0", -1),
        ("v1.36.0", "v1.36.0-rc.1", 1),
        ("v1.36.0-rc.2", "v1.36.0-rc.10", -1),
        ("v1.36.0-alpha", "v1.36.0-alpha.1", -1),
        ("v1.36.0-1", "v1.36.0-beta", -1),
        ("v1.36.0+1", "v1.36.0+2", -1),
        ("v1.36.0+1", "v1.36.0", 1),
        ("v1.36.0+abc", "v1.36.0+def", None),
        ("v1.36.0+1", "v1.36.0+abc", -1),
        ("v1.36.0+abc.1", "v1.36.0+abc.2", -1),
    ],
)
def test_versions_are_compared_down_to_their_build(one: str, other: str, answer: int | None) -> None:
    assert order(one, other) == answer
    assert order(other, one) == (None if answer is None else -answer)


@given(st.tuples(st.integers(0, 3), st.integers(0, 3)), st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_numbers_decide_first(one: tuple[int, int], other: tuple[int, int]) -> None:
    expected = (one > other) - (one < other)
    assert order(f"v1.{one[0]}.{one[1]}", f"v1.{other[0]}.{other[1]}") == expected


def test_what_the_kubelet_says_beats_what_is_asked_for() -> None:
    names = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion")
    more = ("kubeProxyVersion", "operatingSystem", "architecture")
    info = {**dict.fromkeys((*names, *more), ""), "kubeletVersion": "v1.35.4"}
    old = machine("a").having(status={"nodeInfo": info})
    nothing_said = machine("d").having(spec={"version": None})
    found = of_machines(each.made() for each in (machine("b"), old, machine("c"), nothing_said))
    assert [(each.version, each.replicas) for each in found] == [("v1.35.4", 1), ("v1.36.3", 2)]


def test_builds_without_an_order_are_in_the_order_of_their_machines() -> None:
    young = machine("a").having(spec={"version": "v1.36.3+abc"})
    old = machine("b").having(
        spec={"version": "v1.36.3+def"}, metadata={"creationTimestamp": date(NOW - timedelta(days=1))}
    )
    found = of_machines(each.made() for each in (young, old))
    assert [each.version for each in found] == ["v1.36.3+def", "v1.36.3+abc"]


def test_equal_versions_add_up_oldest_first_and_what_is_no_version_comes_last() -> None:
    told = [("latest", 1), ("v1.36.3", 2), ("v1.36.0-alpha.10", 1), ("v1.9.0", 1), ("", 4), ("v1.36.3", 1), ("edge", 1)]
    told += [("v1.36.0+k3s.2", 1), ("v1.36.0", 1), ("v1.36.0-alpha.2", 1)]
    found = together(StatusVersion(version=version, replicas=count) for version, count in told)
    assert [(each.version, each.replicas) for each in found] == [
        ("v1.9.0", 1),
        ("v1.36.0-alpha.2", 1),
        ("v1.36.0-alpha.10", 1),
        ("v1.36.0", 1),
        ("v1.36.0+k3s.2", 1),
        ("v1.36.3", 3),
        ("edge", 1),
        ("latest", 1),
    ]


@given(st.lists(st.tuples(st.sampled_from(["v1.36.3", "v1.35.4", "x", ""]), st.integers(1, 9))))
def test_no_machine_is_lost_or_counted_twice(told: list[tuple[str, int]]) -> None:
    found = together(StatusVersion(version=version, replicas=count) for version, count in told)
    assert sum(each.replicas or 0 for each in found) == sum(count for version, count in told if version)
    assert len({each.version for each in found}) == len(found)
