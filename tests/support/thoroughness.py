"""How much the tests try: a sample for `make test`, everything for `make test-all`.

Both run the same code with other settings. `make test` has a budget of minutes, so large products of cases are sampled
and property tests draw the same few examples in every run. `make test-all` sets NAGAYA_TEST_ALL: every case, every
seed, and new random examples, from a seed that is printed (NAGAYA_TEST_SEED).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

T = TypeVar("T")

THOROUGH = os.environ.get("NAGAYA_TEST_ALL", "") not in ("", "0")

_RUN_SEED = int(os.environ.get("NAGAYA_TEST_SEED", "0"))

exhaustive = pytest.mark.exhaustive
"""Marks a test, or a parameter, that only `make test-all` runs."""


def choose(sample: T, every: T) -> T:
    """The first for `make test`, the second for `make test-all`."""
    return every if THOROUGH else sample


def seed_of(number: int) -> int:
    """The seed of a random test: always the same one in `make test`, another one in each run of `make test-all`."""
    return choose(number, number + _RUN_SEED)


def examples(sample: int, thorough: int) -> settings:
    """The number of examples of a property test that is too expensive for the profile's."""
    return settings(max_examples=choose(sample, thorough))


def load_hypothesis_profile() -> None:
    """Fixed examples in `make test`, new ones in `make test-all`.

    No test may fail by the clock, so there is no deadline: the time of an example depends on the machine.
    """
    lenient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
    settings.register_profile("fixed", lenient, derandomize=True, database=None, max_examples=25)
    settings.register_profile("thorough", lenient, max_examples=200)
    settings.load_profile(choose("fixed", "thorough"))


def deselect_exhaustive(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `make test-all` runs."""
    if THOROUGH:
        return
    left_out = [item for item in items if item.get_closest_marker("exhaustive")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]


def spread(cases: Sequence[T], count: int) -> list[T]:
    """So many of the cases, evenly spread over all of them; every case in `make test-all`."""
    if THOROUGH or len(cases) <= count:
        return [*cases]
    return [cases[index * len(cases) // count] for index in range(count)]
