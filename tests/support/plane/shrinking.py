"""Makes a story that ends badly shorter: what can be left out is, as long as it ends badly in the same way.

Chunks of acts are left out, half of them first, then less and less, until nothing more can be, or until so many stories
were played. The order is always the same, and so is the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from support.plane.play import Outcome
from support.plane.story import Story

TRIES: Final = 24
_VARYING: Final = re.compile(r"\d+|\b(?:amber|basil)(?:-workers)?(?:-[a-z0-9]{5})+")


def shortened(outcome: Outcome, play: Callable[[Story], Outcome], tries: int = TRIES) -> Outcome:
    """The outcome of the shortest story that was found."""
    best, wanted = outcome, _kind(outcome)
    size = max(1, len(best.story.acts) // 2)
    while tries:
        found = False
        for first in range(0, len(best.story.acts), size):
            if not tries:
                break
            tries -= 1
            tried = play(best.story.without(best.story.acts[first : first + size]))
            if not tried.well and _kind(tried) == wanted:
                best, found = tried, True
                break
        if found:
            size = min(size, max(1, len(best.story.acts) // 2))
        elif size == 1:
            break
        else:
            size //= 2
    return best


def _kind(outcome: Outcome) -> str:
    """How it ended, without numbers and generated names."""
    return _VARYING.sub("", outcome.problems[0])
