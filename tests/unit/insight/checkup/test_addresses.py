"""How many addresses pools have left."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.insight.checkup.addresses import check
from nagaya.insight.checkup.finding import Finding, Standing
from nagaya.insight.picture.member import member
from unit.insight.scene import Condition, Scene


def judged(*conditions: Condition, **counts: int) -> Finding:
    status: dict[str, Any] = {"ipAddresses": counts} if counts else {}
    return check(member(Scene().add("InClusterIPPool", "pool", *conditions, status=status)))


@pytest.mark.parametrize(
    ("free", "standing", "words"),
    [
        (20, Standing.OK, "20 of 30 addresses are free."),
        (3, Standing.WARNING, "Only 3 of 30 addresses are free."),
        (0, Standing.PROBLEM, "None of 30 addresses is free."),
    ],
)
def test_what_is_left_decides(free: int, standing: Standing, words: str) -> None:
    found = judged(free=free, total=30)
    assert (found.standing, found.evidence) == (standing, words)
    assert found.check == "InClusterIPPool default/pool"


def test_a_pool_that_nobody_has_counted_is_not_checked() -> None:
    assert judged().standing is Standing.UNCHECKED


def test_what_the_pool_says_itself_is_told() -> None:
    found = judged(("Ready", "False", "Exhausted", "Pool has no free address: 2 of 2 are in use."), free=0, total=2)
    assert found.standing is Standing.PROBLEM
    assert found.evidence == "Pool has no free address: 2 of 2 are in use."
    overlap = judged(("Disjoint", "False", "OverlapsPool", "10.0.0.5 is in another, too."), free=9, total=9)
    assert overlap.standing is Standing.WARNING
    assert "kubectl edit -n default inclusterippool pool" in overlap.remedy[0]
