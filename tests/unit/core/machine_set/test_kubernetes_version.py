from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.core.machine_set.kubernetes_version import compare, parse, status_versions
from unit.core.machine_set.examples import worker


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


@pytest.mark.parametrize(
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
    info = {**dict.fromkeys((*names, *more), ""), "kubeletVersion": "v1.35.0"}
    machines = [
        worker("a").it,
        worker("b").having(status={"nodeInfo": info}).it,
        worker("c").it,
        worker("d").having(spec={"version": None}).it,
    ]
    assert [(each.version, each.replicas) for each in status_versions(machines)] == [("v1.35.0", 1), ("v1.36.3", 2)]


def test_what_is_no_version_comes_last() -> None:
    machines = [worker("a").having(spec={"version": "odd"}).it, worker("b").it]
    assert [each.version for each in status_versions(machines)] == ["v1.36.3", "odd"]
