"""How soon a tenant is looked at again."""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate, repeat

import pytest

from nagaya.core.machine.deletion.pace import AFTER_THE_END, FIRST, JITTER, LONGEST, jittered, pause, until_end
from support.builders import NOW


def test_pauses_grow_to_the_longest() -> None:
    grown = accumulate(
        repeat(None, 6), lambda last, _: pause(last, progress=False), initial=pause(None, progress=False)
    )
    assert [*grown] == [1, 2, 4, 8, 16, LONGEST, LONGEST]


@pytest.mark.parametrize("last", [None, 4.0, LONGEST])
def test_what_promises_an_end_is_looked_at_soon(last: float | None) -> None:
    assert pause(last, progress=True) == FIRST


def test_jitter_makes_no_pause_longer() -> None:
    assert jittered(LONGEST, lambda: 0.0) == LONGEST
    assert jittered(LONGEST, lambda: 1.0) == LONGEST * (1 - JITTER)


def test_the_end_of_a_grace_counts_only_while_it_is_ahead() -> None:
    assert until_end(None, NOW) is None
    assert until_end(NOW, NOW) is None
    assert until_end(NOW - timedelta(seconds=5), NOW) is None
    assert until_end(NOW + timedelta(seconds=5), NOW) == 5 + AFTER_THE_END
