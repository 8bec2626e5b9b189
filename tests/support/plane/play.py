"""Plays a story, and says how it ended."""

from __future__ import annotations

import gc
from dataclasses import dataclass

from support.plane import fast_loop
from support.plane.established import established
from support.plane.expected import unlike
from support.plane.performance import Performance, perform
from support.plane.scene import scene
from support.plane.story import Story


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a story ended."""

    story: Story
    problems: list[str]
    """Empty if it ended well."""
    told: list[str]
    """What it came to."""
    trace: list[str]
    """All that was done."""
    said: str = ""
    """What the objects said in the end, if it ended badly."""

    @property
    def well(self) -> bool:
        """Whether it ended well."""
        return not self.problems


def play(story: Story) -> Outcome:
    """Play a story from its beginning to its end."""
    played = _from_nothing(story) if story.established is None else established(story.established).play(story)
    problems = played.problems or [each for end in played.ends for each in unlike(end)]
    return Outcome(story, problems, played.told, played.trace, played.said)


def _from_nothing(story: Story) -> Performance:
    # A story is short, and most of what it makes lives as long as it does; what was there before stays anyway.
    gc.disable()
    gc.freeze()
    try:
        return fast_loop.run(_begin(story))
    finally:
        gc.collect()
        gc.unfreeze()
        gc.enable()


async def _begin(story: Story) -> Performance:
    async with scene(story.seed) as here:
        await here.begin()
        return await perform(here, story)
