from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.binaries.errors import UnknownRequest
from nagaya.binaries.releases import Platform, Release, find_version, triple

NUMBER = st.integers(0, 10**6)


@given(NUMBER, NUMBER, NUMBER)
def test_a_version_is_the_same_with_and_without_its_v(major: int, minor: int, patch: int) -> None:
    version = f"{major}.{minor}.{patch}"
    assert Release.parse(version) == Release.parse(f"v{version}")
    assert Release.parse(version).kubernetes == f"v{version}"
    assert triple(Release.parse(version).kubernetes) == (major, minor, patch)


@pytest.mark.parametrize(
    "wrong", ["", "v1", "1.36", "latest", "v1.36.3.1", "v1.36.3/../..", "v1.36.3+build", "v1.36.x"]
)
def test_what_is_not_a_full_version_is_refused_with_an_example(wrong: str) -> None:
    with pytest.raises(UnknownRequest, match=r"such as v1\.36\.3"):
        Release.parse(wrong)


def test_a_candidate_for_a_release_is_a_version() -> None:
    assert Release.parse("v1.37.0-rc.1").kubernetes == "v1.37.0-rc.1"
    assert triple("v1.37.0-rc.1") == (1, 37, 0)


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("Kubernetes v1.36.3\n", "v1.36.3"),
        ("Client Version: v1.36.3\nKustomize Version: v5.8.1\n", "v1.36.3"),
        ("etcd Version: 3.7.3\nGit SHA: abc\nGo Version: go1.26.8\n", "v3.7.3"),
        ("Kubernetes v1.36.3+k3s1\n", "v1.36.3"),
        ("Kubernetes v1.37.0-rc.1\n", "v1.37.0-rc.1"),
        ("nothing of the kind", None),
    ],
)
def test_the_version_is_found_in_what_programs_say(words: str, version: str | None) -> None:
    assert find_version(words) == version


def test_each_product_of_a_release_has_its_own_version() -> None:
    release = Release.parse("v1.36.3")
    assert (release.of("kubernetes"), release.of("etcd")) == ("v1.36.3", "v3.7.3")


@pytest.mark.parametrize(("told", "called"), [("x86_64", "amd64"), ("aarch64", "arm64"), ("riscv64", "riscv64")])
def test_processors_are_called_as_go_calls_them(told: str, called: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: told)
    monkeypatch.setattr("platform.system", lambda: "Linux")
    assert str(Platform.here()) == f"linux-{called}"
