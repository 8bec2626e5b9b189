"""Which kinds definitions make an API serve."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.catalog import PARTS
from nagaya.api.untyped import Untyped
from nagaya.kube.definitions import missing

SETS = PARTS["addons"][0].kind
NAME = f"{SETS.plural}.{SETS.group}"


def definition(*, version: str = SETS.version, served: bool = True, established: str = "True") -> Untyped:
    content: dict[str, Any] = {
        "metadata": {"name": NAME},
        "spec": {"versions": [{"name": version, "served": served}]},
        "status": {"conditions": [{"type": "Established", "status": established}]},
    }
    return Untyped(content)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, [NAME]),
        (definition(), []),
        (definition(established="False"), [f"{NAME} in {SETS.version}"]),
        (definition(served=False), [f"{NAME} in {SETS.version}"]),
        (definition(version="v1beta1"), [f"{NAME} in {SETS.version}"]),
    ],
)
def test_a_kind_is_missing_unless_its_version_is_served(found: Untyped | None, expected: list[str]) -> None:
    assert missing([SETS], {} if found is None else {NAME: found}) == expected


def test_a_kind_that_is_converted_may_be_there_in_any_version() -> None:
    assert missing([SETS], {NAME: definition(version="v1beta1")}, convertible=[SETS]) == []
    assert missing([SETS], {NAME: definition(established="False")}, convertible=[SETS]) == [f"{NAME} in {SETS.version}"]
    assert missing([SETS], {NAME: definition(served=False)}, convertible=[SETS]) == [f"{NAME} in {SETS.version}"]
    assert missing([SETS], {}, convertible=[SETS]) == [NAME]
