from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from nagaya.supervision.backoff import Backoff

PLAIN = Backoff(first=1.0, limit=60.0, jitter=0.0, stable=30.0)


def test_the_pause_doubles_until_its_limit() -> None:
    pauses = [PLAIN.pause(failures, random.Random(1)) for failures in range(1, 9)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_stable_life_makes_its_end_the_first_again() -> None:
    assert PLAIN.failures_after(7, lived=29.9) == 8
    assert PLAIN.failures_after(7, lived=30.0) == 1


@given(st.integers(1, 10**9), st.integers())
def test_jitter_stays_within_its_part(failures: int, seed: int) -> None:
    rule = Backoff()
    whole = min(2.0 ** min(failures - 1, 32), 60.0)
    assert 0.8 * whole <= rule.pause(failures, random.Random(seed)) <= 1.2 * whole


def test_processes_that_died_together_do_not_come_back_together() -> None:
    chance = random.Random(1)
    assert len({Backoff().pause(5, chance) for _ in range(20)}) == 20
