"""Stories of the whole plane from seeds: whatever happens, everybody gets what he wants in the end, and nothing ever is
that must not be.

`make simulate SEEDS=1-1000` plays others than the usual ones. A story that ends badly is made shorter before it is
told.
"""

from __future__ import annotations

import pytest

from support.plane.play import play
from support.plane.report import report
from support.plane.shrinking import shortened
from support.plane.story import told
from support.simulation import SEEDS, chosen

pytestmark = pytest.mark.long("plays several whole histories of the plane")

USUAL = range(1, 61)
SHARE = 5


def _alike(seeds: list[int]) -> list[list[int]]:
    """Shares of stories of which most begin with the same cluster: a process makes it once."""
    ordered = sorted(seeds, key=lambda seed: (str(told(seed).established), seed))
    return [ordered[first : first + SHARE] for first in range(0, len(ordered), SHARE)]


@pytest.mark.parametrize("seeds", _alike(chosen(SEEDS, USUAL, range(1, 1001))), ids=lambda seeds: f"from-{seeds[0]}")
def test_every_story_ends_well(seeds: list[int]) -> None:
    failures = [outcome for seed in seeds if not (outcome := play(told(seed))).well]
    if failures:
        first, *others = failures
        text = report(first, shortened(first, play))
        more = [f"seed {each.story.seed} ended badly too: {each.problems[0]}" for each in others]
        pytest.fail("\n".join([text, *more]), pytrace=False)
