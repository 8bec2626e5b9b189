"""A CAPMOX user's manifests work unchanged, and so do our examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from nagaya.api.conversion.proxmox.objects import NEW_API_VERSION, OLD_API_VERSION, to_new, to_old
from support.subtest_cases import subtest_cases
from unit.api.proxmox.manifests import CAPMOX, EXAMPLES, documents, problems


def name(path: Path) -> str:
    return path.stem


@subtest_cases("path", [*CAPMOX, *EXAMPLES], ids=name)
def test_manifests_are_accepted(path: Path) -> None:
    objects = documents(path)

    assert objects
    assert [problem for each in objects for problem in problems(each)] == []


@pytest.mark.parametrize("path", CAPMOX, ids=name)
def test_manifests_are_the_same_after_a_visit_to_the_other_version(path: Path) -> None:
    for each in documents(path):
        there, back = (to_new, to_old) if each["apiVersion"] == OLD_API_VERSION else (to_old, to_new)
        visited = there(each)

        assert visited["apiVersion"] in {OLD_API_VERSION, NEW_API_VERSION} - {each["apiVersion"]}
        assert back(visited) == each
