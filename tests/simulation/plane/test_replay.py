"""A seed is a whole story: played again it is the same to the last call, on whatever machine, with whatever hashes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.plane.play import play
from support.plane.story import told

pytestmark = pytest.mark.long("plays whole histories several times to compare them")

SEEDS = (195, 33)
"""A cluster that is made, on machines, and one that is there, hosted, with an upgrade in it; both with trouble."""
PLAYED = "import sys; from support.plane.play import play; from support.plane.story import told; "
TELL = "print('\\n'.join(play(told(int(sys.argv[1]))).trace))"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_gives_the_same_history_each_time(seed: int) -> None:
    first = play(told(seed))
    assert first.well, first.problems
    assert play(told(seed)).trace == first.trace


def test_hashes_do_not_matter() -> None:
    """What is kept in sets comes in another order in every process."""
    (first, second) = (_elsewhere(SEEDS[1], hashes) for hashes in ("1", "2"))
    assert first == second


def test_stories_of_different_seeds_differ() -> None:
    assert len({str(told(seed)) for seed in range(1, 201)}) == 200


def _elsewhere(seed: int, hashes: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    arguments = [sys.executable, "-c", PLAYED + TELL, str(seed)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
