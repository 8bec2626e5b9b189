"""What is told of a story that ended badly: the seed, how it ended, the shortest history, and how to play it again."""

from __future__ import annotations

from typing import Final

from support.plane.play import Outcome

_PROBLEMS: Final = 40
_LAST: Final = 25
"""So many of the last calls are told."""


def report(outcome: Outcome, shortest: Outcome) -> str:
    """All of it as a text."""
    seed = outcome.story.seed
    count = f"{len(shortest.story.acts)} of its {len(outcome.story.acts)} acts"
    return "\n".join(
        [
            f"seed {seed} ended badly. To play it again: make simulate SEEDS={seed}",
            *(f"  {each}" for each in outcome.problems[:_PROBLEMS]),
            f"It ends so with {count} too:",
            *(f"  {each}" for each in str(shortest.story).splitlines()),
            "What came of them:",
            *(f"  {each}" for each in shortest.told),
            "What was asked last:",
            *(f"  {each}" for each in shortest.trace[-_LAST:]),
            "What the objects say:",
            shortest.said,
        ]
    )
